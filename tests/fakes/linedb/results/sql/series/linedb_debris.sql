-- Rows that LineDB has deleted and not yet compacted away, each second.
--
-- $runs: ids of the runs
SELECT run_id, t_s, value AS debris
FROM counter_seconds WHERE source = 'linedb' AND name = 'debris' AND list_contains($runs, run_id)
ORDER BY run_id, t_s
