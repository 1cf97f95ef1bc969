-- What is missing in the selected runs: runs and steps that did not complete, workers without a row for
-- a second they worked in, seconds without a history list sample, totals that do not add up, and operations with
-- errors or unknown outcome. No rows: nothing is missing from what was measured here. A step
-- loaded from a snapshot is not missing, because the run did not have to do it.
--
-- Unless runs are selected by id, the figures are those of the latest run of each cell, however it ended. If that run
-- is not complete but an older one with the same fingerprint is, a row without a step names the older run.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    FROM selected_steps($runs, $steps)
), wrote AS (
    -- One row per second of a worker's operation: to count the rows is to count the seconds.
    SELECT run_id, step_id, worker, max(seconds) AS seconds, sum(ops) AS ops
    FROM (
        SELECT run_id, step_id, worker, operation, count(*) AS seconds, sum(ops) AS ops
        FROM ops SEMI JOIN chosen USING (run_id, step_id) GROUP BY ALL
    ) GROUP BY ALL
), worked AS (
    SELECT
        w.run_id, w.step_id, w.errors, w.unknown,
        w.ops_from IS NOT NULL AND o.seconds IS NULL AND coalesce(w.ops, 0) > 0 AS said_whole,
        CASE
            WHEN said_whole THEN 0 ELSE greatest(floor(w.end_s - w.start_s)::BIGINT - coalesce(o.seconds, 0), 0)
        END AS silent,
        CASE WHEN said_whole THEN 0 ELSE abs(w.ops - coalesce(o.ops, 0)) END AS uncounted
    FROM workers w SEMI JOIN chosen USING (run_id, step_id) LEFT JOIN wrote o USING (run_id, step_id, worker)
), answered AS (
    SELECT s.run_id, s.step_id, x.t_s
    FROM chosen s JOIN server_samples x ON x.run_id = s.run_id AND x.t_s > s.start_s AND x.t_s < s.end_s
    WHERE x.history_list_length IS NOT NULL
    UNION ALL
    SELECT run_id, step_id, unnest([start_s, end_s])
    FROM chosen ANTI JOIN runs_without_history_list USING (run_id) WHERE start_s IS NOT NULL AND source IS NULL
), pauses AS (
    SELECT run_id, step_id, t_s - lag(t_s) OVER (PARTITION BY run_id, step_id ORDER BY t_s) AS pause_s FROM answered
), found AS (
    SELECT run_id, step_id, 'step ' || step_status AS problem, NULL::BIGINT AS amount
    FROM chosen WHERE step_status NOT IN ('complete', 'loaded from a snapshot')
    UNION ALL
    SELECT run_id, step_id, 'seconds without a history list sample', sum(greatest(round(pause_s)::BIGINT - 1, 0))::BIGINT
    FROM pauses GROUP BY run_id, step_id
    UNION ALL
    SELECT run_id, step_id, 'seconds without a row of a worker', sum(silent)::BIGINT FROM worked GROUP BY ALL
    UNION ALL
    SELECT run_id, step_id, 'operations whose per-second counts and totals differ', sum(uncounted)::BIGINT
    FROM worked GROUP BY ALL
    UNION ALL
    SELECT run_id, step_id, 'operations with an error', sum(errors)::BIGINT FROM worked WHERE errors IS NOT NULL GROUP BY ALL
    UNION ALL
    SELECT run_id, step_id, 'operations with unknown outcome', sum(unknown)::BIGINT FROM worked
    WHERE unknown IS NOT NULL GROUP BY ALL
    UNION ALL
    SELECT DISTINCT run_id, step_id, 'errors not recorded: a driven program does not print them', NULL::BIGINT
    FROM worked WHERE errors IS NULL
    UNION ALL
    SELECT DISTINCT
        run_id, step_id,
        'seconds not recorded: a driven program has printed '
        || CASE WHEN i.step_id IS NULL THEN 'its total only' ELSE 'longer intervals' END,
        NULL::BIGINT
    FROM worked LEFT JOIN (SELECT DISTINCT run_id, step_id FROM intervals) i USING (run_id, step_id)
    WHERE said_whole
), older AS (
    SELECT s.setup, s.dbms, s.dbms_position, s.repeat, s.run_id, max_by(o, (o.origin_wall, o.run_id)) AS run
    FROM selected_runs($runs) s
    JOIN runs r USING (run_id)
    JOIN runs o ON (o.experiment, o.dbms, o.setup, o.repeat, o.fingerprint)
        = (r.experiment, r.dbms, r.setup, r.repeat, r.fingerprint)
    WHERE r.status <> 'complete' AND o.status = 'complete' AND o.origin_wall < r.origin_wall
    GROUP BY ALL
)
SELECT setup, dbms, dbms_position, repeat, run_id, step_id, step, problem, amount
FROM chosen JOIN found USING (run_id, step_id)
WHERE amount IS NULL OR amount > 0
UNION ALL
SELECT
    setup, dbms, dbms_position, repeat, run_id, NULL, NULL,
    'an older run of ' || strftime(run.origin_wall, '%Y-%m-%d %H:%M') || ' completed (id ' || run.run_id || ')', NULL
FROM older
ORDER BY setup, dbms_position, repeat, step_id, problem
