-- The experiments of the selected runs, one row per version of the file. `text` is the file at the time of the run; for
-- published figures it is their table, for imported logs a list of them, and `source` says where they come from.
--
-- $runs: ids of the runs
SELECT
    experiment, any_value(title ORDER BY origin_wall DESC) AS title, source, origin, experiment_text AS text, count(*) AS runs,
    min(origin_wall) AS first_wall
FROM selected_runs($runs)
GROUP BY experiment, source, origin, experiment_text
ORDER BY experiment, first_wall
