-- Whether the time from one moment to another has a moment in common with any span of a list.
--
-- $spans: a list of {from_s, to_s}, in seconds
-- $begin_s: seconds
-- $end_s: seconds, not before $begin_s
len(list_filter($spans, lambda span: $end_s >= span.from_s AND $begin_s <= span.to_s)) > 0
