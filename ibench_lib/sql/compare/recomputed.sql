-- Published figures of the selected runs next to what the imported or measured runs of the same setup, build,
-- configuration and step give, a row for each figure and each of these runs. `recomputed`: the figure by the definition
-- of ibench_lib/metrics.py; NULL without such a run, where its step did not end, and where its files do not tell. The
-- other columns are what the mistakes of scripts can be repeated with (ibench_lib/analysis/recomputed.py). amount: rows
-- or operations behind a rate; tool_rate: as LinkBench prints it; lines: seconds that the files have, lines_amount: what
-- these have of it; windows: the means of the last seconds; first_rate: the rate of the first client alone;
-- host_samples: samples of the host, of 5 s each, NULL where they may be of other lengths; scan_rows and latency_avg_ms:
-- rows of a table, and the mean response that sysbench prints. `origin` is that of the other run.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    SELECT s.*, r.build, r.config, r.origin
    FROM selected_steps($runs, $steps) s JOIN (SELECT run_id, build, config, origin FROM runs) r USING (run_id)
), given AS (
    SELECT c.setup, c.build, c.config, c.step, c.step_id, c.dbms_position, p.metric, p.value AS published, c.benchmark
    FROM chosen c JOIN published p USING (run_id, step_id) WHERE c.origin = 'published'
), pairs AS (
    SELECT
        g.setup, g.build, g.config, g.step, g.step_id AS published_step_id, g.dbms_position, g.metric, g.published,
        c.run_id, c.step_id, c.repeat, c.step_status, c.duration_s, c.clients, c.origin, c.main, c.benchmark
    FROM given g
    LEFT JOIN (FROM chosen WHERE origin <> 'published') c
        ON (c.setup, c.build, c.config, c.step, c.benchmark) = (g.setup, g.build, g.config, g.step, g.benchmark)
), rated AS (
    -- A figure may be the rate of one family in steps of one kind, of another one in others.
    SELECT
        p.run_id, p.step_id, p.metric, arg_min(m.family, (m.family IS DISTINCT FROM p.main, m.position)) AS family
    FROM pairs p JOIN rate_metrics m USING (metric) JOIN families f ON f.run_id = p.run_id AND f.family = m.family
    GROUP BY ALL
    UNION
    SELECT run_id, step_id, metric, main FROM pairs WHERE metric = 'throughput' AND run_id IS NOT NULL
), planned AS (
    SELECT
        run_id,
        from_json(workload::JSON->'$.resolved_steps', '[{"printed": "JSON", "table_size": "BIGINT"}]') AS steps
    FROM selected_runs($runs) SEMI JOIN pairs USING (run_id)
), printed AS (
    SELECT
        run_id, generate_subscripts(steps, 1) - 1 AS step_id, unnest(steps).printed AS printed,
        unnest(steps).table_size AS table_size
    FROM planned
), done AS (
    -- Of a program whose seconds are not known, the totals that it has printed are known by the name of the rate.
    SELECT
        r.run_id, r.step_id, r.metric, r.family,
        coalesce(a.amount, TRY_CAST(d.printed ->> split_part(f.label, '/', 1) AS BIGINT)) AS amount
    FROM rated r
    JOIN families f USING (run_id, family)
    LEFT JOIN family_rates a ON a.run_id = r.run_id AND a.step_id = r.step_id AND a.family = r.family
    LEFT JOIN printed d ON d.run_id = r.run_id AND d.step_id = r.step_id
), counted AS (
    SELECT
        r.run_id, r.step_id, r.metric, e.client, e.second,
        sum(CASE f.counts WHEN 'rows' THEN e."rows" ELSE e.ops END) AS amount
    FROM rated r
    JOIN operations o USING (run_id, family)
    JOIN families f USING (run_id, family)
    JOIN ops e ON e.run_id = r.run_id AND e.step_id = r.step_id AND e.operation = o.operation
    GROUP BY ALL
), seconds AS (
    SELECT run_id, step_id, metric, second, sum(amount) AS amount FROM counted GROUP BY ALL
), lined AS (
    SELECT run_id, step_id, metric, count(*) AS lines, sum(amount) AS lines_amount FROM seconds GROUP BY ALL
), windowed AS (
    -- The last line of a log may be of less than a second.
    SELECT s.run_id, s.step_id, s.metric, w.last_s, avg(s.amount) AS rate
    FROM seconds s
    JOIN steps t USING (run_id, step_id)
    JOIN (SELECT unnest([60, 100, 120, 300, 600, 900, 1000, 1200, 1800, 3600]) AS last_s) w
        ON w.last_s < 0.95 * t.duration_s AND s.second < floor(t.duration_s) AND s.second >= floor(t.duration_s) - w.last_s
    GROUP BY s.run_id, s.step_id, s.metric, w.last_s HAVING count(*) = w.last_s
), windows AS (
    SELECT run_id, step_id, metric, list({last_s: last_s, rate: rate} ORDER BY last_s) AS windows
    FROM windowed GROUP BY ALL
), first_ones AS (
    SELECT w.run_id, w.step_id, v.family, sum(CASE f.counts WHEN 'rows' THEN w."rows" ELSE w.ops END)
           / nullif(max(w.end_s) - min(w.start_s), 0) AS first_rate
    FROM workers w
    JOIN worker_families v USING (run_id, step_id, worker)
    JOIN families f ON f.run_id = v.run_id AND f.family = v.family
    SEMI JOIN pairs p ON p.run_id = w.run_id AND p.step_id = w.step_id
    WHERE w.client = 1 AND v.alone GROUP BY ALL
), sampled AS (
    -- Of the Insert Benchmark's scripts only it is known that they take a sample every 5 s.
    SELECT run_id, step_id, round(max(end_s - start_s) / 5)::BIGINT AS host_samples
    FROM step_counters JOIN pairs USING (run_id, step_id)
    WHERE source = 'host' AND benchmark = 'insert_benchmark' GROUP BY run_id, step_id
), defined AS (
    SELECT run_id, step_id, metric, value FROM questions.metric_values($runs, $steps) WHERE operation IS NULL
)
SELECT
    p.setup, p.build || '.' || p.config AS dbms, p.dbms_position, coalesce(p.repeat, 1) AS repeat, p.run_id,
    p.published_step_id AS step_id, p.step, coalesce(p.step_status, 'not run') AS step_status, p.origin, p.metric, p.published,
    CASE WHEN p.step_status = 'complete' THEN coalesce(v.value, d.amount / nullif(p.duration_s, 0)) END AS recomputed,
    d.amount::DOUBLE AS amount, p.duration_s,
    p.clients, l.lines, l.lines_amount::DOUBLE AS lines_amount, w.windows, c.first_rate, h.host_samples,
    CASE WHEN p.metric = 'throughput'
         THEN TRY_CAST(coalesce(i.printed ->> 'requests_per_s', i.printed ->> 'links_per_s') AS DOUBLE) END AS tool_rate,
    CASE WHEN p.step LIKE '%scan%' THEN i.table_size END AS scan_rows,
    TRY_CAST(i.printed ->> 'latency_avg_ms' AS DOUBLE) AS latency_avg_ms
FROM pairs p
LEFT JOIN defined v ON v.run_id = p.run_id AND v.step_id = p.step_id AND v.metric = p.metric
LEFT JOIN done d ON d.run_id = p.run_id AND d.step_id = p.step_id AND d.metric = p.metric
LEFT JOIN lined l ON l.run_id = p.run_id AND l.step_id = p.step_id AND l.metric = p.metric
LEFT JOIN windows w ON w.run_id = p.run_id AND w.step_id = p.step_id AND w.metric = p.metric
LEFT JOIN first_ones c ON c.run_id = p.run_id AND c.step_id = p.step_id AND c.family = d.family
LEFT JOIN sampled h ON h.run_id = p.run_id AND h.step_id = p.step_id
LEFT JOIN printed i ON i.run_id = p.run_id AND i.step_id = p.step_id
ORDER BY p.setup, p.dbms_position, p.build, p.config, p.published_step_id, p.metric, repeat
