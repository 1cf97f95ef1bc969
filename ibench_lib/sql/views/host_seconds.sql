-- The host of the clients, second by second. CPU rates are in CPUs: 2.0 is two of them busy.
-- A row is the interval of `seconds` that ends at its sample: `<column>_per_s` is the growth of a cumulative column per
-- second; the other columns are as sampled. A rate is NULL in a run's first sample, next to a sample without a value,
-- and where the column went down.
WITH grown AS (
    SELECT
        run_id, tick, t_s, runnable, blocked, memory_available_bytes, memory_free_bytes, page_cache_bytes,
        dirty_bytes, writeback_bytes, swap_used_bytes,
        nullif(t_s - lag(t_s) OVER samples, 0) AS seconds,
        COLUMNS(* EXCLUDE (
            run_id, tick, t_s, runnable, blocked, memory_available_bytes, memory_free_bytes, page_cache_bytes,
            dirty_bytes, writeback_bytes, swap_used_bytes
        )) - lag(COLUMNS(* EXCLUDE (
            run_id, tick, t_s, runnable, blocked, memory_available_bytes, memory_free_bytes, page_cache_bytes,
            dirty_bytes, writeback_bytes, swap_used_bytes
        ))) OVER samples AS '\0_per_s'
    FROM host_samples
    WINDOW samples AS (PARTITION BY run_id ORDER BY t_s)
)
SELECT
    run_id, tick, t_s, seconds, runnable, blocked, memory_available_bytes, memory_free_bytes, page_cache_bytes,
    dirty_bytes, writeback_bytes, swap_used_bytes,
    CASE WHEN COLUMNS('_per_s$') >= 0 THEN COLUMNS('_per_s$') / seconds END AS '\0'
FROM grown
