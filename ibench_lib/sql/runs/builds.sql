-- The server builds of the selected runs, with what is known of how they were made: one row for each dbms, unless its
-- runs were of several servers. Facts of the binary are NULL if it does not contain them; all are NULL if `told` is
-- false: the run is of an older ibench, or its server was remote. allocator, tls_library: shared libraries
-- that the binary links; malloc_library, ssl_library, compile_os, compile_machine: the server's variables.
--
-- $runs: ids of the runs
WITH said AS (
    SELECT
        run_id, max(value) FILTER (name = 'version_malloc_library') AS malloc_library,
        max(value) FILTER (name = 'version_ssl_library') AS ssl_library,
        max(value) FILTER (name = 'version_compile_os') AS compile_os,
        max(value) FILTER (name = 'version_compile_machine') AS compile_machine
    FROM server_variables GROUP BY run_id
)
SELECT
    r.dbms, min(r.dbms_position) AS dbms_position, r.flavour, r.build, r.config, r.server_version, r.version_comment,
    b.run_id IS NOT NULL AS told, b.compiler, b.build_id, b.stripped, b.allocator, b.tls_library, s.malloc_library,
    s.ssl_library, s.compile_os, s.compile_machine, count(*) AS runs
FROM selected_runs($runs) r
LEFT JOIN binaries b USING (run_id)
LEFT JOIN said s USING (run_id)
GROUP BY ALL
ORDER BY dbms_position, r.server_version, b.build_id
