-- A row per step and measure: what was measured outside of all dips. `value.mean` is the mean, and `value.ends` are the
-- bounds of 95 % of the samples. It goes column by column: a long step has tens of thousands of samples of each measure.
--
-- $samples: name of a table of `dip_measures` with a column per measure, named <source>.<series>
FROM (
    SELECT run_id, step_id, {mean: avg(COLUMNS('\.')), ends: quantile_cont(COLUMNS('\.'), [0.025, 0.975])}
    FROM query_table($samples) WHERE NOT is_near GROUP BY run_id, step_id
) UNPIVOT INCLUDE NULLS (value FOR measure IN (COLUMNS('\.')))
