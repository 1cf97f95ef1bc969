-- The bins of response times by series, from the shortest: `n` responses in the bin `bin`, whose middle is `mid_us`. Up
-- to it there were `up_to` of the `total` responses of the series. A percentile is the first `mid_us` with that share.
--
-- $histograms: name of a table with `series`, `bins` and `counts`; its rows are added up. A number is best for `series`,
--     and its names are best joined afterwards: a second has hundreds of bins, and all that is sorted with them is copied
WITH merged AS (
    SELECT series, bin, sum(n)::BIGINT AS n
    FROM (SELECT series, unnest(bins)::INTEGER AS bin, unnest(counts)::BIGINT AS n FROM query_table($histograms))
    GROUP BY ALL
)
SELECT
    series, bin, n, bin_mid_us(bin) AS mid_us, sum(n) OVER (PARTITION BY series ORDER BY bin)::BIGINT AS up_to,
    sum(n) OVER (PARTITION BY series)::BIGINT AS total
FROM merged
