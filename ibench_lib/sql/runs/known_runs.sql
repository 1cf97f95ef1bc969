-- All runs of the lake by experiment, in the order of the experiment's file, dbms by dbms. `latest` marks the latest
-- run of each cell, however it ended. `excluded` is why nothing is made from a run; NULL if it counts.
WITH placed AS (
    SELECT
        runs.*, latest.run_id IS NOT NULL AS latest, annotations.excluded,
        min(dbms_rank) OVER of_dbms AS dbms_rank_of_all,
        min(runs.origin_wall) OVER of_dbms AS dbms_first
    FROM runs LEFT JOIN (SELECT run_id FROM latest_runs) latest USING (run_id) LEFT JOIN annotations USING (run_id)
    WINDOW of_dbms AS (PARTITION BY experiment, dbms)
)
SELECT run_id, experiment, dbms, setup, repeat, status, origin_wall, latest, excluded
FROM placed
ORDER BY experiment, dbms_rank_of_all NULLS LAST, dbms_first, dbms, setup, repeat, origin_wall, run_id
