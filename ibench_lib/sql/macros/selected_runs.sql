-- The selected runs with their display names. `dbms` includes the experiment if runs of several experiments have the
-- same dbms, the protocol (text or prepared) if runs of one benchmark differ in it, since it changes what a statement costs
-- the server, and whether its figures are published or imported ones. `repeat` is renumbered if two selected runs
-- are of the same cell. `dbms_position` counts the dbms in the order of `ids`.
--
-- $ids: ids of runs
WITH mine AS (
    SELECT *, list_position($ids::VARCHAR[], run_id) AS place, workload::JSON->>'$.protocol' AS protocol
    FROM runs WHERE list_contains($ids::VARCHAR[], run_id)
), named AS (
    SELECT * EXCLUDE (protocol) REPLACE (
        CASE WHEN min(experiment) OVER alike < max(experiment) OVER alike
             THEN dbms || ' (' || experiment || ')' ELSE dbms END
        || CASE WHEN min(protocol) OVER of_benchmark < max(protocol) OVER of_benchmark AND protocol IS NOT NULL
                THEN ' (' || protocol || ')' ELSE '' END
        || CASE WHEN origin = 'measured' THEN '' ELSE ' (' || origin || ')' END AS dbms
    )
    FROM mine WINDOW alike AS (PARTITION BY dbms), of_benchmark AS (PARTITION BY benchmark)
), counted AS (
    SELECT
        *, min(place) OVER (PARTITION BY dbms) AS first_place,
        count(*) OVER (PARTITION BY dbms, setup, repeat) AS of_cell
    FROM named
)
SELECT
    * EXCLUDE (place, first_place, of_cell) REPLACE (
        CASE WHEN max(of_cell) OVER (PARTITION BY dbms, setup) > 1
             THEN row_number() OVER (PARTITION BY dbms, setup ORDER BY repeat, origin_wall, run_id) ELSE repeat END AS repeat
    ),
    dense_rank() OVER (ORDER BY first_place) AS dbms_position
FROM counted
