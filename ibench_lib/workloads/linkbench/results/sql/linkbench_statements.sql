-- The statements of each selected step of LinkBench: how many the acknowledged operations took, by their outcomes, and
-- how many the server has counted (Com_*), one row per kind of statement. `unexplained` is the difference. It is 0, or
-- what attempts have sent that were repeated after an error; of SELECT it contains the statements of ibench's own
-- collectors. `repeats` is the number of these attempts: each ends with a ROLLBACK. `counted` is NULL where the
-- counters were not read before the step's first statement and after its last one, and where the server does not count
-- statements by kind: then counts_kinds is false.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    SELECT c.*, r.workload::JSON->>'$.statements' = '2013' AS commits_all
    FROM selected_steps($runs, $steps) c JOIN selected_runs($runs) r USING (run_id)
    WHERE c.benchmark = 'linkbench' AND c.kind IN ('warm_up', 'requests', 'control')
), needed(operation, outcome, selects, inserts, updates, deletes, transactions) AS (
    -- Statements of one operation; `transactions` is 1 if it begins one and commits it. '*' is any outcome.
    VALUES
        ('add_link', 'inserted', 0, 2, 0, 0, 1),
        ('add_link', 'shown', 0, 2, 1, 0, 1),
        ('add_link', 'updated', 0, 1, 1, 0, 1),
        ('update_link', 'inserted', 0, 2, 0, 0, 1),
        ('update_link', 'shown', 0, 2, 1, 0, 1),
        ('update_link', 'updated', 0, 1, 1, 0, 1),
        ('delete_link', 'hidden', 1, 1, 1, 0, 1),
        ('delete_link', 'hidden before', 1, 0, 0, 0, 1),
        ('delete_link', 'missing', 1, 0, 0, 0, 1),
        ('count_link', '*', 1, 0, 0, 0, 0),
        ('multiget_link', '*', 1, 0, 0, 0, 0),
        ('get_links_list', '*', 1, 0, 0, 0, 0),
        ('get_node', '*', 1, 0, 0, 0, 0),
        ('add_node', '*', 0, 1, 0, 0, 0),
        ('update_node', '*', 0, 0, 1, 0, 0),
        ('delete_node', '*', 0, 0, 0, 1, 0)
), done AS (
    SELECT run_id, step_id, operation, outcome, sum(ops) AS ops FROM outcomes GROUP BY ALL
), summed AS (
    SELECT
        c.run_id, c.step_id, sum(d.ops * n.selects) AS com_select, sum(d.ops * n.inserts) AS com_insert,
        sum(d.ops * n.updates) AS com_update, sum(d.ops * n.deletes) AS com_delete,
        sum(CASE WHEN c.commits_all THEN 0 ELSE d.ops * n.transactions END) AS com_begin,
        sum(d.ops * CASE WHEN c.commits_all THEN 1 ELSE n.transactions END) AS com_commit
    FROM chosen c
    JOIN done d USING (run_id, step_id)
    JOIN needed n ON n.operation = d.operation AND n.outcome IN ('*', d.outcome)
    GROUP BY ALL
), repeated AS (
    SELECT run_id, step_id, sum(retries) AS repeats FROM ops GROUP BY ALL
), kinds AS (
    SELECT k.run_id, bool_or(k.counter = 'com_commit') AS counts_kinds
    FROM step_counters k SEMI JOIN chosen USING (run_id)
    WHERE k.source = 'server'
    GROUP BY k.run_id
), expected AS (
    UNPIVOT (SELECT s.*, r.repeats AS com_rollback, r.repeats FROM summed s JOIN repeated r USING (run_id, step_id))
    ON com_select, com_insert, com_update, com_delete, com_begin, com_commit, com_rollback
    INTO NAME counter VALUE sent
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status,
    c.client_bound, upper(replace(e.counter, 'com_', '')) AS statement, e.sent::BIGINT AS sent,
    (k.end_value - k.start_value)::BIGINT AS counted, (k.end_value - k.start_value - e.sent)::BIGINT AS unexplained,
    e.repeats::BIGINT AS repeats, coalesce(q.counts_kinds, true) AS counts_kinds
FROM expected e
JOIN chosen c USING (run_id, step_id)
LEFT JOIN step_counters k
    ON k.run_id = e.run_id AND k.step_id = e.step_id AND k.source = 'server' AND k.counter = e.counter
    AND k.start_s <= c.start_s AND k.end_s >= c.end_s
LEFT JOIN kinds q ON q.run_id = e.run_id
ORDER BY
    min_by(c.step_id, c.repeat) OVER (PARTITION BY c.setup, c.step), c.setup, c.dbms_position, c.repeat,
    list_position(['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'BEGIN', 'COMMIT', 'ROLLBACK'], statement)
