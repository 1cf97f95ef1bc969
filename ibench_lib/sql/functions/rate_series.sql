-- The name of the series of a rate: inserts_per_s of inserts/s.
--
-- $label: what the rate is called
replace(replace($label, '/s', '_per_s'), ' ', '_')
