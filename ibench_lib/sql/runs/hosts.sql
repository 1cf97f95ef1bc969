-- The hosts of the selected runs, distinguished by hardware, limits, kernel, system and the device of the sandboxes. A
-- sandboxed server runs on the same host; for a remote server it is the host of the clients. Runs without facts are
-- left out. `holds_data`: whether any of the runs had its data on that device, and not where `storage` put it.
--
-- $runs: ids of the runs
WITH facts AS (
    SELECT run_id, dbms, dbms_position, setup, host::JSON AS h FROM selected_runs($runs) WHERE host <> '{}'
)
SELECT
    h->>'$.cpu_model' AS cpu_model, try_cast(h->>'$.usable_cpus' AS BIGINT) AS usable_cpus,
    try_cast(h->>'$.logical_cpus' AS BIGINT) AS logical_cpus, try_cast(h->>'$.physical_cores' AS BIGINT) AS physical_cores,
    try_cast(h->>'$.memory_bytes' AS BIGINT) AS memory_bytes, try_cast(h->>'$.swap_bytes' AS BIGINT) AS swap_bytes,
    h->>'$.os' AS os, h->>'$.kernel' AS kernel, h->>'$.machine' AS machine, h->>'$.dmi_product' AS dmi_product,
    try_cast(h->>'$.hypervisor' AS BOOLEAN) AS hypervisor, h->>'$.limits' AS limits,
    h->>'$.filesystem.type' AS filesystem, h->>'$.device.name' AS device, h->>'$.device.model' AS device_model,
    bool_or((h->'$.storage.data') IS NULL) AS holds_data,
    try_cast(h->>'$.device.bytes' AS BIGINT) AS device_bytes,
    count(*) AS runs, list(DISTINCT dbms ORDER BY dbms) AS dbms
FROM facts
GROUP BY ALL
ORDER BY min(dbms_position), min(run_id)
