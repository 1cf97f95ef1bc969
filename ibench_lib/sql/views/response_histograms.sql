-- Response time histograms that together hold each response of each step once: the rows of `response_times`, and for
-- steps without such rows (of runs that are not sealed yet, or were by an older ibench) those of `ops`. `timing` is
-- service (sent to answered) or intended (due to answered; only rate-limited operations).
WITH unrolled AS (
    (SELECT run_id, step_id FROM steps UNION SELECT run_id, step_id FROM workers)
    EXCEPT SELECT run_id, step_id FROM response_times
)
SELECT run_id, step_id, worker, operation, timing, max_us, seconds_of_us(max_us) AS max_s, bins, counts
FROM response_times
UNION ALL
SELECT
    run_id, step_id, worker, operation, 'service', service_max_us, seconds_of_us(service_max_us), service_bins,
    service_counts
FROM ops JOIN unrolled USING (run_id, step_id)
UNION ALL
SELECT
    run_id, step_id, worker, operation, 'intended', intended_max_us, seconds_of_us(intended_max_us), intended_bins,
    intended_counts
FROM ops JOIN unrolled USING (run_id, step_id)
WHERE intended_bins IS NOT NULL
