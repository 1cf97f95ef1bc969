-- How steady each run was in each step: the median rate of its main operation over the full seconds in which no client
-- had ended yet (`rated_seconds` of them), how many stalls (`stalls`) it had, how many seconds they took, and the
-- longest. NULL rates: the step has no such second, or no rate.
-- `max_response_s` is the worst response of the main operation in the whole step. `rate_label`: what the rates are
-- called.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH rated AS MATERIALIZED (
    FROM rated_seconds($runs, $steps)
), counted AS (
    SELECT
        run_id, step_id, count(*) FILTER (all_at_work) AS rated_seconds, any_value(median_rate) AS median_rate,
        min(rate) FILTER (all_at_work) AS min_rate,
        count(stall) AS stalled_seconds, coalesce(max(stall), 0) AS stalls
    FROM rated GROUP BY ALL
), longest AS (
    SELECT run_id, step_id, min(second) AS longest_from_s, count(*) AS longest_s
    FROM rated WHERE stall IS NOT NULL
    GROUP BY run_id, step_id, stall
    QUALIFY row_number() OVER (PARTITION BY run_id, step_id ORDER BY longest_s DESC, longest_from_s) = 1
), worst AS (
    SELECT run_id, step_id, max(max_s) AS max_response_s
    FROM response_histograms
    JOIN whole_seconds($runs, $steps) USING (run_id, step_id)
    JOIN operations USING (run_id, operation)
    WHERE timing = 'service' AND family = main_operation GROUP BY ALL
)
SELECT
    setup, dbms, dbms_position, repeat, run_id, run_status, step_id, step, step_status, main_operation, clients,
    duration_s, full_seconds, rated_seconds, median_rate, min_rate, stalls, stalled_seconds, longest_from_s, longest_s,
    max_response_s, rate_label
FROM timed_steps($runs, $steps)
LEFT JOIN counted USING (run_id, step_id)
LEFT JOIN longest USING (run_id, step_id)
LEFT JOIN worst USING (run_id, step_id)
ORDER BY step_id, setup, dbms_position, repeat
