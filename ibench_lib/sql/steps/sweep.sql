-- Throughput over an axis that an experiment has: the number of clients, or the value of an option. An axis is there if
-- the chosen runs of a setup and step have at least two places on it. `axis` is clients or the option; `place` is where
-- a run is on it, as the experiment file says it, and `x` the same as a number (a size such as 2k in bytes). `dbms` and
-- `setup` are the names without that place, so that runs which differ in nothing else are of one dbms: a line of a chart.
-- A value that is no number has no row. Figures of a step whose status is not complete cover what was done.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH settings AS (
    -- The fragment of a cell's values has a line for each: option=value.
    SELECT run_id, unnest(regexp_extract_all(text, '(?m)^[a-z][a-z0-9_]*=.*$')) AS line
    FROM config_fragments
    WHERE fragment = 'vary' AND list_contains($runs, run_id)
), places AS (
    SELECT
        run_id, regexp_extract(line, '^[^=]*') AS axis, regexp_extract(line, '=(.*)$', 1) AS place,
        '-' || axis || '-' || place AS part,
        try_cast(regexp_extract(place, '^(-?[0-9.]+)[kKmMgGtT]?$', 1) AS DOUBLE)
        * CASE upper(right(place, 1)) WHEN 'K' THEN 1024 WHEN 'M' THEN 1024**2 WHEN 'G' THEN 1024**3
               WHEN 'T' THEN 1024**4 ELSE 1 END AS x
    FROM settings
), swept AS (
    SELECT s.*, c.config, c.clients AS of_run
    FROM selected_steps($runs, $steps) s JOIN runs c USING (run_id)
), points AS (
    SELECT
        'clients' AS axis, of_run::VARCHAR AS place, of_run::DOUBLE AS x,
        regexp_replace(setup, '-clients-[0-9]+$', '') AS of_setup, dbms AS line, *
    FROM swept
    WHERE try_cast(regexp_extract(setup, '-clients-([0-9]+)$', 1) AS BIGINT) = of_run
    UNION ALL BY NAME
    SELECT
        p.axis, p.place, p.x, s.setup AS of_setup,
        replace(s.dbms, '.' || s.config, '.' || replace(s.config || '-', p.part || '-', '-')[:-2]) AS line, s.*
    FROM swept s JOIN places p USING (run_id)
)
SELECT
    p.axis, p.of_setup AS setup, p.line AS dbms,
    dense_rank() OVER (ORDER BY p.first_position, p.line) AS dbms_position,
    p.place, p.x, p.repeat, p.run_id, p.run_status, p.step_id, p.step, p.step_status, p.rate_label, r.throughput,
    p.duration_s, p.client_bound
FROM (SELECT *, min(dbms_position) OVER (PARTITION BY line) AS first_position FROM points WHERE isfinite(x)) p
LEFT JOIN rates_of_steps($runs, $steps) r USING (run_id, step_id)
QUALIFY min(p.x) OVER (PARTITION BY p.axis, p.of_setup, p.step) < max(p.x) OVER (PARTITION BY p.axis, p.of_setup, p.step)
ORDER BY p.axis <> 'clients', p.axis, p.of_setup, p.step_id, dbms_position, p.x, p.repeat
