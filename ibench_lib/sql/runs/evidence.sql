-- Everything that is known about how the selected runs were made: texts and facts of their manifests. `host`,
-- `versions`, `workload` and `null_reasons` are JSON. `source`: where published figures and imported logs come from; NULL
-- for measured runs. `warnings`: as of `selected_runs`. `unvouched`: the files in the run's folder that no checksum vouches
-- for, NULL if there are none.
--
-- $runs: ids of the runs
SELECT
    setup, dbms, dbms_position, repeat, run_id, experiment, title, status, error, failed_step, build, flavour,
    server_version, version_comment, scale, origin_wall, ended_wall, tool_version, versions, host, workload,
    list_concat(warnings, b.said) AS warnings, null_reasons, experiment_sha256, experiment_text, my_cnf, source, origin,
    (
        SELECT list({file: file, kind: kind} ORDER BY kind, file) FROM unvouched WHERE unvouched.run_id = chosen.run_id
    ) AS unvouched
FROM selected_runs($runs) chosen LEFT JOIN busy_hosts($runs) b USING (run_id)
ORDER BY setup, dbms_position, repeat
