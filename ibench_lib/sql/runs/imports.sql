-- The selected runs that were not measured here: where they are from, what their files are and what these do not say.
-- files: hash and name of each file of its import; none for the text of a single file, such as a table of figures. steps:
-- those that the run completed; with_seconds: those of which the files have single seconds; with_intervals: those of which
-- they have longer intervals only. null_reasons: JSON, column -> why it is NULL.
--
-- $runs: ids of the runs
WITH known AS (
    SELECT
        s.run_id, count(*) AS steps, count(o.step_id) AS with_seconds,
        count(i.step_id) FILTER (o.step_id IS NULL) AS with_intervals
    FROM steps_of($runs, []) s
    LEFT JOIN (SELECT DISTINCT run_id, step_id FROM ops) o USING (run_id, step_id)
    LEFT JOIN (SELECT DISTINCT run_id, step_id FROM intervals) i USING (run_id, step_id)
    WHERE s.step_status = 'complete' GROUP BY s.run_id
)
SELECT
    r.setup, r.dbms, r.dbms_position, r.repeat, r.run_id, r.experiment, r.origin, r.source,
    regexp_extract_all(r.experiment_text, '(?m)^[0-9a-f]{64}  .*$') AS files, coalesce(k.steps, 0) AS steps,
    coalesce(k.with_seconds, 0) AS with_seconds, r.null_reasons, coalesce(k.with_intervals, 0) AS with_intervals
FROM selected_runs($runs) r LEFT JOIN known k USING (run_id)
WHERE r.origin <> 'measured'
ORDER BY r.experiment, r.setup, r.dbms_position, r.repeat
