-- The middle of a bin of a response time histogram, in microseconds: bins are log-linear, 64 to each power of two, so
-- that it is within 0.8 % of any value in the bin.
--
-- $bin: number of the bin
pow(2, $bin // 64) * (1 + ($bin % 64 + 0.5) / 64)
