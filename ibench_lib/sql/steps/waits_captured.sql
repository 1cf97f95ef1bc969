-- Whether the waits inside the server were captured in each selected step, one row per step and source: `events` is how
-- many have a figure in the step, and `reason` says why there is none. `switched_on` is the sentence of a run whose
-- instruments were switched on for the capture, which slows the server down.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    FROM selected_steps($runs, $steps) WHERE start_s IS NOT NULL
), sources(source) AS (
    VALUES ('performance_schema'), ('innodb_mutex')
), seen AS (
    SELECT run_id, source, count(*) AS samples FROM waits GROUP BY ALL
), inside AS (
    SELECT c.run_id, c.step_id, w.source, count(DISTINCT w.event) AS events
    FROM chosen c JOIN waits w ON w.run_id = c.run_id AND w.t_s - w.seconds >= c.start_s AND w.t_s <= c.end_s
    GROUP BY ALL
), collected AS (
    SELECT run_id, max(x.source = 'any') AS any FROM (SELECT run_id, 'any' AS source FROM seen) x GROUP BY ALL
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status,
    c.client_bound, x.source, coalesce(i.events, 0)::BIGINT AS events, coalesce(i.events, 0) > 0 AS captured,
    CASE WHEN i.events > 0 THEN NULL
         ELSE coalesce(
             CASE WHEN s.samples > 0 THEN 'no interval of 10 s lies in the step: a step of 20 s or more has one' END,
             json_extract_string(r.null_reasons, '$."waits.' || x.source || '"'),
             json_extract_string(r.null_reasons, '$."waits"'),
             CASE WHEN a.run_id IS NULL THEN 'the experiment did not ask for waits (capture: {waits: true})' END,
             'nothing has waited, or the server lists nothing'
         ) END AS reason,
    list_filter(r.warnings, lambda w: w LIKE '%switched on for `waits`%')[1] AS switched_on
FROM chosen c
CROSS JOIN sources x
JOIN runs r ON r.run_id = c.run_id
LEFT JOIN seen s ON s.run_id = c.run_id AND s.source = x.source
LEFT JOIN collected a ON a.run_id = c.run_id
LEFT JOIN inside i ON i.run_id = c.run_id AND i.step_id = c.step_id AND i.source = x.source
ORDER BY
    c.setup, min_by(c.step_id, c.repeat) OVER (PARTITION BY c.setup, c.step), c.dbms_position, c.repeat, x.source DESC
