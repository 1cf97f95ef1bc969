-- The fragments of the selected runs' configurations, base first: one row per file and version of its text, with the
-- dbms that use it. A later fragment overrides an earlier one.
--
-- $runs: ids of the runs
SELECT f.fragment, f.text, min(f.position) AS position, list(DISTINCT r.dbms ORDER BY r.dbms) AS dbms
FROM config_fragments f JOIN selected_runs($runs) r USING (run_id)
GROUP BY f.fragment, f.text
ORDER BY position, min(r.dbms_position), f.fragment
