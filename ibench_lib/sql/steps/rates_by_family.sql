-- The rate of each family of operations in each run and step, all clients together: `amount` rows or operations, as
-- `counts` says, and the rate over T, called `label`. Rates of published runs have no amount.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
SELECT
    s.setup, s.dbms, s.dbms_position, s.repeat, s.run_id, s.run_status, s.step_id, s.step, s.kind, s.step_status,
    r.family, f.counts, f.label, r.amount, r.rate
FROM selected_steps($runs, $steps) s
JOIN family_rates r USING (run_id, step_id)
JOIN families f USING (run_id, family)
ORDER BY s.step_id, s.setup, f.position, s.dbms_position, s.repeat
