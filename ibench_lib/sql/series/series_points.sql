-- The values of metrics by run, with what makes a run a point of a series: its build and version, when it began, and what
-- must be equal along a series (benchmark, scale, host class, client core). Rows of runs or steps that did not
-- complete, and of steps that the clients limited, that missed a target rate or that took less than a second, have NULL
-- as `value` and the reason in `problem`. Steps loaded from a snapshot have no rows. `is_rate`: it is the rate of the
-- step's main operations.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
-- $metrics: names of the metrics
WITH metric_rows AS (
    FROM questions.metric_values($runs, $steps)
)
SELECT * FROM points_of(metric_rows, $runs, $steps, $metrics)
ORDER BY experiment, flavour, config, setup, step_id, metric, operation, timing, origin_wall, run_id
