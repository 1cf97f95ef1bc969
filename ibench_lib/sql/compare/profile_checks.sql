-- Whether the profile of each selected step is one of the whole step: the server's CPU per statement in the seconds that
-- perf recorded (`recorded_us`) and in the step (`step_us`), for runs with recordings that know their CPU. Statements are
-- counted per whole second; a recording gets a second's statements in proportion to the part of the second that it
-- covers.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    FROM selected_steps($runs, $steps)
), recorded AS (
    SELECT
        c.run_id, c.step_id, c.start_s, p.tick, any_value(p.t_s) AS t_s, any_value(p.seconds) AS seconds,
        any_value(p.cpu_s) AS cpu_s
    FROM chosen c
    JOIN profile_stacks p ON p.run_id = c.run_id AND p.tick >= c.start_s AND p.t_s <= c.end_s
    WHERE p.cpu_s IS NOT NULL
    GROUP BY ALL
), done AS (
    SELECT
        r.run_id, r.step_id, r.tick, any_value(r.cpu_s) AS cpu_s,
        sum(o.ops * greatest(0, least(o.second + 1, r.t_s - r.start_s) - greatest(o.second, r.t_s - r.seconds - r.start_s)))
            AS statements
    FROM recorded r
    JOIN ops o
        ON o.run_id = r.run_id AND o.step_id = r.step_id AND o.second + 1 > r.t_s - r.seconds - r.start_s
        AND o.second < r.t_s - r.start_s
    GROUP BY ALL
), used AS (
    FROM step_use($runs, $steps)
), server AS (
    FROM server_cpus(used)
), statements AS (
    SELECT o.run_id, o.step_id, sum(o.ops)::DOUBLE AS done FROM ops o SEMI JOIN chosen USING (run_id, step_id) GROUP BY ALL
)
SELECT
    s.setup, s.dbms, s.dbms_position, s.repeat, s.run_id, s.step_id, s.step, s.step_status,
    1e6 * sum(d.cpu_s) / nullif(sum(d.statements), 0) AS recorded_us,
    any_value(1e6 * (v.user_cpus + v.system_cpus) / nullif(n.done / nullif(s.duration_s, 0), 0)) AS step_us
FROM done d
JOIN chosen s USING (run_id, step_id)
LEFT JOIN server v USING (run_id, step_id)
LEFT JOIN statements n USING (run_id, step_id)
GROUP BY ALL
ORDER BY s.step_id, s.setup, s.dbms_position, s.repeat
