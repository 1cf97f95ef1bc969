-- The steps of chosen runs (`run_steps`), without the display names of the runs, which `selected_steps` adds.
-- Computations on steps start from this macro, because making the names takes longer than reading the steps.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
FROM run_steps
WHERE list_contains($ids::VARCHAR[], run_id)
  AND (len($names::VARCHAR[]) = 0 OR list_contains($names::VARCHAR[], step))
