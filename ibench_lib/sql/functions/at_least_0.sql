-- A number, or 0 where it is below that; NULL where it is NULL, which greatest() takes for smaller.
--
-- $number: the number
CASE WHEN $number < 0 THEN 0 ELSE $number END
