-- The clients' connections in the selected steps. `connections`: all of them. `of_one_role`: of each client those of the
-- role that has the most, so that a client whose rows an inserter and a deleter write counts once, and one whose process
-- serves eight terminals counts eight times. Older runs did not record how many a process has: there it has one, unless
-- the step begins with more statements in flight than processes; then the step has as many as were ever in flight in a
-- second.
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
), crowded AS (
    -- By the first half minute: to look at all seconds takes long, and few steps need it.
    SELECT o.run_id, o.step_id
    FROM ops o JOIN known k USING (run_id, step_id)
    WHERE k.unknown AND o.second < 30
    GROUP BY o.run_id, o.step_id
    HAVING sum(o.in_flight_us) / 1e6 > any_value(k.connections) * (max(o.second) + 1)
), seconds AS (
    SELECT o.run_id, o.step_id, o.second, sum(o.in_flight_us) / 1e6 AS in_flight
    FROM ops o SEMI JOIN crowded USING (run_id, step_id) GROUP BY ALL
), flights AS (
    SELECT run_id, step_id, round(max(in_flight))::BIGINT AS most FROM seconds GROUP BY ALL
)
SELECT
    k.run_id, k.step_id, coalesce(f.most, k.connections) AS connections, coalesce(f.most, k.of_one_role) AS of_one_role
FROM known k LEFT JOIN flights f USING (run_id, step_id)
