-- The causes that dips on LineDB may have: see `dip_causes`.
SELECT * FROM (VALUES
    ('compaction', 'mechanism', 'compaction', 'LineDB compacted its file', 'compact_every_s')
) causes(cause, layer, label, words, look_at)
