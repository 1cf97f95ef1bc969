-- The chosen runs whose host had much other work (`host_taken_of`) in a step of a second or more: `said`, a sentence for
-- each such step; `taken_share`, the largest share of the CPUs that was taken in one of them; `worst`, its sentence.
--
-- $ids: ids of runs
WITH told AS (
    SELECT
        run_id, t.step_id, t.taken,
        concat(
            s.step, ': ',
            concat_ws(
                ' and ',
                CASE WHEN t.others >= 0.01 THEN format('other processes used {:.0f} % of the CPUs', 100 * t.others) END,
                CASE WHEN t.stolen >= 0.01 THEN format('the hypervisor kept {:.0f} % of the CPUs', 100 * t.stolen) END
            )
        ) AS sentence
    FROM host_taken_of($ids, []) t JOIN steps s USING (run_id, step_id)
    WHERE t.much AND s.duration_s >= 1
)
SELECT
    run_id, max(taken) AS taken_share, list(sentence ORDER BY step_id) AS said, max_by(sentence, taken) AS worst
FROM told GROUP BY run_id
