"""The load: exact, the same for any number of processes, and within what the specification allows."""

import re

import pytest

from ibench_lib.workloads.tpcc.parts import Part
from ibench_lib.workloads.tpcc.population import inserts
from tests.workloads.tpcc.warehouse import Warehouse, options, setup


@pytest.mark.parametrize("part", [Part(1, 0, 3), Part(1, 2, 1), Part(2, 1, 10)])
def test_a_part_is_always_the_same(part: Part) -> None:
    made = list(inserts(1, 2, part))
    assert made == list(inserts(1, 2, part)) != list(inserts(2, 2, part))
    for insert in made:
        assert insert.text.count(b"),(") == insert.rows - 1
        assert re.match(rb"INSERT INTO [a-z_]+%d \(" % part.number, insert.text)


def test_values_are_those_of_the_specification(warehouse: Warehouse) -> None:
    """What transactions never change."""
    ((items, low, high),) = warehouse.ask("SELECT COUNT(*), MIN(i_price), MAX(i_price) FROM item")
    assert items == 100_000 and 1 <= low < 2 and 99 < high <= 100
    ((originals,),) = warehouse.ask("SELECT COUNT(*) FROM stock WHERE s_data LIKE '%ORIGINAL%'")
    assert abs(originals - 10_000) < 4 * (100_000 * 0.1 * 0.9) ** 0.5
    ((lengths,),) = warehouse.ask(
        "SELECT COUNT(*) FROM customer WHERE CHAR_LENGTH(c_first) NOT BETWEEN 8 AND 16 "
        "OR CHAR_LENGTH(c_data) NOT BETWEEN 300 AND 500 OR c_zip NOT LIKE '____11111' "
        "OR c_phone NOT RLIKE '^[0-9]{16}$' OR c_middle <> 'OE' OR c_credit NOT IN ('BC', 'GC') "
        "OR c_discount NOT BETWEEN 0 AND 0.5 OR c_credit_lim <> 50000"
    )
    assert lengths == 0
    ((names,),) = warehouse.ask("SELECT COUNT(DISTINCT c_last) FROM customer WHERE c_d_id = 7")
    assert names == 1000
    ((entered, delivered),) = warehouse.ask(
        "SELECT COUNT(*), SUM(o_carrier_id IS NOT NULL) FROM orders WHERE o_id <= 2100"
    )
    assert entered == delivered == 21_000
    ((wrong,),) = warehouse.ask(
        "SELECT COUNT(*) FROM (SELECT COUNT(DISTINCT o_c_id) AS n FROM orders WHERE o_id <= 3000 GROUP BY o_d_id) o "
        "WHERE n <> 3000"
    )
    assert wrong == 0, "every customer has one order"


@pytest.mark.long
@pytest.mark.slow
def test_any_number_of_loaders_makes_the_same_rows(warehouse: Warehouse) -> None:
    rows = warehouse.fill("three_loaders", options(clients=3), setup())
    try:
        assert warehouse.checksums("three_loaders") == warehouse.sums and all(warehouse.sums)
        assert (rows["item"], rows["stock"], rows["customer"], rows["new_orders"]) == (100_000, 100_000, 30_000, 9_000)
    finally:
        warehouse.ask("DROP DATABASE three_loaders", None)
