-- The server's own counters where they changed: `per_s` is the change over the interval of `seconds` that ends at the
-- sample, a second. A tick of `server_samples` without a row had no change. `per_s` is NULL in a counter's first row,
-- next to a sample without an answer, after a restart of the server, and if the value went down, as values that
-- are not counters do.
WITH asked AS (
    SELECT
        run_id, tick, t_s, t_s - lag(t_s) OVER samples AS seconds, incarnation = lag(incarnation) OVER samples AS went_on
    FROM server_samples
    WHERE tick IS NOT NULL
    WINDOW samples AS (PARTITION BY run_id ORDER BY t_s)
), changed AS (
    SELECT
        *, coalesce(value - lag(value) OVER samples,
                    coalesce(value, real_value) - lag(coalesce(value, real_value)) OVER samples) AS change,
        incarnation = lag(incarnation) OVER samples AS same
    FROM server_counters
    WINDOW samples AS (PARTITION BY run_id, source, name ORDER BY tick)
)
SELECT
    c.run_id, c.source, c.name, c.tick, a.t_s, a.seconds, c.incarnation, coalesce(c.value, c.real_value) AS value,
    CASE WHEN c.same AND a.went_on AND c.change >= 0 THEN c.change / nullif(a.seconds, 0) END AS per_s
FROM changed c LEFT JOIN asked a USING (run_id, tick)
