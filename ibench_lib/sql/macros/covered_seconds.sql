-- How much of each second of a step intervals cover: a row per run, step, source and second, with `covered_s`.
--
-- $intervals: name of a table with run_id, step_id, source, from_s and to_s, in seconds from the step's start
SELECT run_id, step_id, source, second, sum(greatest(least(to_s, second + 1) - greatest(from_s, second), 0)) AS covered_s
FROM (
    SELECT *, unnest(range(floor(from_s)::BIGINT, ceil(to_s)::BIGINT)) AS second FROM query_table($intervals)
)
GROUP BY ALL
