-- Configurations of a build whose option files differ and which the server ran alike, a row for each group of them in a
-- setup: no variable (SHOW GLOBAL VARIABLES after the start) of any of their runs differs, but for those that say nothing
-- (`noise_facts`) and for paths inside a run's own folders. `dbms`: their names, in the order of the results. A
-- configuration with a run whose variables were not captured is in no group.
--
-- $runs: ids of the runs
WITH chosen AS (
    FROM selected_runs($runs)
), telling AS (
    SELECT v.run_id, v.name, v.value
    FROM server_variables v
    ANTI JOIN noise_facts n ON n.source = 'variable' AND v.name GLOB n.pattern
    WHERE list_contains($runs, v.run_id)
), run_values AS (
    SELECT
        run_id,
        md5(string_agg(
            concat_ws(
                '=', name,
                CASE WHEN contains(value, run_id) THEN substr(value, strpos(value, run_id) + length(run_id)) ELSE value END
            ), chr(10) ORDER BY name
        )) AS seen
    FROM telling GROUP BY ALL
), asked AS (
    SELECT run_id, md5(string_agg(concat_ws('=', name, value), chr(10) ORDER BY name)) AS options
    FROM config_options WHERE list_contains($runs, run_id) GROUP BY ALL
), of_dbms AS (
    SELECT
        c.setup, c.build, c.dbms, c.dbms_position, min(r.seen) AS seen, min(a.options) AS options
    FROM chosen c LEFT JOIN run_values r USING (run_id) LEFT JOIN asked a USING (run_id)
    GROUP BY ALL HAVING count(r.seen) = count(*) AND min(r.seen) = max(r.seen)
)
SELECT setup, build, list(dbms ORDER BY dbms_position) AS dbms
FROM of_dbms GROUP BY setup, build, seen HAVING count(DISTINCT options) > 1
ORDER BY setup, min(dbms_position)
