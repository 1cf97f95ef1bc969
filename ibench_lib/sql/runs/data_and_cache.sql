-- How large the files of the benchmark's database became, next to the server's cache for them (`server_caches`): a row for
-- each run. `data_bytes`: the largest size at the end of one of the steps; NULL: not captured. `cache`: what the server
-- calls it; it and `cache_bytes` are NULL where the server did not tell.
--
-- $runs: ids of the runs
-- $steps: names of the steps whose ends count; an empty list means all
SELECT r.setup, r.dbms, r.dbms_position, r.repeat, r.run_id, z.data_bytes, c.cache, c.bytes AS cache_bytes
FROM selected_runs($runs) r
LEFT JOIN (
    SELECT s.run_id, max(s.bytes) AS data_bytes
    FROM sizes s JOIN steps_of($runs, $steps) USING (run_id, step_id) WHERE s.what = 'database' AND s.name = '' GROUP BY ALL
) z USING (run_id)
LEFT JOIN server_caches c USING (run_id)
ORDER BY r.setup, r.dbms_position, r.repeat
