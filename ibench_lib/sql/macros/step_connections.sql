-- The clients' connections in the selected steps. `connections`: all of them. `of_one_role`: of each client those of the
-- role that has the most, so that a client whose rows an inserter and a deleter write counts once, and one whose process
-- serves eight terminals counts eight times. Older runs did not record how many a process has: there it has one, unless
-- the step has more statements in flight than processes; then the step has as many as were ever in flight in a second.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH roles AS (
    SELECT
        w.run_id, w.step_id, w.client, w.role, sum(coalesce(w.connections, 1)) AS connections,
        bool_or(w.connections IS NULL) AS unknown
    FROM workers w SEMI JOIN steps_of($ids, $names) USING (run_id, step_id) GROUP BY ALL
), of_clients AS (
    SELECT
        run_id, step_id, sum(connections) AS connections, max(connections) AS of_one_role, bool_or(unknown) AS unknown
    FROM roles GROUP BY run_id, step_id, client
), known AS (
    SELECT
        run_id, step_id, sum(connections)::BIGINT AS connections, sum(of_one_role)::BIGINT AS of_one_role,
        bool_or(unknown) AS unknown
    FROM of_clients GROUP BY ALL
), seconds AS (
    SELECT o.run_id, o.step_id, o.second, sum(o.in_flight_us) / 1e6 AS in_flight
    FROM ops o SEMI JOIN (FROM known WHERE unknown) USING (run_id, step_id) GROUP BY ALL
), flights AS (
    SELECT run_id, step_id, avg(in_flight) AS mean, round(max(in_flight))::BIGINT AS most FROM seconds GROUP BY ALL
)
SELECT
    k.run_id, k.step_id, CASE WHEN f.mean > k.connections THEN f.most ELSE k.connections END AS connections,
    CASE WHEN f.mean > k.connections THEN f.most ELSE k.of_one_role END AS of_one_role
FROM known k LEFT JOIN flights f USING (run_id, step_id)
