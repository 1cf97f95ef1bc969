-- The evidence for and against each cause of each dip of the selected runs and steps: one row per dip and rule
-- (`dip_rules`), with what was measured in the dip and outside of all dips (`dip_measures`), and whether it `holds`: NULL
-- where this server or host does not give the measure. `holds_early`: it holds in the first second of the dip already.
-- Rules of a family of servers are for its runs only. `points` count where it holds. `seen` is the dip itself: from
-- which to which second, its rates, and the rate missing to the median summed over it (`lost`).
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH measured AS MATERIALIZED (
    FROM dip_measures($runs, $steps)
), dips AS (
    SELECT run_id, step_id, dip, any_value(seen) AS seen FROM measured GROUP BY ALL
), of_runs AS (
    SELECT run_id, family FROM runs JOIN server_families USING (flavour) WHERE list_contains($runs, run_id)
), held AS (
    SELECT
        d.*, r.* EXCLUDE (family), m.out_mean, m.out_low, m.out_high,
        CASE r.statistic WHEN 'mean' THEN m.in_mean WHEN 'still mean' THEN coalesce(m.still_mean, m.in_mean)
                         WHEN 'max' THEN coalesce(m.in_max, m.in_mean)
                         ELSE coalesce(m.in_min, m.in_mean) END AS value,
        CASE r.statistic WHEN 'mean' THEN m.early_mean WHEN 'still mean' THEN m.early_mean
                         WHEN 'max' THEN coalesce(m.early_max, m.early_mean)
                         ELSE coalesce(m.early_min, m.early_mean) END AS early
    FROM dips d
    LEFT JOIN of_runs f USING (run_id)
    JOIN dip_rules r ON r.family IS NULL OR f.family IS NULL OR r.family = f.family
    LEFT JOIN measured m USING (run_id, step_id, dip, measure)
), judged AS (
    SELECT
        *,
        list_transform([value, early], lambda x: CASE test
            WHEN 'at least' THEN x >= threshold
            WHEN 'at most' THEN x <= threshold
            WHEN 'rises to' THEN x >= threshold AND x - out_mean >= least
            WHEN 'times' THEN x >= threshold * out_mean AND x - out_mean >= least AND x >= coalesce(out_high, x)
            ELSE x <= threshold * out_mean AND out_mean - x >= least AND out_mean > 0 AND x <= coalesce(out_low, x)
        END) AS hold
    FROM held
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.step_id, c.step, h.dip, h.seen,
    h.cause, h.points, h.measure, h.statistic, h.value, h.out_mean, h.test, h.threshold, h.least,
    h.hold[1] AS holds, h.hold[2] AS holds_early, h.says
FROM judged h JOIN selected_steps($runs, $steps) c USING (run_id, step_id)
ORDER BY c.step_id, c.setup, c.dbms_position, c.repeat, h.dip, h.cause, h.points DESC, h.measure
