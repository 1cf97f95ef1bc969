-- The steps of chosen runs (`run_steps`), without the display names of the runs, which `selected_steps` adds. What is
-- computed of steps begins here, because to make the names takes longer than to read the steps.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
FROM run_steps
WHERE list_contains($ids::VARCHAR[], run_id)
  AND (len($names::VARCHAR[]) = 0 OR list_contains($names::VARCHAR[], step))
