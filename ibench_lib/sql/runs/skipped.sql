-- Runs and files that could not be read and are left out, and why: those of chosen runs, and runs of which
-- not even the manifest could be read, so that nobody knows which experiment they are of.
--
-- $runs: ids of the runs
SELECT p.run_id, r.setup, r.dbms, p.file, p.problem
FROM problems p LEFT JOIN runs r USING (run_id)
WHERE list_contains($runs::VARCHAR[], p.run_id) OR r.run_id IS NULL
ORDER BY p.run_id, p.file
