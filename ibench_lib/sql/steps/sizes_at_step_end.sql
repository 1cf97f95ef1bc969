-- What was on disk at the end of each run and step, in GiB. table_data and table_index are sums over the tables by the
-- server's own statistics, which MariaDB updates about 10 s after a change; the others are blocks on disk:
-- the files of the benchmark's database (dbgb1), system tablespace, undo, redo, temporary files, binary log, and the
-- whole data directory (dbgb2). NULL: not captured, or unknown.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH summed AS (
    SELECT run_id, step_id, what, CASE WHEN count(*) = count(bytes) THEN sum(bytes) END / 1024**3 AS gib
    FROM sizes WHERE what IN ('table_data', 'table_index') OR name = ''
    GROUP BY run_id, step_id, what
), wide AS (
    SELECT
        run_id, step_id,
        max(gib) FILTER (what = 'table_data') AS table_data, max(gib) FILTER (what = 'table_index') AS table_index,
        max(gib) FILTER (what = 'database') AS dbgb1, max(gib) FILTER (what = 'system') AS system,
        max(gib) FILTER (what = 'undo') AS undo, max(gib) FILTER (what = 'redo') AS redo,
        max(gib) FILTER (what = 'temporary') AS temporary, max(gib) FILTER (what = 'binary_log') AS binary_log,
        max(gib) FILTER (what = 'datadir') AS dbgb2
    FROM summed GROUP BY run_id, step_id
)
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, step_status, wide.* EXCLUDE (run_id, step_id)
FROM selected_steps($runs, $steps) LEFT JOIN wide USING (run_id, step_id)
ORDER BY step_id, setup, dbms_position, repeat
