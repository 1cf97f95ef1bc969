-- The latest run of each cell (experiment, dbms, setup, repeat), however it ended: a failure is not hidden behind an
-- older success, which `gaps` names.
SELECT *
FROM runs
QUALIFY row_number() OVER (PARTITION BY experiment, dbms, setup, repeat ORDER BY origin_wall DESC, run_id DESC) = 1
