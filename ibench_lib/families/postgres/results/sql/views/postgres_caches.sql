-- See `server_caches`: its shared buffers, as SHOW tells them, such as 512MB.
SELECT
    run_id, 'shared buffers' AS cache,
    (try_cast(regexp_extract(value, '^(\d+)(kB|MB|GB|TB)$', 1) AS BIGINT)
        * CASE regexp_extract(value, '[kMGT]?B$') WHEN 'kB' THEN 1 WHEN 'MB' THEN 1024 WHEN 'GB' THEN 1024 ** 2
            WHEN 'TB' THEN 1024 ** 3 END * 1024)::BIGINT AS bytes
FROM server_variables WHERE name = 'shared_buffers'
