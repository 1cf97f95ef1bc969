-- The response time histogram of each run, step and operation, all clients and seconds together. `timing` is service
-- (sent to answered) or intended (due to answered; only rate-limited operations). The bins are log-linear, 64 to each
-- power of two of microseconds; `mid_us` is within 0.8 % of any value in the bin.
WITH expanded AS (
    SELECT run_id, step_id, operation, timing, unnest(bins)::INTEGER AS bin, unnest(counts)::BIGINT AS n
    FROM response_histograms
), merged AS (
    SELECT run_id, step_id, operation, timing, bin, sum(n)::BIGINT AS n
    FROM expanded GROUP BY ALL
), largest AS (
    SELECT run_id, step_id, operation, timing, max(max_us) AS max_us
    FROM response_histograms GROUP BY ALL
)
SELECT merged.*, bin_mid_us(bin) AS mid_us, largest.max_us
FROM merged JOIN largest USING (run_id, step_id, operation, timing)
