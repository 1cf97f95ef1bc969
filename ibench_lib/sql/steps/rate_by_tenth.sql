-- Throughput in each tenth of a step: the mean rate of its full seconds in which no client had ended yet, in their order
-- cut into ten parts as equal as whole seconds allow; all clients together. `rate_label`: what the rate of the step's
-- main operations is called. A run of fewer than ten such seconds has none, and a step is left out that has no other run.
-- client_bound: why the clients limited the step, NULL if they did not.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH placed AS (
    SELECT
        run_id, step_id, rate,
        10 * (row_number() OVER (PARTITION BY run_id, step_id ORDER BY second) - 1)
            // count(*) OVER (PARTITION BY run_id, step_id) AS tenth
    FROM rated_seconds($runs, $steps) WHERE all_at_work
), meant AS (
    SELECT run_id, step_id, tenth, avg(rate) AS rate, count(*) AS seconds FROM placed GROUP BY ALL
), listed AS (
    SELECT run_id, step_id, list(rate ORDER BY tenth) AS rates, sum(seconds)::BIGINT AS full_seconds
    FROM meant GROUP BY run_id, step_id
)
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, kind, step_status,
    rate_label, full_seconds,
    CASE WHEN len(rates) = 10 THEN rates END AS rates, client_bound
FROM selected_steps($runs, $steps) LEFT JOIN listed USING (run_id, step_id)
WHERE NOT of_existing_rows
QUALIFY max(len(rates)) OVER (PARTITION BY setup, step) = 10
ORDER BY step_id, setup, dbms_position, repeat
