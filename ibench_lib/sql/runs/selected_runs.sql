-- The runs that a post is made from, with builds, versions and status. `warnings` has those of the run, and one for each
-- step of a second or more in which the host had much other work (`host_taken_of`); `taken_share` is the largest share of
-- the CPUs that was taken in such a step, NULL without one.
--
-- $runs: ids of the runs
WITH busy AS (
    SELECT
        t.run_id, max(t.taken) AS taken_share,
        list(concat(
            s.step, ': ',
            concat_ws(
                ' and ',
                CASE WHEN t.others >= 0.01 THEN format('other processes used {:.0f} % of the CPUs', 100 * t.others) END,
                CASE WHEN t.stolen >= 0.01 THEN format('the hypervisor kept {:.0f} % of the CPUs', 100 * t.stolen) END
            )
        ) ORDER BY t.step_id) AS said
    FROM host_taken_of($runs, []) t JOIN steps s USING (run_id, step_id)
    WHERE t.much AND s.duration_s >= 1 GROUP BY t.run_id
)
SELECT
    setup, dbms, dbms_position, build, build_label, stands_for, config, repeat, cell_order, status, error, failed_step,
    flavour, server_version, version_comment, scale, clients, origin_wall, ended_wall, tool_version, title, experiment,
    experiment_sha256, run_id, list_concat(warnings, b.said) AS warnings, b.taken_share, snapshot_after, loaded_from, source
FROM selected_runs($runs) LEFT JOIN busy b USING (run_id)
ORDER BY setup, dbms_position, repeat
