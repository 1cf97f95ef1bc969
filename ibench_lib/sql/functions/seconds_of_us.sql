-- Microseconds, in which clients measure, as the seconds in which answers are.
--
-- $us: microseconds
$us / 1e6
