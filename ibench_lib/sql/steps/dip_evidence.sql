-- The evidence for and against each cause of each dip of the selected runs and steps: one row per dip and rule
-- (`dip_rules`), with what was measured in the dip and outside of all dips (`dip_measures`), and whether it `holds`: NULL
-- where this server or host does not give the measure. `points` count where it holds. `seen` is the dip itself: from
-- which to which second, its rates, and the rate missing to the median summed over it (`lost`).
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH measured AS MATERIALIZED (
    FROM dip_measures($runs, $steps)
), dips AS (
    SELECT run_id, step_id, dip, any_value(seen) AS seen FROM measured GROUP BY ALL
), held AS (
    SELECT
        d.*, r.*, m.out_mean, m.out_low, m.out_high,
        CASE r.statistic WHEN 'mean' THEN m.in_mean WHEN 'max' THEN coalesce(m.in_max, m.in_mean)
                         ELSE coalesce(m.in_min, m.in_mean) END AS value
    FROM dips d CROSS JOIN dip_rules r LEFT JOIN measured m USING (run_id, step_id, dip, measure)
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.step_id, c.step, h.dip, h.seen,
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
