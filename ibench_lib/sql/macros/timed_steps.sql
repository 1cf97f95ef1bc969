-- The steps of chosen runs (`selected_steps`), with what their seconds are measured by (`whole_seconds`): the columns
-- `main_operation` and `full_seconds`.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
SELECT s.*, w.main_operation, w.full_seconds
FROM selected_steps($ids, $names) s JOIN whole_seconds($ids, $names) w USING (run_id, step_id)
