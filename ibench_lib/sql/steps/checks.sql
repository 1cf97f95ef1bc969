-- The checks that workloads made of the server's data after their steps: one row per setup, step and rule, in the
-- order in which the first repeat took the steps; `step_id`: the step's earliest place in a run. `runs` made
-- them, `complete` of these ended well. `checks` were made, `held` of them had the expected figure. `broken`: those in
-- complete runs that did not hold; `broken_by` explains them, but for those that are `unexplained`: a run in which such a
-- check fails does not complete. `not_held` names all that did not hold.
-- No row: nothing was checked, or the runs are older than the table `checks`.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
SELECT
    s.experiment, s.setup, min(c.step_id) AS step_id, coalesce(k.step, c.step) AS step, c.rule,
    count(DISTINCT c.run_id) AS runs, count(DISTINCT c.run_id) FILTER (s.status = 'complete') AS complete,
    count(*) AS checks, count(*) FILTER (c.found IS NOT DISTINCT FROM c.expected) AS held,
    count(*) FILTER (s.status = 'complete' AND c.found IS DISTINCT FROM c.expected) AS broken,
    count(*) FILTER (
        s.status = 'complete' AND c.found IS DISTINCT FROM c.expected AND c.broken_by IS NULL
    ) AS unexplained,
    coalesce(max(c.broken_by), '') AS broken_by,
    list_sort(list_distinct(coalesce(list(c.subject) FILTER (c.found IS DISTINCT FROM c.expected), []))) AS not_held,
    sum(c.seconds) AS seconds
FROM selected_runs($runs) s JOIN checks c USING (run_id)
-- The checks of control are those of the step that it repeats.
LEFT JOIN run_steps k ON k.run_id = c.run_id AND k.step_id = c.step_id AND starts_with(k.step, c.step || '.')
WHERE len($steps) = 0 OR list_contains($steps, c.step) OR list_contains($steps, k.step)
GROUP BY s.experiment, s.setup, coalesce(k.step, c.step), c.rule
ORDER BY s.experiment, s.setup, min_by(c.step_id, s.repeat), step, min(c.check_number)
