-- What is measured of dips on LineDB: see `family_dip_samples`.
--
-- $ids: ids of runs
-- $dipped: name of a table of `dip_measures` with the steps that have dips
SELECT
    d.run_id, d.step_id, c.t_s - d.start_s AS t_s, coalesce(c.seconds, 1.0) AS span_s,
    c.per_s AS "linedb.compaction_ms_per_s"
FROM query_table($dipped) d
JOIN counter_seconds c ON c.run_id = d.run_id AND is_of_step(c.t_s, coalesce(c.seconds, 1), d.start_s, d.end_s)
WHERE c.source = 'linedb' AND c.name = 'compaction_ms' AND list_contains($ids, c.run_id)
