-- Rates and worst responses at one-second intervals, per run, step and operation, for all clients together (client
-- NULL) and for each client. rate: rows/s of insert and delete, queries/s of query. `t_s` counts from the step's
-- start. At most `points` a series: longer ones are put into buckets of `bucket_s` seconds, each kept as min, mean
-- and max, so that no stall disappears. The last, partial second of a step has a worst response but no rate.
--
-- $experiment: name of the experiment
-- $setups: names of the setups to show; an empty list means all
-- $points: how many points a series may have at most
-- $steps: names of the steps to show; an empty list means all
WITH seconds AS (
    SELECT
        s.*, x.operation, x.client, x.second, x.rate, x.max_response_s,
        ceil((max(x.second) OVER (PARTITION BY s.run_id, s.step_id) + 1) / $points)::BIGINT AS bucket_s
    FROM run_steps s JOIN step_seconds x USING (run_id, step_id)
    WHERE x.operation IN ('insert', 'delete', 'query')
), bucketed AS (
    SELECT
        setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, step_status, operation, client, bucket_s,
        second // bucket_s * bucket_s AS t_s,
        min(rate) AS rate_min, avg(rate) AS rate_mean, max(rate) AS rate_max,
        max(max_response_s) AS max_response_s
    FROM seconds
    WHERE experiment = $experiment
      AND (len($setups::VARCHAR[]) = 0 OR list_contains($setups::VARCHAR[], setup))
      AND (len($steps::VARCHAR[]) = 0 OR list_contains($steps::VARCHAR[], step))
    GROUP BY ALL
)
SELECT * FROM bucketed
ORDER BY step_id, setup, list_position(['insert', 'delete', 'query'], operation), dbms_position, repeat,
         client NULLS FIRST, t_s
