-- The metrics of chosen steps that only the Insert Benchmark has, its rates apart.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
SELECT g.run_id, g.step_id, 'get_min_s' AS metric, g.get_min_s AS value
FROM questions.get_min($ids, $names) g JOIN runs r ON r.run_id = g.run_id AND r.benchmark = 'insert_benchmark'
