-- Network interfaces, second by second.
-- A row is the interval of `seconds` that ends at its sample: `<column>_per_s` is the growth of a cumulative column per
-- second; the other columns are as sampled. A rate is NULL in a run's first sample, next to a sample without a value,
-- and where the column went down.
WITH grown AS (
    SELECT
        run_id, interface, tick, t_s,
        nullif(t_s - lag(t_s) OVER samples, 0) AS seconds,
        COLUMNS(* EXCLUDE (
            run_id, interface, tick, t_s
        )) - lag(COLUMNS(* EXCLUDE (
            run_id, interface, tick, t_s
        ))) OVER samples AS '\0_per_s'
    FROM network_samples
    WINDOW samples AS (PARTITION BY run_id, interface ORDER BY t_s)
)
SELECT
    run_id, interface, tick, t_s, seconds,
    CASE WHEN COLUMNS('_per_s$') >= 0 THEN COLUMNS('_per_s$') / seconds END AS '\0'
FROM grown
