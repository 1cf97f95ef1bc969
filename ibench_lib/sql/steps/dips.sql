-- The dips of the selected runs and steps (`dip_seconds`), each with its cause. The evidence that holds
-- (`dip_evidence`) gives each cause its points. A dip has the cause with the most points if these are at least 3 and at
-- least 1 more than those of any other. With 5 points or more, and decisive evidence among them where rules name some,
-- the `confidence` is high, else medium. A mechanism (a checkpoint, redo, free pages) or a symptom (row locks) may have
-- the most points while an origin (storage, memory, a paused machine) has 3, too, evidence of it holds from the first
-- second of the dip, and nothing contradicts it: then the origin is the cause, and the mechanism or symptom is what it
-- came through (`via`). In the same way a mechanism is the cause where a symptom has the most points, and CPU taken by
-- others where storage, a mechanism or a symptom has, if its decisive evidence holds. Otherwise the cause is NULL: the
-- dip is unexplained. `candidates` are the causes with points, best first;
-- `evidence` is what holds for the cause; `undecided` are the measures, not available here, that would have given the
-- two best candidates points. A wave is 4 dips or more of one cause whose intervals,
-- from start to start, have a standard deviation of at most 0.35 of their mean: `period_s` is the median interval.
-- `lost` is the work that was not done: the rate missing to the median, summed over the dip. `rate_label`: what the rate
-- is called.
--
-- $runs: ids of the runs
-- $steps: names of the steps to show; an empty list means all
WITH evidence AS MATERIALIZED (
    FROM questions.dip_evidence($runs, $steps)
), scored AS (
    SELECT
        run_id, step_id, dip, any_value(seen) AS seen, cause, coalesce(sum(points) FILTER (holds), 0)::INT AS points,
        coalesce(bool_or(holds) FILTER (points >= 3), NOT bool_or(points >= 3)) AS decided,
        coalesce(bool_or(holds AND holds_early) FILTER (points > 0), FALSE) AS is_early,
        coalesce(bool_or(holds) FILTER (points < 0), FALSE) AS is_contradicted,
        list(says ORDER BY points DESC, measure) FILTER (holds AND points > 0) AS evidence,
        list(DISTINCT measure ORDER BY measure) FILTER (holds IS NULL AND points > 0) AS undecided
    FROM evidence GROUP BY ALL
), ranked AS MATERIALIZED (
    SELECT
        s.*, c.layer, c.label, c.words, c.look_at,
        row_number() OVER (PARTITION BY run_id, step_id, dip ORDER BY points DESC, s.cause) AS place
    FROM scored s JOIN dip_causes c USING (cause)
), first AS (
    SELECT
        run_id, step_id, dip,
        any_value(cause) FILTER (place = 1) AS best,
        any_value(layer) FILTER (place = 1) AS best_layer,
        any_value(points) FILTER (place = 1) AS best_points,
        any_value(cause) FILTER (layer = 'neighbour' AND decided AND NOT is_contradicted) AS neighbour,
        arg_max(cause, points) FILTER (layer = 'origin' AND points >= 3 AND is_early AND NOT is_contradicted) AS origin,
        bool_or(cause = 'storage' AND points >= 3) AS storage,
        arg_max(cause, points) FILTER (layer = 'mechanism' AND points >= 3 AND is_early AND NOT is_contradicted)
            AS early_mechanism,
        arg_max(cause, points) FILTER (layer = 'mechanism' AND points >= 3) AS mechanism,
        arg_max(cause, points) FILTER (layer = 'symptom' AND points >= 3) AS symptom,
        list({cause: label, points: points} ORDER BY place) FILTER (points > 0) AS candidates,
        coalesce(list_sort(list_distinct(flatten(list(undecided) FILTER (place <= 2 AND points > 0)))), []) AS undecided
    FROM ranked GROUP BY ALL
), chosen AS (
    SELECT
        *,
        CASE WHEN best_points < 3 THEN NULL
             WHEN (best_layer IN ('mechanism', 'symptom') OR best = 'storage') AND neighbour IS NOT NULL THEN neighbour
             WHEN best_layer IN ('mechanism', 'symptom') AND origin IS NOT NULL THEN origin
             WHEN best_layer = 'symptom' AND early_mechanism IS NOT NULL THEN early_mechanism ELSE best END AS named,
        CASE WHEN named = neighbour THEN coalesce(mechanism, CASE WHEN storage THEN 'storage' END, symptom)
             WHEN named = origin THEN coalesce(mechanism, symptom)
             WHEN named = early_mechanism THEN symptom END AS through
    FROM first
), led AS (
    -- What it came through is no rival.
    SELECT
        c.run_id, c.step_id, c.dip, any_value(r.seen) AS seen,
        max(r.points) FILTER (
            r.cause <> c.named AND r.cause IS DISTINCT FROM c.through
            AND NOT (c.through IS NOT NULL AND (r.layer = 'symptom' OR (r.layer = 'mechanism' AND c.named = c.origin)))
            AND NOT (
                c.named IS NOT DISTINCT FROM c.neighbour AND (r.layer IN ('mechanism', 'symptom') OR r.cause = 'storage')
            )
        ) AS next_points,
        any_value(c.named) AS named, any_value(c.candidates) AS candidates, any_value(c.undecided) AS undecided,
        any_value(r.label) FILTER (r.cause = c.through) AS through,
        any_value({
            points: r.points, decided: r.decided, evidence: r.evidence, label: r.label, words: r.words,
            look_at: r.look_at
        }) FILTER (r.cause = c.named) AS known
    FROM chosen c JOIN ranked r USING (run_id, step_id, dip) GROUP BY ALL
), explained AS (
    SELECT
        t.setup, t.dbms, t.dbms_position, t.repeat, t.run_id, t.run_status, t.step_id, t.step, t.step_status,
        t.main_operation, t.rate_label, l.dip, l.seen.from_s, l.seen.to_s, l.seen.to_s - l.seen.from_s AS seconds,
        l.seen.rate, l.seen.min_rate, l.seen.median_rate, l.seen.lost, l.seen.is_stall, l.seen.intended_p99_s,
        CASE WHEN l.known.points - coalesce(l.next_points, 0) >= 1 THEN l.named END AS cause,
        CASE WHEN cause IS NOT NULL THEN l.through END AS via,
        CASE WHEN cause IS NULL THEN NULL
             WHEN l.known.points >= 5 AND l.known.decided THEN 'high' ELSE 'medium' END AS confidence,
        CASE WHEN cause IS NOT NULL THEN l.known.points END AS points,
        CASE WHEN cause IS NOT NULL THEN l.known.label ELSE 'unexplained' END AS label,
        CASE WHEN cause IS NOT NULL THEN l.known.words END AS words,
        CASE WHEN cause IS NOT NULL THEN l.known.look_at END AS look_at,
        CASE WHEN cause IS NOT NULL THEN l.known.evidence ELSE [] END AS evidence,
        coalesce(l.candidates, []) AS candidates, l.undecided,
        l.seen.from_s - lag(l.seen.from_s) OVER (PARTITION BY l.run_id, l.step_id, label ORDER BY l.seen.from_s) AS gap_s
    FROM led l
    JOIN timed_steps($runs, $steps) t USING (run_id, step_id)
)
SELECT
    * EXCLUDE (gap_s),
    CASE WHEN count(*) OVER alike >= 4 AND stddev_pop(gap_s) OVER alike <= 0.35 * avg(gap_s) OVER alike
         THEN median(gap_s) OVER alike END AS period_s
FROM explained WINDOW alike AS (PARTITION BY run_id, step_id, label)
ORDER BY step_id, setup, dbms_position, repeat, dip
