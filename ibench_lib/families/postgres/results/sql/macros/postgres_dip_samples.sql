-- What is measured of dips on PostgreSQL: see `family_dip_samples`.
--
-- postgres.checkpoints, postgres.vacuums: 1 where one was under way, or several, else 0. postgres.vacuums_undelayed:
-- without those that slept because of their cost delay. Servers before 10 tell neither of checkpoints nor of such sleep,
-- which is NULL. postgres.checkpoint_pages_per_s: pages that checkpoints wrote; the server counts those of a CHECKPOINT
-- at its end. postgres.full_page_share: images of whole pages, before compression, as a share of the bytes of the
-- write-ahead log, at most 1; NULL where nothing is logged. postgres.lock_share, postgres.row_lock_share,
-- postgres.wal_share: connections that wait for a lock of anything but rows, for a row lock, or for the log, as a share
-- of those of the clients, of which each has those of one role (`step_connections`).
--
-- $ids: ids of runs
-- $dipped: name of a table of `dip_measures` with the steps that have dips
WITH here AS (
    SELECT d.*
    FROM query_table($dipped) d JOIN runs r USING (run_id) JOIN server_families f USING (flavour)
    WHERE f.family = 'postgres'
), changed AS (
    SELECT
        run_id, tick,
        any_value(value) FILTER (name = 'now.checkpoints_under_way') AS checkpoints,
        any_value(value) FILTER (name = 'now.vacuums_under_way') AS vacuums,
        any_value(value) FILTER (name = 'waiting.autovacuum_worker.Timeout.VacuumDelay') AS delayed,
        sum(per_s) FILTER (name IN ('pg_stat_bgwriter.buffers_checkpoint', 'pg_stat_checkpointer.buffers_written'))
            AS pages,
        any_value(per_s) FILTER (name = 'pg_stat_wal.wal_fpi') AS images,
        any_value(per_s) FILTER (name = 'pg_stat_wal.wal_bytes') AS wal_bytes,
        any_value(per_s) FILTER (name = 'pg_stat_wal.wal_buffers_full') AS buffers_full
    FROM counter_seconds
    -- All that the columns read: a server has hundreds of counters, and each would be sorted by time.
    WHERE list_contains($ids, run_id) AND name IN (
        'now.checkpoints_under_way', 'now.vacuums_under_way', 'waiting.autovacuum_worker.Timeout.VacuumDelay',
        'pg_stat_bgwriter.buffers_checkpoint', 'pg_stat_checkpointer.buffers_written', 'pg_stat_wal.wal_fpi',
        'pg_stat_wal.wal_bytes', 'pg_stat_wal.wal_buffers_full'
    )
    GROUP BY ALL
), figures AS (
    -- A value that has not changed has no row.
    SELECT
        x.run_id, x.t_s, coalesce(x.seconds, 1) AS span_s,
        last_value(c.checkpoints IGNORE NULLS) OVER before AS checkpoints,
        last_value(c.vacuums IGNORE NULLS) OVER before AS vacuums,
        coalesce(last_value(c.delayed IGNORE NULLS) OVER before, 0) AS delayed,
        coalesce(c.pages, 0) AS pages, coalesce(c.images, 0) AS images, coalesce(c.wal_bytes, 0) AS wal_bytes,
        coalesce(c.buffers_full, 0) AS buffers_full
    FROM server_seconds_of(here) x LEFT JOIN changed c USING (run_id, tick) WHERE x.uptime_s IS NOT NULL
    WINDOW before AS (PARTITION BY x.run_id ORDER BY x.t_s)
)
SELECT
    d.run_id, d.step_id, x.t_s - d.start_s AS t_s, x.span_s,
    (x.checkpoints > 0)::INTEGER::DOUBLE AS "postgres.checkpoints",
    least(x.vacuums, 1)::DOUBLE AS "postgres.vacuums",
    CASE WHEN x.checkpoints IS NOT NULL THEN least(greatest(x.vacuums - x.delayed, 0), 1)::DOUBLE END
        AS "postgres.vacuums_undelayed",
    x.pages AS "postgres.checkpoint_pages_per_s",
    -- Of NULL and 1, 1 is the least.
    CASE WHEN x.wal_bytes > 0 THEN least(8192 * x.images / x.wal_bytes, 1) END AS "postgres.full_page_share",
    x.wal_bytes AS "postgres.wal_bytes_per_s",
    x.buffers_full AS "postgres.wal_buffers_full_per_s"
FROM here d JOIN figures x ON x.run_id = d.run_id AND is_of_step(x.t_s, x.span_s, d.start_s, d.end_s)
UNION ALL BY NAME
SELECT
    d.run_id, d.step_id, x.t_s - d.start_s AS t_s, 0.0 AS span_s,
    coalesce(sum(x.connections) FILTER (
        x.state LIKE 'Lock: %' AND x.state NOT IN ('Lock: transactionid', 'Lock: tuple', 'Lock: extend')), 0)::DOUBLE
        / nullif(any_value(d.clients), 0) AS "postgres.lock_share",
    coalesce(sum(x.connections) FILTER (x.state IN ('Lock: transactionid', 'Lock: tuple')), 0)::DOUBLE
        / nullif(any_value(d.clients), 0) AS "postgres.row_lock_share",
    coalesce(sum(x.connections) FILTER (x.state LIKE 'IO: WAL%' OR x.state LIKE 'LWLock: WAL%'), 0)::DOUBLE
        / nullif(any_value(d.clients), 0) AS "postgres.wal_share"
FROM here d JOIN thread_states x ON x.run_id = d.run_id AND is_of_step(x.t_s, 0, d.start_s, d.end_s)
WHERE list_contains($ids, x.run_id) GROUP BY d.run_id, d.step_id, d.start_s, x.t_s
