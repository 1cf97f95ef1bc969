-- Response times of each run, step and operation, all clients: the share (in %) of responses in disjoint buckets that
-- sum to 100, percentiles, and the largest. timing: service (sent to answered) or intended (due to answered; only
-- rate-limited operations). Shares and percentiles come from log-linear bins with an error under 1 %; max is exact. A
-- bucket's name is its upper edge. client_bound: why the clients limited the step, NULL if they did not. family,
-- unsent_share: of the operations of its family that were due in a complete step with a target rate, the part that was never
-- sent; NULL for service times. What was not sent is in no percentile, so those of the intended time are then lower bounds.
-- operation_position: of the operation; rated: whether it has a rate from second to second (an index build does not);
-- of_main: whether it is one of the step's main operations. reason: why no histogram was recorded, as of a driven program
-- that prints none; responses, shares and percentiles are then NULL. It is NULL where there is a histogram.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    FROM selected_steps($runs, $steps)
), stored AS (
    SELECT h.* FROM response_histograms h SEMI JOIN chosen USING (run_id, step_id)
), series AS (
    -- Numbers in place of names: the bins of a series are grouped and sorted.
    SELECT
        run_id, step_id, operation, timing, max(max_us) AS max_us, bool_or(bins IS NULL) AS unrecorded,
        row_number() OVER () AS series
    FROM stored GROUP BY run_id, step_id, operation, timing
), recorded AS (
    SELECT series, bins, counts
    FROM stored JOIN series USING (run_id, step_id, operation, timing) WHERE NOT unrecorded
), cumulated AS (
    FROM cumulated_bins(recorded) JOIN series USING (series)
), shares AS (
    SELECT
        run_id, step_id, operation, timing, any_value(total) AS responses,
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
    UNION ALL BY NAME
    SELECT run_id, step_id, operation, timing, seconds_of_us(max_us) AS max_s FROM series WHERE unrecorded
), due AS (
    SELECT
        c.run_id, c.step_id, unnest(c.paced) AS family,
        c.clients * c.target_rows_per_s * coalesce(c.planned_s, c.duration_s) AS due,
        c.duration_s, c.clients, c.insert_rows_per_commit
    FROM chosen c WHERE c.step_status = 'complete' AND c.target_rows_per_s IS NOT NULL AND NOT c.equal_work
), unsent AS (
    -- When the time is up, each client may be in a statement or about to send it: no queue.
    SELECT
        d.run_id, d.step_id, d.family, d.due - coalesce(r.rates[d.family], 0) * d.duration_s AS missing,
        CASE
            WHEN missing > d.clients * CASE f.counts WHEN 'rows' THEN coalesce(d.insert_rows_per_commit, 1) ELSE 1 END
            THEN missing / d.due ELSE 0
        END AS unsent_share
    FROM due d JOIN families f USING (run_id, family) JOIN rates_of_steps($runs, $steps) r USING (run_id, step_id)
)
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, step_status, client_bound,
    shares.* EXCLUDE (run_id, step_id), f.family, o.position AS operation_position, NOT f.of_existing_rows AS rated,
    f.family IS NOT DISTINCT FROM main AS of_main, CASE timing WHEN 'intended' THEN u.unsent_share END AS unsent_share,
    CASE WHEN responses IS NULL THEN coalesce(
        json_extract_string(r.null_reasons, '$."ops.service_bins"'), 'no histogram was recorded') END AS reason
FROM chosen
JOIN shares USING (run_id, step_id)
JOIN (SELECT run_id, null_reasons FROM runs) r USING (run_id)
LEFT JOIN operations o USING (run_id, operation)
LEFT JOIN families f ON f.run_id = o.run_id AND f.family = o.family
LEFT JOIN unsent u ON u.run_id = chosen.run_id AND u.step_id = chosen.step_id AND u.family = o.family
ORDER BY step_id, setup, operation_position NULLS LAST, operation, timing DESC, dbms_position, repeat
