-- The response time histograms of chosen steps over their time, all clients together: a row per bucket of `bucket_s`
-- seconds and bin. `operation` is the family of operations; `timing` service (sent to answered) or intended (due to
-- answered; only rate-limited operations). There are `n` responses in the bin, and `up_to` of the `total` of the bucket
-- in it and those before it. `max_us` is the largest response of the bucket. A bucket in which a client waited and
-- nothing was answered has one row, with a NULL bin. `span` is a number for a series and bucket, which is quicker to sort
-- than their names. `unrecorded`: a client has recorded no histogram in the bucket.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
-- $at_most: how many buckets a step may have
-- $main_only: whether to leave out all but service times of the step's main operation
WITH chosen AS (
    SELECT *, ceil((duration_s + 2) / $at_most)::BIGINT AS bucket_s, row_number() OVER (ORDER BY run_id, step_id) AS line
    FROM timed_steps($ids, $names)
), series AS (
    -- `place` is a part of each `span`, so that one equality finds the series of a bin. With two, one for the step and one
    -- for the family, DuckDB may join each bin to its family in every step first.
    SELECT
        c.run_id, c.step_id, c.bucket_s, f.family AS operation, f.position AS operation_position,
        (c.line << 7) + f.number * 2 AS place
    FROM chosen c JOIN families f USING (run_id)
    WHERE NOT f.of_existing_rows AND (NOT $main_only OR f.family = c.main_operation)
), answered AS (
    -- One number for a series and bucket, from the left bucket, line, family and timing: a second has hundreds of bins,
    -- and they are grouped and sorted.
    SELECT
        (o.second // s.bucket_s << 29) + s.place AS series, o.service_max_us, o.service_bins,
        o.service_counts, o.intended_max_us, o.intended_bins, o.intended_counts
    FROM ops o
    JOIN operations x ON x.run_id = o.run_id AND x.operation = o.operation
    JOIN series s ON s.run_id = o.run_id AND s.step_id = o.step_id AND s.operation = x.family
), timed AS (
    SELECT series, service_max_us AS max_us, service_bins AS bins, service_counts AS counts FROM answered
    UNION ALL
    SELECT series + 1, intended_max_us, intended_bins, intended_counts
    FROM answered WHERE intended_bins IS NOT NULL AND NOT $main_only
), largest AS (
    SELECT series, max(max_us) AS max_us, bool_or(bins IS NULL) AS unrecorded FROM timed GROUP BY series
)
SELECT
    s.run_id, s.step_id, s.bucket_s, s.operation, s.operation_position,
    l.series AS span, CASE l.series & 1 WHEN 0 THEN 'service' ELSE 'intended' END AS timing, l.series >> 29 AS bucket,
    l.max_us, c.bin, c.n, c.up_to, c.total, l.unrecorded
FROM largest l
LEFT JOIN cumulated_bins(timed) c ON c.series = l.series AND NOT l.unrecorded
JOIN series s ON s.place = l.series & 536870910
