-- Whether the server was profiled in each selected step, one row per run and step: `recordings` of perf that lie in the
-- step as a whole, what they have in all (`samples`; `seconds` of sampling; `lost`, which the kernel could not keep; and
-- `cpu_s`, the CPU of the server's process meanwhile), and `reason`, why there is none. `event` is cycles or cpu-clock,
-- `frequency` the samples that perf was to take in a second of CPU. `sampled`: samples / frequency / cpu_s, which is
-- near 1 unless samples are missing. What the experiment asked for is known from the collectors that reported at the end
-- of the run. `scpupq`: CPU microseconds of the server's process per operation of the whole step.
-- `begun` is when the run began (UTC). NULL: not captured, or by an older ibench.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH chosen AS (
    FROM selected_steps($runs, $steps) WHERE start_s IS NOT NULL
), recorded AS (
    SELECT
        c.run_id, c.step_id, p.tick, sum(p.samples)::BIGINT AS samples, any_value(p.seconds) AS seconds,
        any_value(p.lost) AS lost, any_value(p.cpu_s) AS cpu_s, any_value(p.event) AS event,
        any_value(p.frequency) AS frequency
    FROM chosen c JOIN profile_stacks p ON p.run_id = c.run_id AND p.tick >= c.start_s AND p.t_s <= c.end_s
    GROUP BY ALL
), summed AS (
    SELECT
        run_id, step_id, count(*) AS recordings, sum(samples)::BIGINT AS samples, sum(seconds) AS seconds,
        sum(lost)::BIGINT AS lost, CASE WHEN count(cpu_s) = count(*) THEN sum(cpu_s) END AS cpu_s,
        any_value(event) AS event, any_value(frequency) AS frequency
    FROM recorded GROUP BY ALL
), used AS (
    FROM step_use($runs, $steps)
), server AS (
    FROM server_cpus(used)
), seen AS (
    SELECT DISTINCT run_id FROM profile_stacks
)
SELECT
    c.setup, c.dbms, c.dbms_position, c.repeat, c.run_id, c.run_status, c.step_id, c.step, c.kind, c.step_status, r.build,
    r.origin_wall AS begun, coalesce(s.recordings, 0)::BIGINT AS recordings, coalesce(s.samples, 0)::BIGINT AS samples,
    s.seconds, s.event, s.frequency, s.lost, s.cpu_s, s.samples / s.frequency / nullif(s.cpu_s, 0) AS sampled,
    1e6 * v.cpus / nullif(x.throughput, 0) AS scpupq,
    CASE WHEN s.recordings > 0 THEN NULL
         WHEN e.run_id IS NOT NULL
             THEN 'no recording lies entirely within the step: use a longer step, or smaller `every_s` and `seconds`'
                  || coalesce(' (some are missing: ' || missing.said || ')', '')
         WHEN missing.said IS NOT NULL THEN missing.said
         WHEN k.run_id IS NOT NULL
             THEN 'recordings were requested, but none ended within the step: use a longer step, or '
                  || 'smaller `every_s` and `seconds`'
         WHEN r.status = 'running' THEN 'the run has not ended, and recordings are read at its end'
         WHEN r.status <> 'complete' AND NOT EXISTS (FROM collectors WHERE collectors.run_id = c.run_id)
             THEN 'the run was cut off before recordings, if it had any, were read'
         ELSE 'the experiment did not ask for it (capture: {profile: {}})' END AS reason
FROM chosen c
JOIN runs r ON r.run_id = c.run_id
LEFT JOIN summed s ON s.run_id = c.run_id AND s.step_id = c.step_id
LEFT JOIN seen e ON e.run_id = c.run_id
LEFT JOIN collectors k ON k.run_id = c.run_id AND k.collector = 'profile'
CROSS JOIN LATERAL (
    SELECT coalesce(json_extract_string(r.null_reasons, '$."profile_stacks"'), k.reason) AS said
) missing
LEFT JOIN server v ON v.run_id = c.run_id AND v.step_id = c.step_id
LEFT JOIN rates_of_steps($runs, $steps) x ON x.run_id = c.run_id AND x.step_id = c.step_id
ORDER BY
    c.setup, min_by(c.step_id, c.repeat) OVER (PARTITION BY c.setup, c.step), c.dbms_position, c.repeat
