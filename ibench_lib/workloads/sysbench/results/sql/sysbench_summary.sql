-- Transactions a second of each selected test of sysbench, with its number of threads. A transaction is one event of the
-- test: for oltp_point_select a single SELECT. tps: transactions/s, per second of T; qps: all queries/s, which are
-- reads, writes and others (BEGIN and COMMIT). test: its name in the experiment; test_group: what it does. scale_up: tps
-- over that of the fewest threads of the same test and run; efficiency: scale_up over how many times more threads it
-- has. Both are NULL for the fewest threads. p50_s, p95_s and p99_s: of transactions, from the moment at which one was
-- due if the test has a rate (timing = intended), else from the one at which it was sent; NULL where sysbench does not
-- let anyone read its histogram, and where fewer were answered than a percentile needs (p99: 100). retries_per_1000:
-- transactions that were sent again after an error that sysbench ignores, such as a deadlock; reconnects: how often. An
-- imported log whose lines are no seconds has its totals of transactions alone: qps is NULL.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH planned AS (
    SELECT
        run_id,
        from_json(
            workload::JSON->'$.resolved_steps',
            '[{"threads": "BIGINT", "kind": "VARCHAR", "test": {"name": "VARCHAR", "group": "VARCHAR"}}]'
        ) AS steps
    FROM selected_runs($runs) WHERE benchmark = 'sysbench'
), sized AS (
    SELECT
        run_id, generate_subscripts(steps, 1) - 1 AS step_id, unnest(steps).threads AS threads,
        unnest(steps).test.name AS test, unnest(steps).test."group" AS test_group
    FROM planned
), chosen AS (
    SELECT * FROM selected_steps($runs, $steps) WHERE benchmark = 'sysbench' AND kind = 'test'
), done AS (
    SELECT
        run_id, step_id, sum(ops) FILTER (operation = 'transaction') AS transactions,
        sum(ops) FILTER (operation <> 'transaction') AS queries,
        sum(retries) FILTER (operation = 'transaction') AS retries,
        sum(errors) FILTER (operation = 'transaction') AS reconnects
    FROM ops SEMI JOIN chosen USING (run_id, step_id) GROUP BY ALL
), said_whole AS (
    SELECT run_id, step_id, sum(ops) AS transactions, NULL AS queries, sum(retries) AS retries, sum(errors) AS reconnects
    FROM workers SEMI JOIN chosen USING (run_id, step_id) ANTI JOIN done USING (run_id, step_id) GROUP BY ALL
), recorded AS (
    SELECT {run_id: run_id, step_id: step_id, timing: timing} AS series, bins, counts
    FROM response_histograms SEMI JOIN chosen USING (run_id, step_id)
    WHERE operation = 'transaction' AND bins IS NOT NULL
), cumulated AS (
    SELECT unnest(series), seconds_of_us(mid_us) AS mid_s, up_to, total FROM cumulated_bins(recorded)
), times AS (
    SELECT
        run_id, step_id, timing, min(mid_s) FILTER (up_to >= 0.5 * total) AS p50_s,
        min(mid_s) FILTER (up_to >= 0.95 * total AND total >= 20) AS p95_s,
        min(mid_s) FILTER (up_to >= 0.99 * total AND total >= 100) AS p99_s
    FROM cumulated GROUP BY ALL
), rated AS (
    SELECT
        c.*, z.test, z.test_group, z.threads, d.transactions / nullif(c.duration_s, 0) AS tps,
        d.queries / nullif(c.duration_s, 0) AS qps, 1000.0 * d.retries / nullif(d.transactions, 0) AS retries_per_1000,
        d.reconnects
    FROM chosen c
    JOIN sized z USING (run_id, step_id)
    JOIN (FROM done UNION ALL FROM said_whole) d USING (run_id, step_id)
), fewest AS (
    SELECT run_id, test, min(threads) AS fewest, min_by(tps, threads) AS tps_of_fewest
    FROM rated WHERE step_status = 'complete' GROUP BY ALL
)
SELECT
    r.setup, r.dbms, r.dbms_position, r.repeat, r.run_id, r.run_status, r.step_id, r.step, r.kind, r.step_status,
    r.client_bound, r.duration_s, r.compared, r.test, r.test_group, r.threads, r.tps, r.qps,
    CASE WHEN r.threads > f.fewest THEN r.tps / nullif(f.tps_of_fewest, 0) END AS scale_up,
    CASE WHEN r.threads > f.fewest THEN r.tps / nullif(f.tps_of_fewest, 0) / (r.threads / f.fewest) END AS efficiency,
    t.timing, t.p50_s, t.p95_s, t.p99_s, r.retries_per_1000, r.reconnects
FROM rated r
LEFT JOIN fewest f ON f.run_id = r.run_id AND f.test = r.test
LEFT JOIN times t ON t.run_id = r.run_id AND t.step_id = r.step_id
ORDER BY
    min_by(r.step_id, r.repeat) OVER (PARTITION BY r.setup, r.step), r.setup, r.dbms_position, r.repeat
