-- Response times of each type of transaction in buckets of 0.2 s, as tpcc-mysql prints them: the share of responses in
-- %. `up_to_s` is a bucket's upper edge; the last one, of 2 s and more, has none. Service times, sent to answered.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH expanded AS (
    SELECT
        c.run_id, c.step_id, h.operation, least(10, floor(bin_mid_us(unnest(h.bins)::INTEGER) / 200000))::INTEGER AS bucket,
        unnest(h.counts)::BIGINT AS n
    FROM selected_steps($runs, $steps) c JOIN response_histograms h USING (run_id, step_id)
    WHERE c.benchmark = 'tpcc' AND c.kind IN ('ramp_up', 'run') AND h.timing = 'service'
), merged AS (
    SELECT run_id, step_id, operation, bucket, sum(n)::BIGINT AS responses FROM expanded GROUP BY ALL
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status, m.operation,
    m.bucket, CASE WHEN m.bucket < 10 THEN (m.bucket + 1) / 5 END AS up_to_s, m.responses,
    100.0 * m.responses / sum(m.responses) OVER (PARTITION BY m.run_id, m.step_id, m.operation) AS share
FROM merged m
JOIN selected_steps($runs, $steps) c USING (run_id, step_id)
LEFT JOIN operations x ON x.run_id = m.run_id AND x.operation = m.operation
ORDER BY c.step_id, c.setup, x.position, c.dbms_position, c.repeat, m.bucket
