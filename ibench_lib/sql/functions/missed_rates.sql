-- Whether the rate of each of some families is under `sla_share` of a target; NULL where there is none.
--
-- $families: names of families of operations
-- $rates: map of the rates of a step
-- $target: what each family's rate should be
list_transform($families, lambda family: coalesce($rates[family], 0) < sla_share() * $target)
