-- The response time histograms of chosen steps over their time, all clients together: a row per bucket of `bucket_s`
-- seconds and bin. `operation` is insert, delete or query; `timing` service (sent to answered) or intended (due to
-- answered; only rate-limited operations). `max_us` is the largest response of the bucket. A bucket in which a
-- client waited and nothing was answered has one row, with a NULL bin.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
-- $at_most: how many buckets a step may have
-- $main_only: whether to leave out all but service times of the step's main operation
WITH chosen AS (
    SELECT *, ceil((duration_s + 2) / $at_most)::BIGINT AS bucket_s, row_number() OVER (ORDER BY run_id, step_id) AS line
    FROM timed_steps($ids, $names)
), answered AS (
    SELECT
        c.line, list_position(['insert', 'delete', 'range_query', 'point_query'], o.operation) AS operation,
        o.second // c.bucket_s AS bucket, o.service_max_us, o.service_bins, o.service_counts,
        o.intended_max_us, o.intended_bins, o.intended_counts
    FROM ops o JOIN chosen c USING (run_id, step_id)
    WHERE o.operation <> 'create_index'
        AND (NOT $main_only OR c.main_operation
             = CASE WHEN o.operation IN ('range_query', 'point_query') THEN 'query' ELSE o.operation END)
), timed AS (
    -- One number for a series and bucket: a second has hundreds of bins, and they are grouped and sorted.
    SELECT bucket * 1000000 + line * 10 + least(operation, 3) AS span, service_max_us AS max_us,
           service_bins AS bins, service_counts AS counts
    FROM answered
    UNION ALL
    SELECT bucket * 1000000 + line * 10 + least(operation, 3) + 5, intended_max_us, intended_bins, intended_counts
    FROM answered WHERE intended_bins IS NOT NULL AND NOT $main_only
), largest AS (
    SELECT span, max(max_us) AS max_us FROM timed GROUP BY span
), merged AS (
    SELECT span, bin, sum(n)::BIGINT AS n
    FROM (SELECT span, unnest(bins)::INTEGER AS bin, unnest(counts)::BIGINT AS n FROM timed) GROUP BY ALL
)
SELECT
    c.run_id, c.step_id, c.bucket_s, ['insert', 'delete', 'query'][span % 5] AS operation,
    CASE WHEN span % 10 < 5 THEN 'service' ELSE 'intended' END AS timing, span // 1000000 AS bucket, l.max_us, m.bin, m.n
FROM largest l LEFT JOIN merged m USING (span) JOIN chosen c ON c.line = span // 10 % 100000
