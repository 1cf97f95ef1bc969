-- The stacks of the server that perf sampled in each selected step, a row per recording (`tick`) and stack, for runs that
-- profiled the server. Only recordings that lie in the step as a whole count. `stack` is the thread's name and its
-- functions, outermost first, joined by ';'; `thread_group` is the thread's name without a number at its end.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status, p.tick,
    coalesce(p.thread_group, regexp_replace(split_part(p.stack, ';', 1), '[-_/:]?\d+$', '')) AS thread_group,
    p.stack, p.samples
FROM selected_steps($runs, $steps) c
JOIN profile_stacks p ON p.run_id = c.run_id AND p.tick >= c.start_s AND p.t_s <= c.end_s
ORDER BY
    c.setup, min_by(c.step_id, c.repeat) OVER (PARTITION BY c.setup, c.step), c.dbms_position, c.repeat, p.tick, p.stack
