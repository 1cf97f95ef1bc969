-- How long the redo log was full in each step of each run, and what that did to the rate of the main operation. The log
-- is full in a second in which the checkpoint age is at its limit: at 99 % of the age from which writers wait or, where
-- the server does not give that, at the age from which it flushes at any cost. `limit_share`: that limit as a share of
-- the size of the redo log, NULL where the size is not known. `highest_age_share`: highest checkpoint age as a share of
-- the limit. `sampled_seconds`: full seconds in which the age was read; all of these columns are NULL where it never was.
-- `full_log_seconds`: how many of them have a full log, the first is `full_from_s`. `flushed_seconds`: in how many most
-- of the pages written were flushed for a checkpoint, which begins below the limit. `rate_full` and `rate_else` are
-- mean rates of the seconds with and without a full log, NULL where there are none. `rate_label`: what the rates are
-- called. compared: whether the step's throughput is a result.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH timed AS MATERIALIZED (
    FROM timed_steps($runs, $steps)
), aged AS (
    SELECT
        t.run_id, t.step_id, floor(x.t_s - t.start_s)::BIGINT AS second,
        max(x.checkpoint_age_bytes / coalesce(x.checkpoint_age_limit_bytes, x.checkpoint_age_sync_bytes)) AS age_share,
        max(coalesce(x.checkpoint_age_limit_bytes, x.checkpoint_age_sync_bytes) / nullif(x.redo_capacity_bytes, 0))
            AS limit_share,
        coalesce(bool_or(
            x.checkpoint_age_bytes >= coalesce(0.99 * x.checkpoint_age_limit_bytes, x.checkpoint_age_sync_bytes)
        ), FALSE) AS is_full,
        coalesce(bool_or(
            x.pages_flushed_sync_per_s >= 0.5 * x.pages_written_per_s AND x.pages_flushed_sync_per_s > 0
        ), FALSE) AS is_flushed
    FROM timed t
    JOIN (FROM server_seconds WHERE list_contains($runs, run_id)) x
        ON x.run_id = t.run_id AND x.t_s >= t.start_s AND x.t_s < t.start_s + t.full_seconds
    GROUP BY ALL HAVING age_share IS NOT NULL
), summed AS (
    SELECT
        a.run_id, a.step_id, median(a.limit_share) AS limit_share, max(a.age_share) AS highest_age_share,
        count(*) AS sampled_seconds, count(*) FILTER (a.is_flushed) AS flushed_seconds,
        count(*) FILTER (a.is_full) AS full_log_seconds, min(a.second) FILTER (a.is_full) AS full_from_s,
        avg(r.rate) FILTER (a.is_full) AS rate_full, avg(r.rate) FILTER (NOT a.is_full) AS rate_else
    FROM aged a LEFT JOIN rated_seconds($runs, $steps) r USING (run_id, step_id, second)
    GROUP BY ALL
)
SELECT
    t.setup, t.dbms, t.dbms_position, t.repeat, t.run_id, t.run_status, t.step_id, t.step, t.step_status,
    t.client_bound, t.compared, t.duration_s, t.rate_label, s.* EXCLUDE (run_id, step_id)
FROM timed t LEFT JOIN summed s USING (run_id, step_id)
ORDER BY t.step_id, t.setup, t.dbms_position, t.repeat
