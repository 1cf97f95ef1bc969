-- Files of servers that their experiment put on other disks (`storage`): one row per dbms and kind of file, which is
-- data (the data directory), redo or system (the system tablespace). `storage`: the file system and the device below
-- the folder, such as xfs on FAST 9000 SSD. No row: all files of a server lie in its sandbox.
--
-- $runs: ids of the runs
SELECT
    r.dbms, r.dbms_position, f.key AS files, coalesce(f.value->>'$.class', 'unknown storage') AS storage,
    count(*) AS runs
FROM selected_runs($runs) r, json_each(r.host->'$.storage') f
GROUP BY ALL
ORDER BY r.dbms_position, files
