-- How far repeats of the same dbms are apart, over all dbms of the runs together, for each metric of each setup and step
-- (see `metric_values`). `noise_squares`: the sum of the squared differences between the natural logarithm of a run's
-- value and the mean of its dbms; `noise_df`: its degrees of freedom, one per run less one per dbms. Dbms with a value
-- of 0 do not count.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH repeated AS (
    SELECT
        setup, step, operation, timing, metric, dbms,
        count(*) * var_pop(CASE WHEN value > 0 THEN ln(value) END) AS squares, count(*) - 1 AS df
    FROM questions.metric_values($runs, $steps)
    WHERE step_status = 'complete' AND value IS NOT NULL
    GROUP BY ALL
    HAVING min(value) > 0 AND count(*) > 1
)
SELECT setup, step, operation, timing, metric, sum(squares) AS noise_squares, sum(df)::BIGINT AS noise_df
FROM repeated GROUP BY ALL
ORDER BY setup, step, operation NULLS FIRST, timing, metric
