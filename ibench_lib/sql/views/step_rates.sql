-- Work and rates of each step, as acknowledged by the server. T is the time from the common start of all clients to the
-- last client's end. `throughput`: the rate of the main family of the step's kind (`family_rates`); in a step that
-- works on existing rows, these rows / T. `row_rate`: the rate of the first family that counts rows, or existing rows
-- / T; NULL if a step has no such family. `rates`: a map of the rates of all families. Rates of published runs are as
-- published.
WITH totals AS (
    SELECT
        run_id, step_id,
        -- A driven program may not print them: then the sum of the others is not that of all.
        CASE WHEN count(*) = count(errors) THEN sum(errors)::BIGINT END AS errors,
        CASE WHEN count(*) = count(retries) THEN sum(retries)::BIGINT END AS retries,
        CASE WHEN count(*) = count(unknown) THEN sum(unknown)::BIGINT END AS unknown,
        CASE WHEN count(*) = count(cpu_user_s + cpu_system_s) THEN sum(cpu_user_s + cpu_system_s) END AS cpu_s
    FROM workers GROUP BY run_id, step_id
), known AS (
    SELECT run_id, step_id, kind, duration_s FROM steps
    UNION ALL
    -- An imported step may have both its own rows and a figure as published.
    SELECT run_id, step_id, kind, NULL FROM planned_steps
    SEMI JOIN published USING (run_id, step_id) ANTI JOIN steps USING (run_id, step_id)
), rates AS (
    SELECT
        n.run_id, n.step_id,
        any_value(r.rate) FILTER (r.family = k.main) AS throughput,
        arg_min(r.rate, f.position)
            FILTER (f.counts = 'rows' OR (k.of_existing_rows AND r.family = k.main)) AS row_rate,
        map_from_entries(list((r.family, r.rate)) FILTER (r.family IS NOT NULL)) AS rates
    FROM known n
    LEFT JOIN kinds k USING (run_id, kind)
    LEFT JOIN family_rates r ON r.run_id = n.run_id AND r.step_id = n.step_id
    LEFT JOIN families f ON f.run_id = r.run_id AND f.family = r.family
    GROUP BY n.run_id, n.step_id
)
SELECT
    n.run_id, n.step_id, r.throughput, r.row_rate, r.rates,
    t.cpu_s * 1e6 / nullif(r.throughput * n.duration_s, 0) AS ccpupq_us,
    t.errors, t.retries, t.unknown
FROM known n JOIN rates r USING (run_id, step_id) LEFT JOIN totals t USING (run_id, step_id)
