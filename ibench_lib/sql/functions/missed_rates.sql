-- For each of these families, whether its rate is below `sla_share` of the target; NULL without a target.
--
-- $families: names of families of operations
-- $rates: map of the rates of a step
-- $target: what each family's rate should be
list_transform($families, lambda family: coalesce($rates[family], 0) < sla_share() * $target)
