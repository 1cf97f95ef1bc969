-- The metrics of chosen steps that only TPC-C has.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH summary AS (
    FROM questions.tpcc_summary($ids, $names)
), steady AS (
    FROM questions.tpcc_stability($ids, $names)
)
SELECT run_id, step_id, 'notpm' AS metric, notpm AS value FROM summary WHERE notpm IS NOT NULL
UNION ALL
SELECT run_id, step_id, 'notpm_committed', notpm_committed FROM summary WHERE notpm_committed IS NOT NULL
UNION ALL
SELECT run_id, step_id, 'repeats_per_1000', repeats_per_1000 FROM summary WHERE repeats_per_1000 IS NOT NULL
UNION ALL
SELECT run_id, step_id, 'bytes_per_new_order', bytes_per_new_order FROM summary WHERE bytes_per_new_order IS NOT NULL
UNION ALL
SELECT run_id, step_id, 'tps_cv', cv FROM steady
UNION ALL
SELECT run_id, step_id, 'tps_floor', floor FROM steady
UNION ALL
SELECT run_id, step_id, 'tps_trend', trend FROM steady
UNION ALL
SELECT run_id, step_id, 'waves', waves FROM steady
UNION ALL
SELECT run_id, step_id, 'wave_share', 100 * wave_share FROM steady
