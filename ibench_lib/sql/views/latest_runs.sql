-- The latest run of each cell (experiment, dbms, setup, repeat), however it ended: a failure is not hidden behind an
-- older success. `dbms_position` orders the dbms of an experiment by when each was first run.
WITH firsts AS (
    SELECT experiment, dbms, min(origin_wall) AS first_wall, min(run_id) AS first_run
    FROM runs GROUP BY experiment, dbms
), positions AS (
    SELECT experiment, dbms, row_number() OVER (PARTITION BY experiment ORDER BY first_wall, first_run) AS dbms_position
    FROM firsts
)
SELECT runs.*, positions.dbms_position
FROM runs JOIN positions USING (experiment, dbms)
QUALIFY row_number() OVER (PARTITION BY experiment, dbms, setup, repeat ORDER BY origin_wall DESC, run_id DESC) = 1
