-- See `server_caches`: of MyRocks the block cache of RocksDB, else InnoDB's buffer pool.
SELECT v.run_id, CASE v.name WHEN 'innodb_buffer_pool_size' THEN 'buffer pool' ELSE 'block cache' END AS cache,
    try_cast(v.value AS BIGINT) AS bytes
FROM server_variables v
JOIN server_variables e ON e.run_id = v.run_id AND e.name = 'default_storage_engine'
WHERE v.name = CASE upper(e.value) WHEN 'ROCKSDB' THEN 'rocksdb_block_cache_size' ELSE 'innodb_buffer_pool_size' END
