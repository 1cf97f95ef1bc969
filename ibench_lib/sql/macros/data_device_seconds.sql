-- `device_seconds` of the device that holds the data; if several do, the one with the longest name: a partition, not its
-- disk.
--
-- $ids: ids of runs
FROM device_seconds WHERE list_contains($ids, run_id) AND holds_data
QUALIFY dense_rank() OVER (PARTITION BY run_id ORDER BY length(device) DESC, device) = 1
