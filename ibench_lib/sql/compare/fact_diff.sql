-- Facts that differ between the runs of the base and of another dbms in the same setup, except for results. `source`:
-- variable (SHOW GLOBAL VARIABLES after the server's start; of an imported run as its files have them), host (facts of
-- the clients' host, on which a sandboxed server runs as well) or workload (the workload and the scale). Each side is a
-- list, because its runs may differ from each other; NULL in a list: not set in that run. A path inside a run's own
-- folders begins with <run>/ or the like, so that it can equal that of another run. `noise` is the reason why a fact
-- says nothing (`noise_facts`), else NULL. A source that no run of a side captured has no rows.
--
-- $runs: ids of the runs
-- $base: dbms to compare with
WITH chosen AS (
    FROM selected_runs($runs)
), facts AS (
    SELECT run_id, 'variable' AS source, name AS fact, value FROM server_variables SEMI JOIN chosen USING (run_id)
    UNION ALL
    SELECT r.run_id, 'host', substr(f.fullkey, 3), f.atom ->> '$'
    FROM chosen r, json_tree(r.host) f WHERE f.type NOT IN ('OBJECT', 'ARRAY')
    UNION ALL
    SELECT r.run_id, 'workload', substr(f.fullkey, 3), f.atom ->> '$'
    FROM chosen r, json_tree(r.workload) f WHERE f.type NOT IN ('OBJECT', 'ARRAY')
    UNION ALL
    SELECT run_id, 'workload', 'scale', scale::VARCHAR FROM chosen
), captured AS (
    SELECT DISTINCT c.setup, c.dbms, c.dbms_position, f.source, c.run_id FROM chosen c JOIN facts f USING (run_id)
), pairs AS (
    SELECT DISTINCT setup, source, d.dbms, d.dbms_position
    FROM captured b JOIN captured d USING (setup, source) WHERE b.dbms = $base AND d.dbms <> $base
), sides AS (
    SELECT p.*, c.run_id, c.dbms = $base AS is_base
    FROM pairs p JOIN captured c ON c.setup = p.setup AND c.source = p.source AND c.dbms IN (p.dbms, $base)
), names AS (
    SELECT DISTINCT s.setup, s.source, s.dbms, f.fact FROM sides s JOIN facts f USING (run_id, source)
), valued AS (
    SELECT
        s.setup, s.source, s.dbms, s.dbms_position, fact, s.is_base,
        CASE WHEN contains(f.value, s.run_id)
             THEN '<run>' || substr(f.value, strpos(f.value, s.run_id) + length(s.run_id)) ELSE f.value END AS value
    FROM sides s JOIN names USING (setup, source, dbms) LEFT JOIN facts f USING (run_id, source, fact)
), listed AS (
    SELECT
        setup, source, dbms, dbms_position, fact,
        list_sort(list_distinct(list(value) FILTER (is_base)))
            || CASE WHEN bool_or(is_base AND value IS NULL) THEN [NULL] ELSE [] END AS base_values,
        list_sort(list_distinct(list(value) FILTER (NOT is_base)))
            || CASE WHEN bool_or(NOT is_base AND value IS NULL) THEN [NULL] ELSE [] END AS dbms_values
    FROM valued GROUP BY ALL
)
SELECT
    listed.*,
    (SELECT min(why) FROM noise_facts n WHERE n.source = listed.source AND listed.fact GLOB n.pattern) AS noise
FROM listed
WHERE base_values IS DISTINCT FROM dbms_values
ORDER BY setup, source, dbms_position, fact
