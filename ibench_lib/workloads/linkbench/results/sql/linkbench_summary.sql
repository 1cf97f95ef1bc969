-- Operations a second of each selected step of LinkBench, with its number of requesters, the repeats after errors,
-- response times over all operations, and how evenly requesters were served: `least`, `median_ops` and `most` are the
-- operations of a requester. In runs without `outcomes`, `least` and `most` are averages over the requesters of the
-- process in which that average is lowest and highest, and `median_ops` is NULL. Rates are per second of T, from the
-- common start to the last requester's end. An imported step has the totals of its requesters, of which its seconds may
-- lack some. `place` is the position of a measured step among those of its run, from 1.
-- `compared`: whether the rate is a result (that of the warm-up and of the control is none).
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH planned AS (
    SELECT run_id, from_json(workload::JSON->'$.resolved_steps', '[{"requesters": "BIGINT"}]') AS steps
    FROM selected_runs($runs) WHERE benchmark = 'linkbench'
), sized AS (
    SELECT run_id, generate_subscripts(steps, 1) - 1 AS step_id, unnest(steps).requesters AS requesters FROM planned
), done AS (
    SELECT
        run_id, step_id, sum(ops) AS operations, sum(retries) AS repeats,
        sum(service_sum_us) / nullif(sum(ops), 0) / 1e6 AS mean_s
    FROM ops GROUP BY ALL
), printed AS (
    SELECT run_id, step_id, sum(ops) AS operations, sum(retries) AS repeats
    FROM workers WHERE ops_from IS NOT NULL GROUP BY ALL
), processes AS (
    SELECT run_id, step_id, client, ops, count(*) OVER (PARTITION BY run_id, step_id) AS processes FROM workers
), averaged AS (
    SELECT
        p.run_id, p.step_id, min(p.ops / ((z.requesters + p.processes - p.client) // p.processes)) AS least,
        max(p.ops / ((z.requesters + p.processes - p.client) // p.processes)) AS most
    FROM processes p JOIN sized z USING (run_id, step_id)
    GROUP BY ALL
), each AS (
    SELECT run_id, step_id, worker, connection, sum(ops) AS ops FROM outcomes GROUP BY ALL
), served AS (
    SELECT run_id, step_id, count(*) AS seen, min(ops) AS least, median(ops) AS median_ops, max(ops) AS most
    FROM each GROUP BY ALL
), recorded AS (
    SELECT {run_id: run_id, step_id: step_id} AS series, bins, counts
    FROM response_histograms SEMI JOIN selected_steps($runs, $steps) USING (run_id, step_id) WHERE timing = 'service'
), cumulated AS (
    SELECT unnest(series), seconds_of_us(mid_us) AS mid_s, up_to, total FROM cumulated_bins(recorded)
), times AS (
    SELECT
        run_id, step_id, min(mid_s) FILTER (up_to >= 0.5 * total) AS p50_s,
        min(mid_s) FILTER (up_to >= 0.99 * total AND total >= 100) AS p99_s
    FROM cumulated GROUP BY ALL
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.kind, c.step_status,
    c.client_bound, c.duration_s, c.compared, z.requesters,
    CASE
        WHEN c.kind <> 'warm_up' THEN rank() OVER (PARTITION BY c.run_id, c.kind <> 'warm_up' ORDER BY c.step_id)
    END AS place,
    coalesce(n.operations, d.operations) / nullif(c.duration_s, 0) AS ops_per_s,
    1000.0 * CASE WHEN n.run_id IS NULL THEN d.repeats ELSE n.repeats END
        / nullif(coalesce(n.operations, d.operations), 0) AS repeats_per_1000, d.mean_s, t.p50_s, t.p99_s,
    CASE WHEN v.seen < z.requesters THEN 0 ELSE coalesce(v.least, p.least) END::DOUBLE AS least,
    v.median_ops, coalesce(v.most, p.most)::DOUBLE AS most, v.seen IS NOT NULL AS by_requester
FROM selected_steps($runs, $steps) c
JOIN sized z USING (run_id, step_id)
LEFT JOIN done d USING (run_id, step_id)
LEFT JOIN printed n USING (run_id, step_id)
LEFT JOIN averaged p USING (run_id, step_id)
LEFT JOIN served v USING (run_id, step_id)
LEFT JOIN times t USING (run_id, step_id)
WHERE c.benchmark = 'linkbench' AND c.kind IN ('warm_up', 'requests', 'control')
    AND (d.run_id IS NOT NULL OR n.run_id IS NOT NULL)
ORDER BY
    c.kind <> 'warm_up', c.kind = 'control', z.requesters, c.step, c.setup, c.dbms_position, c.repeat
