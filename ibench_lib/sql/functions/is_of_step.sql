-- Whether a sample tells of a step: at least nine tenths of its interval are in it, and nothing of what comes after,
-- such as the flush or the vacuum that settles a server.
--
-- $t_s: when it was taken, in seconds
-- $span_s: the interval that it is of, in seconds; 0 for what held at that moment
-- $start_s: seconds
-- $end_s: seconds
$t_s - 0.9 * $span_s >= $start_s AND $t_s <= $end_s
