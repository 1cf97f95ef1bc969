-- Every full second of the selected steps with the rate of the step's main operation (`whole_seconds`), all clients
-- together. A step without such an operation has no seconds here. `all_at_work`: whether no client had ended yet; after
-- that, fewer clients do less. `median_rate`: median over the seconds of the step in which all were at work. `stall`
-- numbers the stalls of a step from 1: consecutive ones of these seconds with less than half of the median; NULL in
-- other seconds.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH sent AS (
    -- Numbers in place of names: a step has a row for each second and client, and they are grouped and sorted.
    SELECT
        c.run_id, c.step_id, x.operation, c.full_seconds, c.at_work_s, c.counts = 'rows' AS of_rows,
        dense_rank() OVER (ORDER BY c.run_id, c.step_id) AS line
    FROM whole_seconds($ids, $names) c
    JOIN operations x ON x.run_id = c.run_id AND x.family = c.main_operation
), rated AS (
    SELECT
        s.line, o.second, coalesce(o.second + 1 <= any_value(s.at_work_s), true) AS all_at_work,
        sum(CASE WHEN s.of_rows THEN o."rows" ELSE o.ops END)::DOUBLE AS rate
    FROM ops o JOIN sent s USING (run_id, step_id, operation)
    WHERE o.second < s.full_seconds
    GROUP BY s.line, o.second
), judged AS (
    SELECT
        *, median(CASE WHEN all_at_work THEN rate END) OVER (PARTITION BY line) AS median_rate,
        all_at_work AND rate < median_rate / 2 AS stalled
    FROM rated
), placed AS (
    -- Consecutive seconds of a stall have one difference between the second and its place among the stalled ones.
    SELECT *, second - row_number() OVER (PARTITION BY line, stalled ORDER BY second) AS island FROM judged
), numbered AS (
    SELECT *, CASE WHEN stalled THEN dense_rank() OVER (PARTITION BY line, stalled ORDER BY island) END AS stall FROM placed
)
SELECT l.run_id, l.step_id, n.second, n.rate, n.median_rate, n.stall, n.all_at_work
FROM numbered n JOIN (SELECT DISTINCT line, run_id, step_id FROM sent) l USING (line)
