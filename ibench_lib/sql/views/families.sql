-- The families of operations of each run, with the unit of their rate (`counts`: rows or ops) and its name (`label`).
-- `position` is the position of the first operation of a family; `number` counts the families of a run from 0.
-- `of_existing_rows`: it works on existing rows, so it has no rate from second to second.
WITH listed AS (
    SELECT
        run_id, family, min(position) AS position, arg_min(counts, position) AS counts,
        arg_min(label, position) AS label, arg_min(better, position) AS better
    FROM operations GROUP BY run_id, family
), existing AS (
    SELECT DISTINCT run_id, main AS family FROM kinds WHERE of_existing_rows
)
SELECT
    l.run_id, l.family, l.counts, l.label, l.better, l.position,
    row_number() OVER (PARTITION BY l.run_id ORDER BY l.position, l.family) - 1 AS number,
    e.family IS NOT NULL AS of_existing_rows
FROM listed l LEFT JOIN existing e USING (run_id, family)
