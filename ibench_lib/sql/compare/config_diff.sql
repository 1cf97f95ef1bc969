-- Options of each configuration's my.cnf that differ from its base in the same setup. NULL: not set there. The first
-- base has no rows of its own. `origin` and `base_origin`: the fragment and line that set the option. `server_value` is the
-- value that the server reported.
--
-- $runs: ids of the runs
-- $bases: what a dbms is compared with, the base of its build or else the first one; a base with the first one
-- $chain: if each dbms is compared with the one before it instead, all of them, from first to last; else empty
WITH chosen AS (
    FROM selected_runs($runs)
    QUALIFY row_number() OVER (PARTITION BY setup, dbms ORDER BY repeat) = 1
), of_builds AS (
    SELECT build, arg_min(dbms, list_position($bases, dbms)) AS base
    FROM chosen WHERE list_contains($bases, dbms) GROUP BY ALL
), compared AS (
    SELECT c.*,
        CASE
            WHEN list_contains($chain, c.dbms) THEN $chain[greatest(1, list_position($chain, c.dbms) - 1)]
            WHEN list_contains($bases, c.dbms) THEN $bases[1]
            ELSE coalesce(o.base, $bases[1])
        END AS base
    FROM chosen c LEFT JOIN of_builds o USING (build)
), pairs AS (
    SELECT r.run_id, r.setup, r.dbms, r.dbms_position, r.base, b.run_id AS base_run
    FROM compared r JOIN chosen b ON b.setup = r.setup AND b.dbms = r.base
    WHERE r.dbms <> r.base
), options AS (
    SELECT p.run_id, o.name FROM pairs p JOIN config_options o ON o.run_id IN (p.run_id, p.base_run) GROUP BY ALL
)
SELECT
    p.setup, p.base, p.dbms, p.dbms_position, options.name AS option,
    CASE WHEN b.name IS NOT NULL THEN coalesce(b.value, 'set') END AS base_value,
    CASE WHEN o.name IS NOT NULL THEN coalesce(o.value, 'set') END AS value,
    b.origin AS base_origin, o.origin, v.value AS server_value
FROM pairs p
JOIN options ON options.run_id = p.run_id
LEFT JOIN config_options b ON b.run_id = p.base_run AND b.name = options.name
LEFT JOIN config_options o ON o.run_id = p.run_id AND o.name = options.name
LEFT JOIN server_variables v ON v.run_id = p.run_id AND v.name = options.name
WHERE b.value IS DISTINCT FROM o.value OR (b.name IS NULL) <> (o.name IS NULL)
ORDER BY p.setup, list_position($chain, p.base), list_position($bases, p.base), options.name, p.dbms_position
