-- The ids of the latest run of each cell of an experiment, as a list: `FROM questions.dips(runs_of('demo'), [])`.
--
-- $experiment: its name
SELECT coalesce(list(run_id ORDER BY origin_wall, run_id), []) FROM latest_runs WHERE experiment = $experiment
