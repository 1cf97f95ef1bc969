-- What the processor counted of the server in each selected step (`perf_counters`): instructions, cycles and CPU seconds
-- per second of the step, over the intervals that lie in the step as a whole. Steps of which these cover less than 70 %
-- have no row. instructions_per_s: divided by the step's throughput they are those per operation (`ipq`); cpi: cycles
-- per instruction; clock_ghz: cycles per second of CPU.
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
WITH counted AS (
    SELECT
        c.run_id, c.step_id, sum(p.seconds) AS seconds, sum(p.instructions)::DOUBLE AS instructions,
        sum(p.cycles)::DOUBLE AS cycles, sum(p.cpu_s) AS cpu_s, any_value(c.duration_s) AS duration_s
    FROM steps_of($ids, $names) c
    JOIN perf_counters p ON p.run_id = c.run_id AND p.t_s - p.seconds >= c.start_s AND p.t_s <= c.end_s
    GROUP BY ALL
)
SELECT
    run_id, step_id, instructions / seconds AS instructions_per_s, cycles / nullif(instructions, 0) AS cpi,
    cycles / nullif(cpu_s, 0) / 1e9 AS clock_ghz
FROM counted
WHERE seconds >= 0.7 * duration_s
