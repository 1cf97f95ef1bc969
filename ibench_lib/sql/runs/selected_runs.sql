-- The runs that a post is made from, with builds, versions and status. `warnings` has those of the run, and one for each
-- step of a second or more in which the host had much other work (`busy_hosts`); `taken` has these steps, each with the
-- share of the CPUs that was taken in it, NULL without one.
--
-- $runs: ids of the runs
SELECT
    setup, dbms, dbms_position, build, build_label, stands_for, config, repeat, cell_order, status, error, failed_step,
    flavour, server_version, version_comment, scale, clients, origin_wall, ended_wall, tool_version, title, experiment,
    experiment_sha256, run_id, list_concat(warnings, b.said) AS warnings, b.taken, snapshot_after, loaded_from, source,
    origin
FROM selected_runs($runs) LEFT JOIN busy_hosts($runs) b USING (run_id)
ORDER BY setup, dbms_position, repeat
