-- Runs and files that were left out because they could not be read, with the reason: those of the selected runs, those of
-- other runs of their experiments, and runs with an unreadable manifest, whose experiment is unknown. `selected` is
-- false for the other runs: older ones of a cell, or ones that were not chosen.
--
-- $runs: ids of the runs
WITH mine AS (
    SELECT DISTINCT experiment FROM runs WHERE list_contains($runs::VARCHAR[], run_id)
)
SELECT
    p.run_id, r.setup, r.dbms, p.file, p.problem,
    r.run_id IS NULL OR list_contains($runs::VARCHAR[], p.run_id) AS selected
FROM problems p LEFT JOIN runs r USING (run_id)
WHERE r.run_id IS NULL OR list_contains($runs::VARCHAR[], p.run_id) OR r.experiment IN (FROM mine)
ORDER BY p.run_id, p.file
