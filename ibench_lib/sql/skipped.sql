-- Runs and files that could not be read and are left out, and why: those of the runs of an experiment, and runs of which
-- not even the manifest could be read, so that nobody knows which experiment they are of.
--
-- $experiment: name of the experiment
SELECT p.run_id, r.setup, r.dbms, p.file, p.problem
FROM problems p LEFT JOIN runs r USING (run_id)
WHERE r.experiment = $experiment OR r.run_id IS NULL
ORDER BY p.run_id, p.file
