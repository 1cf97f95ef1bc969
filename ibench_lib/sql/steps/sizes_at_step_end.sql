-- What was on disk at the end of each run and step, in GiB. table_data and table_index are sums over the tables by the
-- server's own statistics, which MySQL and MariaDB update some 10 s after a change; the others are blocks on disk:
-- the files of the benchmark's database (dbgb1), system tablespace, undo, redo, temporary files, binary log, and
-- the whole data directory (dbgb2). `statistics_lag`: the statistics cannot be those of the step's end, so table_data
-- and table_index are not yet known. They come to less than 20 bytes a row, the least that a row takes, or to less than
-- a quarter of the files (or, without any index, than half of them); or they are, to the byte, those of an earlier step,
-- since which the files have grown by more than 1 % (a run that went on from a snapshot has those of the run that loaded
-- it). NULL: not captured, or unknown.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH summed AS (
    SELECT run_id, step_id, what, CASE WHEN count(*) = count(bytes) THEN sum(bytes) END / 1024**3 AS gib, count(*) AS n
    FROM sizes WHERE what IN ('table_data', 'table_index') OR name = ''
    GROUP BY run_id, step_id, what
), wide AS (
    SELECT
        run_id, step_id,
        max(gib) FILTER (what = 'table_data') AS table_data, max(gib) FILTER (what = 'table_index') AS table_index,
        max(gib) FILTER (what = 'database') AS dbgb1, max(gib) FILTER (what = 'system') AS system,
        max(gib) FILTER (what = 'undo') AS undo, max(gib) FILTER (what = 'redo') AS redo,
        max(gib) FILTER (what = 'temporary') AS temporary, max(gib) FILTER (what = 'binary_log') AS binary_log,
        max(gib) FILTER (what = 'datadir') AS dbgb2, max(n) FILTER (what = 'table_data') AS tables
    FROM summed GROUP BY run_id, step_id
), filled AS (
    -- How many rows a step left: as counted after it, or as the next step found them.
    SELECT s.run_id, s.step_id, coalesce(
        any_value(c.row_count), lead(any_value(s.existing_rows)) OVER (PARTITION BY s.run_id ORDER BY s.step_id)
    ) AS row_count
    FROM steps s
    LEFT JOIN (SELECT run_id, step_id, sum(row_count) AS row_count FROM table_counts GROUP BY ALL) c
        USING (run_id, step_id)
    GROUP BY s.run_id, s.step_id
), judged AS (
    SELECT
        w.* EXCLUDE (tables), coalesce(
            -- A file grows by 1 MiB at a time, by 4 where it is large: what is small is not judged by its files.
            table_data * 1024**3 < 20 * row_count
                OR dbgb1 * 1024 > 4 * tables
                   AND table_data + coalesce(table_index, 0) < dbgb1 / (CASE table_index WHEN 0 THEN 2 ELSE 4 END)
                OR dbgb1 * 1024 > 4 * tables
                   AND dbgb1 > 1.01 * min(dbgb1) OVER (
                       PARTITION BY coalesce(r.loaded_from, run_id), table_data, table_index
                   ),
            false
        ) AS statistics_lag
    FROM wide w JOIN runs r USING (run_id) LEFT JOIN filled USING (run_id, step_id)
)
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, step_status,
    j.* EXCLUDE (run_id, step_id) REPLACE (
        CASE WHEN NOT j.statistics_lag THEN j.table_data END AS table_data,
        CASE WHEN NOT j.statistics_lag THEN j.table_index END AS table_index
    )
FROM selected_steps($runs, $steps) LEFT JOIN judged j USING (run_id, step_id)
ORDER BY step_id, setup, dbms_position, repeat
