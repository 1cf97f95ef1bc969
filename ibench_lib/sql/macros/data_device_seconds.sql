-- `device_seconds` of the device that holds the data; if several do, the one with the longest name: a partition, not its
-- disk.
--
-- $ids: ids of runs
FROM device_seconds
SEMI JOIN (
    SELECT run_id, device FROM device_samples WHERE list_contains($ids, run_id) AND holds_data GROUP BY run_id, device
    QUALIFY row_number() OVER (PARTITION BY run_id ORDER BY length(device) DESC, device) = 1
) USING (run_id, device)
WHERE list_contains($ids, run_id) AND holds_data
