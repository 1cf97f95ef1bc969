-- Block devices, second by second.
-- A row is the interval of `seconds` that ends at its sample: `<column>_per_s` is the growth of a cumulative column per
-- second; the other columns are as sampled. A rate is NULL in a run's first sample, next to a sample without a value,
-- and where the column went down.
WITH grown AS (
    SELECT
        run_id, device, tick, t_s, holds_data, in_flight,
        nullif(t_s - lag(t_s) OVER samples, 0) AS seconds,
        COLUMNS(* EXCLUDE (
            run_id, device, tick, t_s, holds_data, in_flight
        )) - lag(COLUMNS(* EXCLUDE (
            run_id, device, tick, t_s, holds_data, in_flight
        ))) OVER samples AS '\0_per_s'
    FROM device_samples
    WINDOW samples AS (PARTITION BY run_id, device ORDER BY t_s)
)
SELECT
    run_id, device, tick, t_s, holds_data, seconds, in_flight,
    CASE WHEN COLUMNS('_per_s$') >= 0 THEN COLUMNS('_per_s$') / seconds END AS '\0'
FROM grown
