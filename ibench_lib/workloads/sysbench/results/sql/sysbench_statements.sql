-- The statements of each selected test of sysbench: how many it has counted, and how many the server has (Com_*), one row
-- per kind. read: SELECT; write: INSERT, UPDATE and DELETE; other: BEGIN and COMMIT. `unexplained` is the
-- difference. Of reads it contains the statements of ibench's own collectors. `retries` is the number of transactions
-- that were sent again: what these had done is counted by the server alone. `counted` is NULL where the counters were
-- not read before the step's first statement and after its last one, and where the server does not count statements by
-- kind: then counts_kinds is false. test_group: what the test does; a Lua file of the user's ("your own") may send
-- statements that sysbench counts as other, and the server neither as BEGIN nor COMMIT.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    SELECT s.*, r.workload::JSON->'$.resolved_steps'->(s.step_id::INTEGER)->'test'->>'group' AS test_group
    FROM selected_steps($runs, $steps) s JOIN selected_runs($runs) r USING (run_id)
    WHERE s.benchmark = 'sysbench' AND s.kind = 'test'
), sent AS (
    SELECT run_id, step_id, operation AS statement, sum(ops)::BIGINT AS sent
    FROM ops SEMI JOIN chosen USING (run_id, step_id) WHERE operation IN ('read', 'write', 'other') GROUP BY ALL
), again AS (
    SELECT run_id, step_id, sum(retries + errors)::BIGINT AS retries
    FROM ops SEMI JOIN chosen USING (run_id, step_id) WHERE operation = 'transaction' GROUP BY ALL
), counters(statement, counter) AS (
    VALUES
        ('read', 'com_select'), ('write', 'com_insert'), ('write', 'com_update'), ('write', 'com_delete'),
        ('other', 'com_begin'), ('other', 'com_commit')
), kinds AS (
    SELECT k.run_id, bool_or(n.counter IS NOT NULL) AS counts_kinds
    FROM step_counters k SEMI JOIN chosen USING (run_id) LEFT JOIN counters n USING (counter)
    WHERE k.source = 'server'
    GROUP BY k.run_id
), counted AS (
    SELECT c.run_id, c.step_id, n.statement, sum(k.end_value - k.start_value)::BIGINT AS counted
    FROM chosen c
    JOIN step_counters k
        ON k.run_id = c.run_id AND k.step_id = c.step_id AND k.source = 'server'
        AND k.start_s <= c.start_s AND k.end_s >= c.end_s
    JOIN counters n ON n.counter = k.counter
    GROUP BY ALL
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.step_status,
    c.client_bound, s.statement, s.sent, k.counted, k.counted - s.sent AS unexplained, a.retries,
    c.test_group, coalesce(q.counts_kinds, true) AS counts_kinds
FROM sent s
JOIN chosen c USING (run_id, step_id)
JOIN again a USING (run_id, step_id)
LEFT JOIN counted k USING (run_id, step_id, statement)
LEFT JOIN kinds q USING (run_id)
ORDER BY
    min_by(c.step_id, c.repeat) OVER (PARTITION BY c.setup, c.step), c.setup, c.dbms_position, c.repeat,
    list_position(['read', 'write', 'other'], s.statement)
