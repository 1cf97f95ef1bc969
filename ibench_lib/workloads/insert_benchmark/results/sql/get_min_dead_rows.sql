-- Seconds of the first SELECT min(transactionid) of each step next to the dead rows that it may have met: those of all
-- tables, as the server estimated them within a second after it was sent. Worst client. Only of servers that count dead
-- rows (PostgreSQL). `plan_delete_s` and `plan_delete_blocks`: time and blocks of planning the first DELETE, after that
-- query; NULL where deletes are not planned one by one. `existing_rows`: in the tables before the step. `vacuums`: of all
-- tables since the server's start.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH counted AS (
    SELECT run_id, t_s, name, value FROM counter_seconds
    WHERE name IN ('tables.dead_rows', 'tables.vacuums', 'tables.autovacuums') AND list_contains($runs, run_id)
), dead AS (
    FROM counted WHERE name = 'tables.dead_rows'
), by_hand AS (
    FROM counted WHERE name = 'tables.vacuums'
), automatic AS (
    FROM counted WHERE name = 'tables.autovacuums'
), timed AS (
    SELECT
        run_id, step_id,
        min(start_s) FILTER (probe = 'get_min') + 1 AS known_s,
        max(seconds) FILTER (probe = 'get_min') AS get_min_s,
        max(seconds) FILTER (probe = 'plan_delete') AS plan_delete_s,
        max(result) FILTER (probe = 'plan_delete') AS plan_delete_blocks
    FROM probes WHERE list_contains($runs, run_id) GROUP BY ALL
)
SELECT
    s.setup, s.dbms, s.dbms_position, s.repeat, s.run_id, s.run_status, s.step_id, s.step, s.step_status,
    s.existing_rows, d.value AS dead_rows, t.get_min_s, t.plan_delete_s, t.plan_delete_blocks,
    (coalesce(h.value, 0) + coalesce(a.value, 0))::BIGINT AS vacuums
FROM selected_steps($runs, $steps) s
SEMI JOIN dead USING (run_id)
JOIN timed t USING (run_id, step_id)
ASOF LEFT JOIN dead d ON s.run_id = d.run_id AND t.known_s >= d.t_s
ASOF LEFT JOIN by_hand h ON s.run_id = h.run_id AND t.known_s >= h.t_s
ASOF LEFT JOIN automatic a ON s.run_id = a.run_id AND t.known_s >= a.t_s
ORDER BY s.setup, s.dbms_position, s.repeat, s.step_id
