-- Dead rows at the end of each step: rows that were deleted or replaced and that no vacuum has removed, in all tables, as
-- the server estimated them in the last sample before the last client's end: what settles the server comes right after
-- it. Only of servers that count them (PostgreSQL).
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH counted AS (
    SELECT run_id, t_s, value FROM counter_seconds WHERE name = 'tables.dead_rows' AND list_contains($runs, run_id)
)
SELECT
    s.setup, s.dbms, s.dbms_position, s.repeat, s.run_id, s.run_status, s.step_id, s.step, s.step_status,
    c.value AS dead_rows
FROM selected_steps($runs, $steps) s
SEMI JOIN counted USING (run_id)
ASOF LEFT JOIN counted c ON s.run_id = c.run_id AND s.end_s >= c.t_s
ORDER BY s.setup, s.dbms_position, s.repeat, s.step_id
