-- The load clients of the selected runs: one row for each kind and family of servers; a family that is not known is NULL.
-- `core`: compiled, with the beginning of the SHA-256 of its source, or Python, whose clients take more CPU for the same
-- statements. Runs that do not tell are of an older ibench, which had Python's only. Published figures are left out.
--
-- $runs: ids of the runs
SELECT
    coalesce(r.versions::JSON ->> '$."client core"', 'Python') AS core, f.family, count(*) AS runs,
    list(DISTINCT s.dbms ORDER BY s.dbms) AS dbms
FROM selected_runs($runs) s
JOIN runs r USING (run_id)
LEFT JOIN server_families f ON f.flavour = r.flavour
WHERE r.source IS NULL
GROUP BY ALL
ORDER BY runs DESC, core, family
