-- maxop_s: the worst response in seconds of the main operations of each selected step.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
SELECT
    run_id, step_id,
    max(max_s) FILTER (family = main) AS maxop_s
FROM steps_of($ids, $names)
JOIN response_histograms USING (run_id, step_id)
LEFT JOIN operations USING (run_id, operation)
WHERE timing = 'service'
GROUP BY run_id, step_id
