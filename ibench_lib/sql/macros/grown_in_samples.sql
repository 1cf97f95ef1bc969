-- By how much counters grew between samples: a row per run, step, source, name and counter. `use.grown` is the sum, and
-- `use.seconds` the time of it. A rate times its seconds is a difference; where one is NULL, its seconds do not count.
--
-- $samples: name of a table with run_id, step_id, source, name, seconds, and a column <counter>_per_s for each counter
FROM (
    SELECT
        run_id, step_id, source, name,
        {grown: sum(COLUMNS('^(.*)_per_s$') * seconds),
         seconds: sum(CASE WHEN COLUMNS('^(.*)_per_s$') IS NOT NULL THEN seconds END)} AS '\1'
    FROM query_table($samples) GROUP BY run_id, step_id, source, name
) UNPIVOT (use FOR counter IN (COLUMNS(* EXCLUDE (run_id, step_id, source, name))))
