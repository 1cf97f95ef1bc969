-- Runs and files that were left out because they could not be read, with the reason: those of the selected runs, and
-- runs with an unreadable manifest, whose experiment is unknown.
--
-- $runs: ids of the runs
SELECT p.run_id, r.setup, r.dbms, p.file, p.problem
FROM problems p LEFT JOIN runs r USING (run_id)
WHERE list_contains($runs::VARCHAR[], p.run_id) OR r.run_id IS NULL
ORDER BY p.run_id, p.file
