-- Every full second of the selected steps (`rated_seconds`) with its dip. A second is in a dip where its rate is under
-- half of the step's median (a stall); where the rate of this and a neighbouring second is under the median by 20 % and
-- by 4 times the median absolute deviation (`mad`) of the seconds in which all clients were at work; or where it is under
-- the median by 10 % and by 4 times that deviation, the clients are paced, and the 99th percentile of the intended time
-- of what was answered is over 5 times its median, and over 10 ms. Late answers alone make no dip: clients that catch up
-- do as much as ever. `dip` numbers the dips of a step from 1: consecutive seconds; NULL in other seconds.
-- `intended_p99_s` is NULL where the clients are not paced. Seconds after the first client has ended are in no dip,
-- because fewer clients do less, and a step with fewer than 5 seconds before that, or with a median of 0, has none.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH paced AS MATERIALIZED (
    -- Most steps are not, and to find no intended time of theirs in `ops` takes longer than all the rest.
    SELECT *, row_number() OVER (ORDER BY run_id, step_id) AS line FROM whole_seconds($ids, $names)
    SEMI JOIN (
        SELECT h.run_id, h.step_id, x.family AS main_operation
        FROM response_histograms h JOIN operations x USING (run_id, operation) WHERE h.timing = 'intended'
    ) USING (run_id, step_id, main_operation)
), intended AS (
    SELECT (c.line << 32) + o.second AS series, o.intended_bins AS bins, o.intended_counts AS counts
    FROM ops o
    JOIN paced c USING (run_id, step_id)
    JOIN operations x ON x.run_id = o.run_id AND x.operation = o.operation
    WHERE o.second < c.full_seconds AND x.family = c.main_operation AND o.intended_bins IS NOT NULL
), answered AS (
    SELECT series, bin_mid_us(min(bin) FILTER (100 * up_to >= 99 * total)) / 1e6 AS intended_p99_s
    FROM cumulated_bins(intended) GROUP BY series
), late AS (
    SELECT c.run_id, c.step_id, a.series & 4294967295 AS second, a.intended_p99_s
    FROM answered a JOIN paced c ON c.line = a.series >> 32
), timed AS MATERIALIZED (
    SELECT r.*, l.intended_p99_s
    FROM rated_seconds($ids, $names) r LEFT JOIN late l USING (run_id, step_id, second)
), spread AS (
    SELECT
        run_id, step_id, median(abs(rate - median_rate)) FILTER (all_at_work) AS mad,
        count(*) FILTER (all_at_work) AS seconds, median(intended_p99_s) AS median_p99_s
    FROM timed GROUP BY ALL
), known AS MATERIALIZED (
    SELECT
        t.*, s.mad, s.seconds, s.median_p99_s,
        coalesce(all_at_work AND rate < median_rate - greatest(4 * s.mad, 0.2 * median_rate), false) AS is_low,
        all_at_work AND rate < median_rate - greatest(4 * s.mad, 0.1 * median_rate) AS is_lower,
        -- Few seconds are, so only these are compared with their neighbours.
        seconds >= 5 AND median_rate > 0 AND (stall IS NOT NULL OR is_low OR is_lower) AS is_suspect
    FROM timed t JOIN spread s USING (run_id, step_id)
), flagged AS (
    SELECT
        *,
        stall IS NOT NULL
        OR is_low AND coalesce(least(second - lag(second) OVER lows, lead(second) OVER lows - second) = 1, false)
        OR is_lower AND coalesce(intended_p99_s > greatest(5 * median_p99_s, 0.01), false) AS dips
    FROM known WHERE is_suspect WINDOW lows AS (PARTITION BY run_id, step_id, is_low ORDER BY second)
), placed AS (
    -- Consecutive seconds of a dip have one difference between the second and its place among those in dips.
    SELECT *, second - row_number() OVER (PARTITION BY run_id, step_id ORDER BY second) AS island FROM flagged WHERE dips
), numbered AS (
    SELECT run_id, step_id, second, dense_rank() OVER (PARTITION BY run_id, step_id ORDER BY island) AS dip FROM placed
)
SELECT
    k.run_id, k.step_id, k.second, k.rate, k.median_rate, k.mad, k.stall, k.intended_p99_s, k.median_p99_s, n.dip
FROM known k LEFT JOIN numbered n USING (run_id, step_id, second)
