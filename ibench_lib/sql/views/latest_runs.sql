-- The latest run of each cell (experiment, dbms, setup, repeat), however it ended: an older complete run
-- never hides a failure; `gaps` names the older run. Excluded runs do not count.
SELECT *
FROM runs
ANTI JOIN (SELECT run_id FROM annotations WHERE excluded IS NOT NULL) USING (run_id)
QUALIFY row_number() OVER (PARTITION BY experiment, dbms, setup, repeat ORDER BY origin_wall DESC, run_id DESC) = 1
