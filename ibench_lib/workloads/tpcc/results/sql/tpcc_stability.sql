-- How steady the transactions a second of each selected step of TPC-C were, in windows of `window_s` seconds
-- (`tpcc_windows`). cv: standard deviation / mean. floor: lowest / median. A wave lasts from a window below 0.8 of the
-- median until one above 0.9 of it; those at the edges of the step are not counted. wave_depth: mean of 1 - lowest /
-- median over the waves; wave_period_s: median time from the start of one to the start of the next; wave_share: part of
-- the step's time in waves. trend: mean of the last third / mean of the first.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH windows AS MATERIALIZED (
    FROM tpcc_windows($runs, $steps)
), waves AS (
    SELECT run_id, step_id, low_number, min(number) * any_value(window_s) AS start_s, count(*) AS n,
           1 - min(rate) / any_value(middle) AS depth
    FROM windows WHERE state = 'low' AND NOT touches_edge GROUP BY run_id, step_id, low_number
), spaced AS (
    SELECT *, start_s - lag(start_s) OVER (PARTITION BY run_id, step_id ORDER BY start_s) AS period_s FROM waves
), summed AS (
    SELECT
        run_id, step_id, count(*) AS waves, avg(depth) AS wave_depth, median(period_s) AS wave_period_s, sum(n) AS n
    FROM spaced GROUP BY run_id, step_id
), steady AS (
    SELECT
        run_id, step_id, any_value(window_s) AS window_s, count(*) AS windows,
        stddev_pop(rate) / nullif(avg(rate), 0) AS cv, min(rate) / nullif(any_value(middle), 0) AS floor,
        avg(rate) FILTER (number >= 2 * last_number / 3) / nullif(avg(rate) FILTER (number < last_number / 3), 0) AS trend
    FROM (SELECT *, max(number) OVER (PARTITION BY run_id, step_id) + 1 AS last_number FROM windows)
    GROUP BY run_id, step_id
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status, c.client_bound,
    s.window_s, s.windows, s.cv, s.floor, s.trend, coalesce(w.waves, 0) AS waves, w.wave_depth, w.wave_period_s,
    coalesce(w.n, 0) / s.windows AS wave_share
FROM selected_steps($runs, $steps) c
JOIN steady s USING (run_id, step_id)
LEFT JOIN summed w USING (run_id, step_id)
ORDER BY c.step_id, c.setup, c.dbms_position, c.repeat
