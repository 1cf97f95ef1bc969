-- Why the clients limited a step (`steps.client_bound`), without what an older ibench took for a reason and that is none: it
-- held the lag of all operations against the median of the first kind. NULL where nothing else is left.
--
-- $client_bound: text of the table `steps`
nullif(trim(regexp_replace(
    $client_bound, 'client [0-9]+ [a-z_]+ (held|delayed) its p99 [^;]*; the median (operation )?took [^;]*', '', 'g'
), '; '), '')
