-- What was measured in each dip (`dip_seconds`) of the selected steps and outside of all dips of its step, a row per
-- dip and measure. `in_mean`: mean over the samples of which at least half lie in the dip; `in_max` and `in_min`: the
-- extremes over all samples that overlap the dip or the second on either side. `out_mean`: mean over the samples that
-- overlap no such second; 95 % of these are between `out_low` and `out_high`. All are NULL where nothing was sampled.
-- `seen` is the dip itself: its seconds, rates and lost work. Each dip has rows, because the clients are always measured.
--
-- Measures of a source are named <source>.<series>, as in `sampled`. Families of servers add theirs
-- (`family_dip_samples`). These are computed here:
-- clients.in_flight: statements in flight, mean over the second. clients.cpu_per_s: CPUs that the clients used.
-- host.idle_share, host.cpu_steal_share: shares of all CPUs.
-- host.others_cpu_share: share of all CPUs that was used by neither the server nor the clients.
-- host.taken_of_lost: how much of the lost work the CPU explains that others used and the hypervisor kept. That is, of
-- the CPU that server and clients use outside of dips, the part that was no longer left to them, as a share of the part
-- of the usual work that was not done. 0 where threads of the server waited for a CPU for less than 60 % of their usual
-- time: who wants no CPU gets none, and on a busy host others use what a server leaves that waits for something else.
-- NULL where that is not known, and others have a fifth of the CPUs outside, too.
-- server.redo_full_share: checkpoint age as a share of the limit, or of what is flushed at any cost. server.redo_is_full:
-- it is so high that writers wait: at 99 % of the limit or, where the server does not give it, at what is flushed at any cost.
-- server.sync_flush_share: pages flushed for a checkpoint, as a share of all that were written. server.redo_flush_ms:
-- time of an fsync of the redo log; near a dip 0 where all fsyncs together took less than a fifth of the second, which
-- explains no dip.
-- server.writes_stuck: a checkpoint was due, and no page was written in the second: asynchronous writes block no thread.
-- server.purge_delay_us: how long statements are delayed while the history list is longer than innodb_max_purge_lag. The
-- server keeps showing the last delay after it has stopped delaying.
-- server.row_lock_wait_share: time in finished waits for row locks, as a share of the time of the clients' connections.
-- server.row_locks_awaited_share, states.lock_share: connections that wait for a row lock, or for another lock, as a
-- share of those of the clients, of which each has those of one role (`step_connections`).
-- states.at_work: connections at work. states.idle_by_chance: the chance that as many looks as fell into the dip, taken
-- outside of dips, find no more of them at work than these did. threads.queued_per_s: threads of the server that are
-- ready and have no CPU.
-- device.request_ms: time of a request, reads and writes together. device.held_back: tasks waited for I/O or threads of
-- the server were blocked, but the device completed at most a tenth of its usual requests in a second, as under a limit
-- of I/O operations, or while the file system is frozen.
-- `still_mean` is the mean over the seconds of the dip in which less than 5 % of the usual work was done, NULL without
-- such a second: at the edges of a dip the reason may have lasted for a moment only. `in_least` is the smallest of the
-- samples that `in_mean` is made of.
-- `early_mean`, `early_max` and `early_min` are those of the dip's first second: what came later cannot be its origin.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH chosen AS (
    FROM steps_of($ids, $names) WHERE start_s IS NOT NULL
), dips AS MATERIALIZED (
    -- `lost`: the rate missing to the median, summed over the dip.
    SELECT
        run_id, step_id, dip, min(second)::DOUBLE AS from_s, max(second) + 1.0::DOUBLE AS to_s,
        coalesce(list(second::DOUBLE) FILTER (rate < 0.05 * median_rate), []) AS still,
        {
            from_s: min(second), to_s: max(second) + 1, rate: avg(rate), min_rate: min(rate),
            median_rate: any_value(median_rate), lost: sum(greatest(0, median_rate - rate)),
            is_stall: bool_or(stall IS NOT NULL), intended_p99_s: max(intended_p99_s)
        } AS seen
    FROM dip_seconds($ids, $names) WHERE dip IS NOT NULL GROUP BY ALL
), dipped AS MATERIALIZED (
    -- `near`: each dip with a second on either side. `line` stands for run and step where many rows are grouped.
    SELECT c.run_id, c.step_id, row_number() OVER () AS line, c.start_s, c.end_s, k.of_one_role AS clients, d.near
    FROM chosen c
    JOIN step_connections($ids, $names) k USING (run_id, step_id)
    JOIN (
        SELECT run_id, step_id, list({from_s: from_s - 1, to_s: to_s + 1}) AS near FROM dips GROUP BY ALL
    ) d USING (run_id, step_id)
), asked AS (
    SELECT
        d.line, o.second,
        sum(o.in_flight_us) / 1e6 AS in_flight, sum(o.cpu_user_s + o.cpu_system_s) AS cpu, sum(o.retries) AS retries,
        sum(o.unknown) AS unknown
    FROM ops o JOIN dipped d USING (run_id, step_id) GROUP BY ALL
), clients AS MATERIALIZED (
    SELECT
        run_id, step_id, second + 1.0 AS t_s, 1.0 AS span_s, touches_any(near, t_s - span_s, t_s) AS is_near,
        in_flight AS "clients.in_flight", cpu AS "clients.cpu_per_s", retries::DOUBLE AS "clients.retries_per_s",
        unknown::DOUBLE AS "clients.unknown"
    FROM asked JOIN dipped USING (line)
), purge_limits AS (
    SELECT run_id, try_cast(value AS BIGINT) AS most FROM server_variables
    WHERE name = 'innodb_max_purge_lag' AND list_contains($ids, run_id)
), first_incarnations AS (
    SELECT d.line, min(x.incarnation) AS incarnation
    FROM dipped d JOIN server_samples x ON x.run_id = d.run_id AND is_of_step(x.t_s, 0, d.start_s, d.end_s)
    GROUP BY ALL
), server AS MATERIALIZED (
    SELECT
        d.run_id, d.step_id, x.t_s - d.start_s AS t_s, coalesce(x.seconds, 1) AS span_s,
        touches_any(d.near, x.t_s - d.start_s - span_s, x.t_s - d.start_s) AS is_near,
        coalesce(x.incarnation - i.incarnation, 0)::DOUBLE AS "server.restarts",
        (coalesce(x.uptime_s, x.history_list_length, x.threads_running) IS NULL)::INT::DOUBLE AS "server.silent",
        x.redo_file_waits_per_s AS "server.redo_file_waits_per_s",
        x.checkpoint_age_bytes / coalesce(x.checkpoint_age_limit_bytes, x.checkpoint_age_sync_bytes)
            AS "server.redo_full_share",
        (x.checkpoint_age_bytes >= coalesce(0.99 * x.checkpoint_age_limit_bytes, x.checkpoint_age_sync_bytes))::INT::DOUBLE
            AS "server.redo_is_full",
        ("server.redo_full_share" >= 0.95 AND x.pages_written_per_s = 0)::INT::DOUBLE AS "server.writes_stuck",
        x.pages_flushed_sync_per_s AS "server.pages_flushed_sync_per_s",
        -- The two are read one after the other, so a burst may be more in one of them.
        x.pages_flushed_sync_per_s / greatest(x.pages_written_per_s, x.pages_flushed_sync_per_s, 1)
            + 0 * x.pages_written_per_s AS "server.sync_flush_share",
        x.sync_flush_waits_per_s AS "server.sync_flush_waits_per_s",
        x.redo_waits_per_s AS "server.redo_waits_per_s",
        x.redo_pending_fsyncs::DOUBLE AS "server.redo_pending_fsyncs",
        CASE WHEN NOT is_near OR x.redo_flush_ms_per_s >= 200 THEN x.redo_flush_ms_per_s ELSE 0 END
            / nullif(x.redo_fsyncs_per_s, 0) AS "server.redo_flush_ms",
        x.free_page_waits_per_s AS "server.free_page_waits_per_s",
        x.single_page_searches_per_s AS "server.single_page_searches_per_s",
        x.free_pages / nullif(x.pages, 0) AS "server.free_share",
        CASE WHEN l.most IS NULL OR (l.most > 0 AND x.history_list_length > l.most) THEN x.purge_delay_us
             WHEN l.most = 0 OR x.history_list_length IS NOT NULL THEN 0 END::DOUBLE AS "server.purge_delay_us",
        x.history_list_length::DOUBLE AS "server.history_list_length",
        x.row_locks_awaited / nullif(d.clients, 0) AS "server.row_locks_awaited_share",
        x.row_lock_wait_ms_per_s / 1e3 / nullif(d.clients, 0) AS "server.row_lock_wait_share"
    FROM dipped d
    JOIN (FROM server_seconds WHERE list_contains($ids, run_id)) x
        ON x.run_id = d.run_id AND is_of_step(x.t_s, coalesce(x.seconds, 1), d.start_s, d.end_s)
    LEFT JOIN first_incarnations i USING (line)
    LEFT JOIN purge_limits l ON l.run_id = d.run_id
), process AS MATERIALIZED (
    SELECT
        d.run_id, d.step_id, x.t_s - d.start_s AS t_s, coalesce(x.seconds, 1) AS span_s,
        touches_any(d.near, x.t_s - d.start_s - span_s, x.t_s - d.start_s) AS is_near,
        x.cpu_user_s_per_s + x.cpu_system_s_per_s AS "process.cpu_per_s",
        (x.state IN ('T', 't'))::INT::DOUBLE AS "process.is_stopped",
        x.blocked_threads::DOUBLE AS "process.blocked_threads"
    FROM dipped d
    JOIN (FROM process_seconds WHERE list_contains($ids, run_id)) x
        ON x.run_id = d.run_id AND is_of_step(x.t_s, coalesce(x.seconds, 1), d.start_s, d.end_s)
), host AS MATERIALIZED (
    SELECT
        d.run_id, d.step_id, x.t_s - d.start_s AS t_s, coalesce(x.seconds, 1) AS span_s,
        touches_any(d.near, x.t_s - d.start_s - span_s, x.t_s - d.start_s) AS is_near,
        (x.seconds > 1.5 OR x.t_s - x.tick > 0.5)::INT::DOUBLE AS "host.is_late",
        x.cpu_user_s_per_s + x.cpu_system_s_per_s AS "host.cpu_per_s",
        x.cpu_user_s_per_s + x.cpu_system_s_per_s + x.cpu_iowait_s_per_s + x.cpu_steal_s_per_s + x.cpu_idle_s_per_s
            AS "host.cpus",
        x.cpu_steal_s_per_s / nullif("host.cpus", 0) AS "host.cpu_steal_share",
        x.cpu_idle_s_per_s / nullif("host.cpus", 0) AS "host.idle_share",
        x.cpu_some_pressed_s_per_s AS "host.cpu_some_pressed_s_per_s",
        x.io_some_pressed_s_per_s AS "host.io_some_pressed_s_per_s",
        x.memory_some_pressed_s_per_s AS "host.memory_some_pressed_s_per_s",
        x.major_faults_per_s AS "host.major_faults_per_s",
        x.swapped_in_pages_per_s + x.swapped_out_pages_per_s AS "host.swapped_per_s"
    FROM dipped d
    JOIN (FROM host_seconds WHERE list_contains($ids, run_id)) x
        ON x.run_id = d.run_id AND is_of_step(x.t_s, coalesce(x.seconds, 1), d.start_s, d.end_s)
), device AS MATERIALIZED (
    SELECT
        d.run_id, d.step_id, x.t_s - d.start_s AS t_s, coalesce(x.seconds, 1) AS span_s,
        touches_any(d.near, x.t_s - d.start_s - span_s, x.t_s - d.start_s) AS is_near,
        (x.in_flight > 0 AND x.reads_per_s + x.writes_per_s + coalesce(x.flushes_per_s, 0) = 0)::INT::DOUBLE
            AS "device.is_stuck",
        x.reads_per_s + x.writes_per_s AS "device.requests_per_s",
        1e3 * (x.read_s_per_s + x.write_s_per_s) / nullif(x.reads_per_s + x.writes_per_s, 0) AS "device.request_ms",
        1e3 * x.flush_s_per_s / nullif(x.flushes_per_s, 0) AS "device.flush_ms"
    FROM dipped d JOIN data_device_seconds($ids) x
        ON x.run_id = d.run_id AND is_of_step(x.t_s, coalesce(x.seconds, 1), d.start_s, d.end_s)
), threads AS MATERIALIZED (
    SELECT
        d.run_id, d.step_id, x.t_s - d.start_s AS t_s, any_value(x.seconds) AS span_s,
        touches_any(any_value(d.near), x.t_s - d.start_s - span_s, x.t_s - d.start_s) AS is_near,
        sum(x.queued_s) FILTER (x.name = '') / span_s AS "threads.queued_per_s",
        coalesce(sum(x.cpu_s) FILTER (x.name ILIKE '%purge%' OR x.name ILIKE 'ib_srv_pu%'), 0)
            / nullif(sum(x.cpu_s) FILTER (x.name = ''), 0) AS "threads.purge_share"
    FROM dipped d JOIN thread_samples x ON x.run_id = d.run_id AND is_of_step(x.t_s, x.seconds, d.start_s, d.end_s)
    WHERE list_contains($ids, x.run_id) GROUP BY d.run_id, d.step_id, d.start_s, x.t_s
), states AS MATERIALIZED (
    SELECT
        d.run_id, d.step_id, x.t_s - d.start_s AS t_s, 0.0 AS span_s,
        touches_any(any_value(d.near), x.t_s - d.start_s - span_s, x.t_s - d.start_s) AS is_near,
        coalesce(sum(x.connections) FILTER (
            x.state ILIKE 'waiting for%lock' OR x.state ILIKE 'waiting for table%'), 0)::DOUBLE
            / nullif(any_value(d.clients), 0) AS "states.lock_share",
        sum(x.connections)::DOUBLE AS "states.at_work"
    FROM dipped d JOIN thread_states x ON x.run_id = d.run_id AND is_of_step(x.t_s, 0, d.start_s, d.end_s)
    WHERE list_contains($ids, x.run_id) GROUP BY d.run_id, d.step_id, d.start_s, x.t_s
), waited AS MATERIALIZED (
    SELECT
        d.run_id, d.step_id, x.t_s - d.start_s AS t_s, any_value(x.seconds) AS span_s,
        touches_any(any_value(d.near), x.t_s - d.start_s - span_s, x.t_s - d.start_s) AS is_near,
        coalesce(sum(x.wait_s) FILTER (x.event ILIKE '%dblwr%' OR x.event ILIKE '%doublewrite%'), 0)
            / nullif(sum(x.wait_s), 0) AS "waits.doublewrite_share"
    FROM dipped d JOIN waits x ON x.run_id = d.run_id AND is_of_step(x.t_s, x.seconds, d.start_s, d.end_s)
    WHERE list_contains($ids, x.run_id) GROUP BY d.run_id, d.step_id, d.start_s, x.t_s
), of_families AS MATERIALIZED (
    SELECT s.*, touches_any(d.near, s.t_s - s.span_s, s.t_s) AS is_near
    FROM family_dip_samples($ids, dipped) s JOIN dipped d USING (run_id, step_id)
), near AS (
    FROM dip_samples_near(clients)
    UNION ALL BY NAME FROM dip_samples_near(server)
    UNION ALL BY NAME FROM dip_samples_near(process)
    UNION ALL BY NAME FROM dip_samples_near(host)
    UNION ALL BY NAME FROM dip_samples_near(device)
    UNION ALL BY NAME FROM dip_samples_near(threads)
    UNION ALL BY NAME FROM dip_samples_near(states)
    UNION ALL BY NAME FROM dip_samples_near(waited)
    UNION ALL BY NAME FROM dip_samples_near(of_families)
), compared AS (
    -- The overlap of a sample's interval with a dip; the sample is near it, at most a second before or after.
    SELECT
        t.* EXCLUDE (is_near), d.dip,
        least(t.t_s, d.to_s) - greatest(t.t_s - t.span_s, d.from_s) AS overlap_s,
        CASE t.span_s WHEN 0 THEN overlap_s >= 0 ELSE overlap_s >= t.span_s / 2 OR overlap_s >= 0.5 END AS is_in,
        list_contains(d.still, floor(t.t_s - t.span_s / 2)) AS is_still,
        t.t_s - t.span_s <= d.from_s + 1 AS is_early
    FROM near t
    JOIN dips d
        ON d.run_id = t.run_id AND d.step_id = t.step_id AND t.t_s >= d.from_s - 1 AND t.t_s - t.span_s <= d.to_s + 1
), outside AS (
    FROM dip_samples_outside(clients)
    UNION ALL BY NAME FROM dip_samples_outside(server)
    UNION ALL BY NAME FROM dip_samples_outside(process)
    UNION ALL BY NAME FROM dip_samples_outside(host)
    UNION ALL BY NAME FROM dip_samples_outside(device)
    UNION ALL BY NAME FROM dip_samples_outside(threads)
    UNION ALL BY NAME FROM dip_samples_outside(states)
    UNION ALL BY NAME FROM dip_samples_outside(waited)
    UNION ALL BY NAME FROM dip_samples_outside(of_families)
), within AS (
    SELECT
        run_id, step_id, dip, measure,
        avg(value) FILTER (is_in) AS in_mean, avg(value) FILTER (is_still) AS still_mean,
        min(value) FILTER (is_in) AS in_least, max(value) AS in_max, min(value) AS in_min,
        avg(value) FILTER (is_early) AS early_mean, max(value) FILTER (is_early) AS early_max,
        min(value) FILTER (is_early) AS early_min
    FROM compared GROUP BY ALL
), measures AS (
    SELECT run_id, step_id, measure FROM within
    UNION
    SELECT run_id, step_id, measure FROM outside
), measured AS MATERIALIZED (
    SELECT
        d.run_id, d.step_id, d.dip, d.seen, m.measure,
        w.* EXCLUDE (run_id, step_id, dip, measure),
        o.value.mean AS out_mean, o.value.ends[1] AS out_low, o.value.ends[2] AS out_high
    FROM dips d
    JOIN measures m USING (run_id, step_id)
    LEFT JOIN within w USING (run_id, step_id, dip, measure)
    LEFT JOIN outside o USING (run_id, step_id, measure)
), together AS (
    SELECT
        run_id, step_id, dip, any_value(seen) AS seen,
        any_value({inside: in_mean, early: early_mean, outside: out_mean, least: in_min})
            FILTER (measure = 'process.cpu_per_s') AS server,
        any_value({inside: in_mean, early: early_mean, outside: out_mean})
            FILTER (measure = 'clients.cpu_per_s') AS clients,
        any_value({inside: in_mean, early: early_mean, outside: out_mean}) FILTER (measure = 'host.cpu_per_s') AS host,
        any_value(in_mean) FILTER (measure = 'host.cpus') AS cpus,
        any_value(out_mean) FILTER (measure = 'host.cpus') AS cpus_outside,
        any_value({inside: in_mean, early: early_mean, outside: out_mean})
            FILTER (measure = 'host.cpu_steal_share') AS steal,
        any_value({inside: in_mean, outside: out_mean}) FILTER (measure = 'threads.queued_per_s') AS queued,
        any_value(in_mean) FILTER (measure = 'clients.in_flight') AS in_flight,
        any_value({inside: in_mean, early: early_max, outside: out_mean})
            FILTER (measure = 'host.io_some_pressed_s_per_s') AS pressed,
        any_value({inside: in_mean, early: early_max}) FILTER (measure = 'process.blocked_threads') AS blocked,
        any_value({inside: in_least, early: early_min, outside: out_mean})
            FILTER (measure = 'device.requests_per_s') AS requests
    FROM measured GROUP BY ALL
), held_back AS (
    SELECT
        *,
        CASE WHEN requests.outside < 50 THEN FALSE
             ELSE (pressed.inside >= greatest(0.3, 1.5 * pressed.outside) OR blocked.inside >= 0.7)
                  AND requests.inside <= 0.1 * requests.outside
        END AS inside,
        CASE WHEN requests.outside < 50 THEN FALSE
             ELSE (pressed.early >= greatest(0.3, 1.5 * pressed.outside) OR blocked.early >= 0.7)
                  AND requests.early <= 0.1 * requests.outside
        END AS early
    FROM together
), shared AS (
    SELECT
        *,
        -- In ticks of 10 ms the server and the clients may have had a little more than there was.
        {
            inside: at_least_0(host.inside - server.inside - clients.inside) / cpus,
            outside: at_least_0(host.outside - server.outside - clients.outside) / cpus_outside,
            early: at_least_0(host.early - server.early - clients.early) / cpus
        } AS others,
        nullif((server.outside + clients.outside) / cpus_outside, 0) AS own,
        nullif(at_least_0(1 - seen.rate / nullif(seen.median_rate, 0)), 0) AS lost
    FROM together
), looked AS (
    SELECT
        run_id, step_id, dip, coalesce(nullif(count(*) FILTER (is_still), 0), count(*) FILTER (is_in)) AS looks,
        coalesce(max(value) FILTER (is_still), max(value) FILTER (is_in)) AS most
    FROM compared WHERE measure = 'states.at_work' GROUP BY ALL
), idle AS (
    SELECT l.run_id, l.step_id, l.dip, avg((s."states.at_work" <= l.most)::INT) ^ any_value(l.looks) AS chance
    FROM looked l JOIN states s USING (run_id, step_id) WHERE l.looks > 0 AND NOT s.is_near GROUP BY ALL
), asking AS (
    SELECT
        *,
        CASE WHEN queued.inside < 0.6 * queued.outside THEN 0.0
             WHEN queued.inside IS NULL AND others.outside + steal.outside >= 0.2 THEN NULL ELSE 1.0 END AS asked
    FROM shared
), taken AS (
    SELECT
        *,
        {
            inside: asked * at_least_0(1 - (1 - others.inside - steal.inside) / own) / lost,
            early: asked * at_least_0(1 - (1 - others.early - steal.early) / own) / lost
        } AS explained
    FROM asking
)
FROM measured
UNION ALL BY NAME
SELECT
    run_id, step_id, dip, seen, 'host.others_cpu_share' AS measure, others.inside AS in_mean, others.outside AS out_mean,
    others.early AS early_mean
FROM taken
UNION ALL BY NAME
SELECT
    run_id, step_id, dip, seen, 'host.taken_of_lost' AS measure, explained.inside AS in_mean, 0.0 AS out_mean,
    explained.early AS early_mean
FROM taken
UNION ALL BY NAME
SELECT
    run_id, step_id, dip, seen, 'server.frozen' AS measure,
    CASE WHEN in_flight >= 0.5 AND server.least <= 0.02 THEN 1.0
         WHEN in_flight IS NOT NULL AND server.least IS NOT NULL THEN 0.0 END AS in_mean,
    0.0 AS out_mean
FROM together
UNION ALL BY NAME
SELECT
    run_id, step_id, dip, seen, 'device.held_back' AS measure, inside::INT::DOUBLE AS in_mean, 0.0 AS out_mean,
    early::INT::DOUBLE AS early_mean
FROM held_back
UNION ALL BY NAME
SELECT
    run_id, step_id, dip, d.seen, 'states.idle_by_chance' AS measure, i.chance AS in_mean, 0.0 AS out_mean
FROM dips d JOIN idle i USING (run_id, step_id, dip)
