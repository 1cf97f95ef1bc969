-- A row per sample and measure of those that overlap a dip, or the second on either side of it.
--
-- $samples: name of a table of `dip_measures` with a column per measure, named <source>.<series>
FROM (FROM query_table($samples) WHERE is_near) UNPIVOT INCLUDE NULLS (value FOR measure IN (COLUMNS('\.')))
