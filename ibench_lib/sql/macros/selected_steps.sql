-- The steps of the selected runs, with the display names of the runs (`selected_runs`).
--
-- $ids: ids of runs
-- $names: names of the steps; an empty list means all
SELECT
    r.experiment, r.source, r.setup, r.dbms, r.dbms_position, r.repeat, r.run_id, r.status AS run_status,
    s.* EXCLUDE (run_id)
FROM selected_runs($ids) r JOIN steps_of($ids, $names) s USING (run_id)
