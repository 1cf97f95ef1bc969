-- The fragments that the configurations of chosen runs are made of, base first: one row per file and different text, with
-- the dbms that have it. A later fragment wins over an earlier one.
--
-- $runs: ids of the runs
SELECT f.fragment, f.text, min(f.position) AS position, list(DISTINCT r.dbms ORDER BY r.dbms) AS dbms
FROM config_fragments f JOIN selected_runs($runs) r USING (run_id)
GROUP BY f.fragment, f.text
ORDER BY position, min(r.dbms_position), f.fragment
