-- The chosen runs whose host had much other work (`host_taken_of`) in a step of a second or more: `said`, a sentence for
-- each such step; `taken`, its step, the share of the CPUs that the sentence says was taken and by whom, in the same
-- order; `taken_share`, the largest share; `worst`, its sentence. Shares of less than half a percent are not said.
--
-- $ids: ids of runs
WITH told AS (
    SELECT
        run_id, t.step_id, s.step, t.taken, round(t.others, 2) + round(t.stolen, 2) AS share,
        concat_ws(
            ' and ', CASE WHEN t.others >= 0.005 THEN 'other processes' END, CASE WHEN t.stolen >= 0.005 THEN 'the hypervisor' END
        ) AS whose,
        concat(
            s.step, ': ',
            concat_ws(
                ' and ',
                CASE WHEN t.others >= 0.005 THEN format('other processes used {:.0f} % of the CPUs', 100 * t.others) END,
                CASE WHEN t.stolen >= 0.005 THEN format('the hypervisor kept {:.0f} % of the CPUs', 100 * t.stolen) END
            )
        ) AS sentence
    FROM host_taken_of($ids, []) t JOIN steps s USING (run_id, step_id)
    WHERE t.much AND s.duration_s >= 1
)
SELECT
    run_id, max(told.taken) AS taken_share, list(sentence ORDER BY step_id) AS said, max_by(sentence, told.taken) AS worst,
    list({'step': step, 'share': share, 'whose': whose} ORDER BY step_id) AS taken
FROM told GROUP BY run_id
