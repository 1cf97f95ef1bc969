-- What a post is made from: the latest run of each cell of an experiment, with builds, versions and status.
--
-- $experiment: name of the experiment
-- $setups: names of the setups to show; an empty list means all
SELECT
    setup, dbms, dbms_position, build, config, repeat, status, error, failed_step, flavour, server_version,
    version_comment, scale, clients, origin_wall, ended_wall, tool_version, title, experiment, experiment_sha256,
    run_id, warnings
FROM latest_runs
WHERE experiment = $experiment
  AND (len($setups::VARCHAR[]) = 0 OR list_contains($setups::VARCHAR[], setup))
ORDER BY setup, dbms_position, repeat
