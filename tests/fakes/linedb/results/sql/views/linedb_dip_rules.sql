-- The rules of causes that dips on LineDB may have: see `dip_rules`.
SELECT * FROM (VALUES
    ('compaction', 3, 'linedb.compaction_ms_per_s', 'max', 'at least', 300, 0, 'it compacted for much of a second'),
    ('compaction', 2, 'linedb.compaction_ms_per_s', 'mean', 'at least', 100, 0, 'it compacted')
) rules(cause, points, measure, statistic, test, threshold, least, says)
