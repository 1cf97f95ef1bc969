-- Converts microseconds, the clients' unit, to seconds, the unit of the answers.
--
-- $us: microseconds
$us / 1e6
