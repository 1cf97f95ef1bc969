-- The transactions a second of chosen steps of TPC-C in windows of whole seconds: a sixtieth of the step, but 1 to 10 s
-- (`window_s`). `state` is low from the first window below 0.8 of the median until one above 0.9 of it, else high.
-- `low_number` numbers the stretches of low windows from 1. `touches_edge`: such a stretch began before the step's first
-- window or ended after its last one, so its length and depth are not known.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH seconds AS (
    SELECT r.run_id, r.step_id, r.second, r.rate, count(*) OVER (PARTITION BY r.run_id, r.step_id) AS n
    FROM rated_seconds($ids, $names) r
    JOIN run_steps s USING (run_id, step_id)
    WHERE s.benchmark = 'tpcc' AND s.kind IN ('ramp_up', 'run')
), sized AS (
    SELECT *, greatest(1, least(10, n // 60)) AS window_s FROM seconds
), windows AS (
    SELECT run_id, step_id, window_s, second // window_s AS number, avg(rate) AS rate
    FROM sized GROUP BY ALL HAVING count(*) = window_s
), judged AS (
    SELECT
        *, median(rate) OVER step AS middle, max(number) OVER step AS last_number,
        CASE WHEN rate < 0.8 * middle THEN 'low' WHEN rate > 0.9 * middle THEN 'high' END AS signal
    FROM windows WINDOW step AS (PARTITION BY run_id, step_id)
), states AS (
    SELECT
        *, coalesce(last_value(signal IGNORE NULLS) OVER (
            PARTITION BY run_id, step_id ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ), 'high') AS state
    FROM judged
), islands AS (
    -- Consecutive windows of one state have one difference between their number and their place in that state.
    SELECT *, number - row_number() OVER (PARTITION BY run_id, step_id, state ORDER BY number) AS island FROM states
), numbered AS (
    SELECT
        *, dense_rank() OVER (PARTITION BY run_id, step_id, state ORDER BY island) AS stretch,
        min(number) OVER (PARTITION BY run_id, step_id, state, island) = 0
        OR max(number) OVER (PARTITION BY run_id, step_id, state, island) = last_number AS at_edge
    FROM islands
)
SELECT
    run_id, step_id, window_s, number, rate, middle, state,
    CASE WHEN state = 'low' THEN stretch END AS low_number, state = 'low' AND at_edge AS touches_edge
FROM numbered
