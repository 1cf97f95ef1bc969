-- The work and the rates of chosen steps, as `step_rates` has them of all steps.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
FROM step_rates SEMI JOIN steps_of($ids, $names) USING (run_id, step_id)
