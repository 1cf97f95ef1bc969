-- The latest run of each cell (experiment, dbms, setup, repeat), however it ended: an older complete run
-- never hides a failure; `gaps` names the older run.
SELECT *
FROM runs
QUALIFY row_number() OVER (PARTITION BY experiment, dbms, setup, repeat ORDER BY origin_wall DESC, run_id DESC) = 1
