-- The recordings of perf in each selected step, one row each: `samples`; `cpu_s`, the CPU of the server's process while
-- it sampled (NULL: recorded by an older ibench); the main operations that were `done` meanwhile (NULL: full seconds of
-- the step do not cover it); and how many of its `seconds` are in dips (`dip_s`). Operations are counted per
-- whole second; a recording gets a second's operations in proportion to the part of the second that it covers.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH recorded AS (
    SELECT
        c.run_id, c.step_id, p.tick, sum(p.samples)::BIGINT AS samples, any_value(p.cpu_s) AS cpu_s,
        any_value(p.seconds) AS seconds, any_value(p.t_s - p.seconds - c.start_s) AS from_s,
        any_value(p.t_s - c.start_s) AS to_s
    FROM selected_steps($runs, $steps) c
    JOIN profile_stacks p ON p.run_id = c.run_id AND p.tick >= c.start_s AND p.t_s <= c.end_s
    GROUP BY ALL
), met AS (
    SELECT
        r.*, d.rate, d.dip, least(d.second + 1, r.to_s) - greatest(d.second, r.from_s) AS overlap_s
    FROM recorded r
    LEFT JOIN dip_seconds($runs, $steps) d
        ON d.run_id = r.run_id AND d.step_id = r.step_id AND d.second + 1 > r.from_s AND d.second < r.to_s
), summed AS (
    SELECT
        run_id, step_id, tick, samples, cpu_s, seconds,
        CASE WHEN sum(overlap_s) >= 0.95 * seconds THEN sum(rate * overlap_s) END AS done,
        coalesce(sum(overlap_s) FILTER (dip IS NOT NULL), 0) AS dip_s
    FROM met GROUP BY run_id, step_id, tick, samples, cpu_s, seconds
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.step_id, c.step, c.step_status,
    s.tick, s.samples, s.seconds, s.cpu_s, s.done, s.dip_s
FROM summed s JOIN selected_steps($runs, $steps) c USING (run_id, step_id)
ORDER BY c.setup, c.step_id, c.dbms_position, c.repeat, s.tick
