-- The runs that a post is made from, with builds, versions and status.
--
-- $runs: ids of the runs
SELECT
    setup, dbms, dbms_position, build, build_label, stands_for, config, repeat, cell_order, status, error, failed_step,
    flavour, server_version, version_comment, scale, clients, origin_wall, ended_wall, tool_version, title, experiment,
    experiment_sha256, run_id, warnings, snapshot_after, loaded_from, source
FROM selected_runs($runs)
ORDER BY setup, dbms_position, repeat
