-- The stalls of each run and step: consecutive full seconds in which the rate of the step's main operation, all clients
-- together, fell under half of its median over the full seconds of the step. `from_s` and `to_s` count from the step's
-- start. `rate` is the mean in the stall. `clients_seen`: the fewest clients at work in a second of it; where that is
-- less than `clients`, the others had ended. `max_response_s`: the worst response of the main operation that ended in
-- the stall or in the second after it, where what waited is answered. `rate_label`: what the rate
-- is called.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH stalled AS (
    SELECT
        run_id, step_id, stall, min(second) AS from_s, max(second) + 1 AS to_s, avg(rate) AS rate,
        any_value(median_rate) AS median_rate
    FROM rated_seconds($runs, $steps) WHERE stall IS NOT NULL GROUP BY ALL
), placed AS (
    FROM timed_steps($runs, $steps) JOIN stalled USING (run_id, step_id)
), looked_at AS (
    -- Second by second: a row of `ops` for each stall of its step would be millions.
    SELECT run_id, step_id, stall, main_operation, to_s, unnest(generate_series(from_s, to_s)) AS second FROM placed
), near AS MATERIALIZED (
    SELECT p.run_id, p.step_id, p.stall, o.second < p.to_s AS is_in, o.second, o.client, o.service_max_us
    FROM looked_at p
    JOIN ops o USING (run_id, step_id, second)
    JOIN operations x ON x.run_id = o.run_id AND x.operation = o.operation
    WHERE x.family = p.main_operation
), worst AS (
    SELECT run_id, step_id, stall, seconds_of_us(max(service_max_us)) AS max_response_s FROM near GROUP BY ALL
), seen AS (
    SELECT run_id, step_id, stall, min(clients) AS clients_seen
    FROM (
        SELECT run_id, step_id, stall, count(DISTINCT client) AS clients FROM near WHERE is_in
        GROUP BY run_id, step_id, stall, second
    ) GROUP BY ALL
)
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, step_status, main_operation, clients,
    stall, from_s, to_s, to_s - from_s AS seconds, rate, median_rate, clients_seen, max_response_s,
    rate_label
FROM placed LEFT JOIN worst USING (run_id, step_id, stall) LEFT JOIN seen USING (run_id, step_id, stall)
ORDER BY step_id, setup, dbms_position, repeat, stall
