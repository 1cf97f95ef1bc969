-- Response times of each run, step and operation, all clients: the share (in %) of responses in disjoint buckets that
-- sum to 100, percentiles, and the largest. timing: service (sent to answered) or intended (due to answered; only
-- rate-limited operations). Shares and percentiles come from log-linear bins with an error under 1 %; max is exact. A
-- bucket's name is its upper edge. client_bound: why the clients limited the step, NULL if they did not. family,
-- operation_position: of the operation; rated: whether it has a rate from second to second (an index build does not);
-- of_main: whether it is one of the step's main operations.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    FROM selected_steps($runs, $steps)
), stored AS (
    SELECT h.* FROM response_histograms h SEMI JOIN chosen USING (run_id, step_id)
), series AS (
    -- Numbers in place of names: the bins of a series are grouped and sorted.
    SELECT run_id, step_id, operation, timing, max(max_us) AS max_us, row_number() OVER () AS series
    FROM stored GROUP BY run_id, step_id, operation, timing
), expanded AS (
    SELECT series, unnest(bins)::INTEGER AS bin, unnest(counts)::BIGINT AS n
    FROM stored JOIN series USING (run_id, step_id, operation, timing)
), merged AS (
    SELECT series, bin, sum(n)::BIGINT AS n FROM expanded GROUP BY ALL
), cumulated AS (
    SELECT
        *, bin_mid_us(bin) AS mid_us,
        sum(n) OVER (PARTITION BY series ORDER BY bin) AS up_to,
        sum(n) OVER (PARTITION BY series) AS total
    FROM merged JOIN series USING (series)
), shares AS (
    SELECT
        run_id, step_id, operation, timing, any_value(total)::BIGINT AS responses,
        100 * coalesce(sum(n) FILTER (mid_us <= 256), 0) / any_value(total) AS le_256us,
        100 * coalesce(sum(n) FILTER (mid_us > 256 AND mid_us <= 1e3), 0) / any_value(total) AS le_1ms,
        100 * coalesce(sum(n) FILTER (mid_us > 1e3 AND mid_us <= 4e3), 0) / any_value(total) AS le_4ms,
        100 * coalesce(sum(n) FILTER (mid_us > 4e3 AND mid_us <= 16e3), 0) / any_value(total) AS le_16ms,
        100 * coalesce(sum(n) FILTER (mid_us > 16e3 AND mid_us <= 64e3), 0) / any_value(total) AS le_64ms,
        100 * coalesce(sum(n) FILTER (mid_us > 64e3 AND mid_us <= 256e3), 0) / any_value(total) AS le_256ms,
        100 * coalesce(sum(n) FILTER (mid_us > 256e3 AND mid_us <= 1e6), 0) / any_value(total) AS le_1s,
        100 * coalesce(sum(n) FILTER (mid_us > 1e6 AND mid_us <= 4e6), 0) / any_value(total) AS le_4s,
        100 * coalesce(sum(n) FILTER (mid_us > 4e6 AND mid_us <= 16e6), 0) / any_value(total) AS le_16s,
        100 * coalesce(sum(n) FILTER (mid_us > 16e6), 0) / any_value(total) AS gt_16s,
        seconds_of_us(least(min(mid_us) FILTER (up_to >= 0.50 * total), any_value(max_us))) AS p50_s,
        seconds_of_us(least(min(mid_us) FILTER (up_to >= 0.90 * total), any_value(max_us))) AS p90_s,
        seconds_of_us(least(min(mid_us) FILTER (up_to >= 0.99 * total), any_value(max_us))) AS p99_s,
        seconds_of_us(least(min(mid_us) FILTER (up_to >= 0.999 * total), any_value(max_us))) AS p999_s,
        seconds_of_us(any_value(max_us)) AS max_s
    FROM cumulated GROUP BY ALL
)
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, step_status, client_bound,
    shares.* EXCLUDE (run_id, step_id), f.family, o.position AS operation_position, NOT f.of_existing_rows AS rated,
    f.family IS NOT DISTINCT FROM main AS of_main
FROM chosen
JOIN shares USING (run_id, step_id)
LEFT JOIN operations o USING (run_id, operation)
LEFT JOIN families f ON f.run_id = o.run_id AND f.family = o.family
ORDER BY step_id, setup, operation_position NULLS LAST, operation, timing DESC, dbms_position, repeat
