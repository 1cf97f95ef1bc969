-- The experiments that chosen runs are of, one row per different text of the file. `text` is the file as it was; of
-- published figures it is the table that they came in, and `source` says where they are from.
--
-- $runs: ids of the runs
SELECT
    experiment, any_value(title ORDER BY origin_wall DESC) AS title, source, experiment_text AS text, count(*) AS runs,
    min(origin_wall) AS first_wall
FROM selected_runs($runs)
GROUP BY experiment, source, experiment_text
ORDER BY experiment, first_wall
