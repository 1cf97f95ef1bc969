-- The families of operations that clients had answers to in chosen steps, each once, in the order of their workload:
-- what a rate is of (`counts`: rows or ops) and called (`label`), and the series that `operation_series` has of each. A
-- family whose work is done on existing rows has no rate from second to second, and is left out.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
SELECT
    f.family, arg_min(f.counts, f.position) AS counts, arg_min(f.label, f.position) AS label,
    min(f.position) AS position,
    rate_series(arg_min(f.label, f.position)) AS rate_series, f.family || '_max_s' AS worst_series
FROM selected_steps($runs, $steps) s
JOIN worker_families w USING (run_id, step_id)
JOIN families f USING (run_id, family)
WHERE NOT f.of_existing_rows
GROUP BY f.family
ORDER BY min(f.position), f.family
