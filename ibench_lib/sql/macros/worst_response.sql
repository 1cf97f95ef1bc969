-- maxop_s: the worst response in seconds of the main operation of each chosen step: inserts in steps that write,
-- queries in query steps, index builds in an index step.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
SELECT
    run_id, step_id,
    max(max_us) FILTER (
        CASE kind
            WHEN 'index' THEN operation = 'create_index'
            WHEN 'query' THEN operation IN ('range_query', 'point_query')
            ELSE operation = 'insert'
        END
    ) / 1e6 AS maxop_s
FROM selected_steps($ids, $names) JOIN response_histograms USING (run_id, step_id)
WHERE timing = 'service'
GROUP BY run_id, step_id
