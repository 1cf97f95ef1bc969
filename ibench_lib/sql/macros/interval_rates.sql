-- The rate of each family of operations in the intervals of chosen steps (`intervals`), for all clients together (client
-- NULL) and for each client: a row per interval, or where a series has more than `at_most` of them, per so many of them
-- that follow each other. `t_s` is where it begins, from the step's start, and `bucket_s` how long it is; `interval_s`:
-- the longest interval in it. `rate_mean` is the mean over the time of its intervals. A step with seconds is left out.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
-- $at_most: how many rows the series of all clients together may have at most; those of the single clients share them
WITH chosen AS (
    -- Of every step with seconds there are response times: the table is much smaller than `ops`.
    FROM steps_of($ids, $names) ANTI JOIN response_times USING (run_id, step_id)
), rated AS (
    SELECT
        i.run_id, i.step_id, f.family, nullif(i.client, 0)::INTEGER AS client, i.end_s, i.seconds,
        sum(i.ops_per_s) AS rate
    FROM intervals i
    SEMI JOIN chosen USING (run_id, step_id)
    JOIN operations x ON x.run_id = i.run_id AND x.operation = i.operation
    JOIN families f ON f.run_id = x.run_id AND f.family = x.family
    WHERE f.counts = 'ops' AND NOT f.of_existing_rows
    GROUP BY ALL
), placed AS (
    SELECT
        *, row_number() OVER (PARTITION BY run_id, step_id, family, client ORDER BY end_s) - 1 AS place,
        ceil(count(*) OVER (PARTITION BY run_id, step_id, family, client IS NULL) / $at_most)::BIGINT AS together
    FROM rated
)
SELECT
    run_id, step_id, family, client, round(min(end_s - seconds), 3) AS t_s, round(max(end_s), 3) - t_s AS bucket_s,
    max(seconds) AS interval_s, min(rate) AS rate_min, sum(rate * seconds) / sum(seconds) AS rate_mean,
    max(rate) AS rate_max
FROM placed
GROUP BY run_id, step_id, family, client, place // together
