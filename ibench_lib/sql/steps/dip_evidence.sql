-- The evidence for and against each cause of each dip of the selected runs and steps: one row per dip and rule
-- (`dip_rules`), with what was measured in the dip and outside of all dips (`dip_measures`), and whether it `holds`: NULL
-- where this server or host does not give the measure. `points` count where it holds.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH dips AS (
    SELECT DISTINCT run_id, step_id, dip FROM dip_seconds($runs, $steps) WHERE dip IS NOT NULL
), held AS (
    SELECT
        d.*, r.*, m.out_mean, m.out_low, m.out_high,
        CASE r.statistic WHEN 'mean' THEN m.in_mean WHEN 'max' THEN coalesce(m.in_max, m.in_mean)
                         ELSE coalesce(m.in_min, m.in_mean) END AS value
    FROM dips d CROSS JOIN dip_rules r LEFT JOIN dip_measures($runs, $steps) m USING (run_id, step_id, dip, measure)
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.step_id, c.step, h.dip,
    h.cause, h.points, h.measure, h.statistic, h.value, h.out_mean, h.test, h.threshold, h.least,
    CASE h.test WHEN 'at least' THEN h.value >= h.threshold
                WHEN 'at most' THEN h.value <= h.threshold
                WHEN 'times' THEN h.value >= h.threshold * h.out_mean AND h.value - h.out_mean >= h.least
                                     AND h.value >= coalesce(h.out_high, h.value)
                ELSE h.value <= h.threshold * h.out_mean AND h.out_mean - h.value >= h.least
                     AND h.out_mean > 0 AND h.value <= coalesce(h.out_low, h.value) END AS holds,
    h.says
FROM held h JOIN selected_steps($runs, $steps) c USING (run_id, step_id)
ORDER BY c.step_id, c.setup, c.dbms_position, c.repeat, h.dip, h.cause, h.points DESC, h.measure
