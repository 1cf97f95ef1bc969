-- Operations a second of each selected step of LinkBench, with its number of requesters, the repeats after errors, and
-- how evenly client processes were served: `least` and `most` are the operations of a requester, on average over the
-- requesters of the process in which that average is lowest and highest. Rates are per second of T, from the common
-- start to the last requester's end.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH planned AS (
    SELECT
        run_id,
        unnest(
            from_json(workload::JSON->'$.resolved_steps', '[{"name": "VARCHAR", "requesters": "BIGINT"}]')
        ) AS planned_step
    FROM selected_runs($runs) WHERE benchmark = 'linkbench'
), sized AS (
    SELECT run_id, planned_step.name AS step, planned_step.requesters AS requesters FROM planned
), done AS (
    SELECT run_id, step_id, sum(ops) AS operations, sum(retries) AS repeats FROM ops GROUP BY ALL
), processes AS (
    SELECT run_id, step_id, client, ops, count(*) OVER (PARTITION BY run_id, step_id) AS processes FROM workers
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status,
    c.client_bound, c.duration_s, z.requesters, d.operations / nullif(c.duration_s, 0) AS ops_per_s,
    1000.0 * d.repeats / nullif(d.operations, 0) AS repeats_per_1000,
    min(p.ops / ((z.requesters + p.processes - p.client) // p.processes)) AS least,
    max(p.ops / ((z.requesters + p.processes - p.client) // p.processes)) AS most
FROM selected_steps($runs, $steps) c
JOIN sized z USING (run_id, step)
JOIN done d USING (run_id, step_id)
LEFT JOIN processes p USING (run_id, step_id)
WHERE c.benchmark = 'linkbench' AND c.kind IN ('warm_up', 'requests')
GROUP BY ALL
ORDER BY c.step_id, c.setup, c.dbms_position, c.repeat
