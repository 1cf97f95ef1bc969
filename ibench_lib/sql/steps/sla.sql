-- Achieved rates of rate-limited steps and their target, all clients together. `families`, `labels`, `counts`, `rates`
-- and `missed` are lists of the same length, with one element for each family of operations that has the target: the
-- family, the name of its rate, the unit (rows or ops), the rate, and whether it is below `sla_share` of the target. A
-- complete step fails if any rate is. client_bound: why the clients limited the step; NULL if they did not.
-- `background`: these families are not the step's main family. Steps of such a kind always have a target, and are also
-- listed if it is not known.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH targets AS (
    SELECT run_id, step_id, clients * target_rows_per_s AS target_per_s, unnest(paced) AS family
    FROM selected_steps($runs, $steps)
), listed AS (
    SELECT
        t.run_id, t.step_id, any_value(t.target_per_s) AS target_per_s, list(t.family ORDER BY f.position) AS families,
        list(f.label ORDER BY f.position) AS labels, list(f.counts ORDER BY f.position) AS counts
    FROM targets t LEFT JOIN families f USING (run_id, family) GROUP BY ALL
)
SELECT
    s.setup, s.dbms, s.dbms_position, s.repeat, s.run_id, s.run_status, s.step_id, s.step, s.step_status,
    s.client_bound, l.target_per_s, l.families, l.labels, l.counts,
    list_transform(l.families, lambda family: r.rates[family]) AS rates,
    missed_rates(l.families, r.rates, l.target_per_s) AS missed, list_bool_or(missed) AS sla_failed,
    NOT list_contains(s.paced, s.main) AS background
FROM selected_steps($runs, $steps) s
JOIN listed l USING (run_id, step_id)
LEFT JOIN rates_of_steps($runs, $steps) r USING (run_id, step_id)
WHERE l.target_per_s IS NOT NULL OR (NOT list_contains(s.paced, s.main) AND s.step_status <> 'complete')
ORDER BY s.setup, s.dbms_position, s.repeat, s.step_id
