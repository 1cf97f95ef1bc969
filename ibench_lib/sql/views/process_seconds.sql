-- The server's process, second by second. CPU rates are in CPUs: 2.0 is two of them busy.
-- A row is the interval of `seconds` that ends at its sample: `<column>_per_s` is the growth of a cumulative column per
-- second; the other columns are as sampled. A rate is NULL in a run's first sample, next to a sample without a value,
-- after a change of pid, and where the column went down.
WITH grown AS (
    SELECT
        run_id, tick, t_s, pid, resident_bytes, virtual_bytes, threads, state, blocked_threads,
        nullif(t_s - lag(t_s) OVER samples, 0) AS seconds,
        pid = lag(pid) OVER samples AS same,
        COLUMNS(* EXCLUDE (
            run_id, tick, t_s, pid, resident_bytes, virtual_bytes, threads, state, blocked_threads
        )) - lag(COLUMNS(* EXCLUDE (
            run_id, tick, t_s, pid, resident_bytes, virtual_bytes, threads, state, blocked_threads
        ))) OVER samples AS '\0_per_s'
    FROM process_samples
    WINDOW samples AS (PARTITION BY run_id ORDER BY t_s)
)
SELECT
    run_id, tick, t_s, pid, seconds, resident_bytes, virtual_bytes, threads, state, blocked_threads,
    CASE WHEN same AND COLUMNS('_per_s$') >= 0 THEN COLUMNS('_per_s$') / seconds END AS '\0'
FROM grown
