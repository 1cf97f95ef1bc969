"""Each condition sees what violates it, and nothing else does."""

import pytest

from ibench_lib.workloads.tpcc.checks import CHEAP, CONDITIONS, conditions, drawn, ledger, population, wanted
from tests.workloads.tpcc.warehouse import Warehouse, options, setup

BREAKS = {
    "C1": "UPDATE warehouse SET w_ytd = w_ytd + 1",
    "C2": "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3",
    "C3": "DELETE FROM new_orders WHERE no_d_id = 4 AND no_o_id = 2900",
    "C4": "DELETE FROM order_line WHERE ol_d_id = 1 AND ol_o_id = 5 AND ol_number = 1",
    "C5": "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 1 AND o_id = 5",
    "C6": "UPDATE orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 1 AND o_id = 5",
    "C7": "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 5 AND ol_number = 1",
    "C8": "UPDATE history SET h_amount = h_amount + 0.01 LIMIT 1",
    "C9": "UPDATE district SET d_ytd = d_ytd + 0.01 WHERE d_id = 2",
    "C10": "UPDATE customer SET c_balance = c_balance + 1 WHERE c_d_id = 1 AND c_id = 7",
    "C11": "DELETE FROM new_orders",
    "C12": "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_d_id = 1 AND c_id = 7",
}


def test_no_condition_is_violated_and_the_ledger_is_exact(warehouse: Warehouse) -> None:
    assert warehouse.broken(options(checks="full"), setup()) == []


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_violation_is_seen(warehouse: Warehouse, name: str) -> None:
    (check,) = conditions("", [name])
    with warehouse.hand() as hand, hand.cursor() as cursor:
        cursor.execute("START TRANSACTION")
        cursor.execute(BREAKS[name])
        cursor.execute(check.statement)
        assert cursor.fetchone() == (10 if name == "C11" else 1,)
        hand.rollback()
        if name != "C11":  # it holds after the load only
            cursor.execute(check.statement)
            assert cursor.fetchone() == (0,)


def test_where_all_would_take_long_some_warehouses_are_drawn() -> None:
    assert wanted("auto", after_load=True) == list(CONDITIONS)
    assert wanted("full", after_load=False) == [name for name in CONDITIONS if name != "C11"]
    assert wanted("cheap", after_load=False) == ["C1", "C2", "C3"]
    assert drawn("auto", 2, 10, 1) is None and drawn("full", 1, 1000, 1) is None
    some = drawn("auto", 1, 1000, 1)
    assert some is not None and len(set(some)) == 10 and min(some) >= 1 and max(some) <= 1000
    assert drawn("auto", 1, 1000, 1) == some != drawn("auto", 1, 1000, 2)
    assert len(drawn("auto", 100, 10, 1) or ()) == 1, "of each set"


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_violation_is_seen_in_drawn_warehouses_only(warehouse: Warehouse, name: str) -> None:
    """The cheap conditions are checked of all warehouses."""
    (others,), (mine,) = (conditions("", [name], drawn=of) for of in ([2, 3], [1, 2]))
    with warehouse.hand() as hand, hand.cursor() as cursor:
        cursor.execute("START TRANSACTION")
        cursor.execute(BREAKS[name])
        cursor.execute(mine.statement)
        seen = cursor.fetchone()
        cursor.execute(others.statement)
        assert seen != (0,) and (cursor.fetchone() != (0,)) == (name in CHEAP)
        hand.rollback()
    assert ("warehouses 1, 2" in mine.subject) == (name not in CHEAP)


def test_a_load_that_lacks_rows_is_seen_in_its_ledger() -> None:
    rows = {"warehouse": 1, "district": 10, "customer": 30_000, "history": 30_000, "new_orders": 9_000}
    rows |= {"orders": 30_000, "stock": 99_000, "item": 100_000}
    (check,) = population(1, 1, rows)
    assert (check.table, check.expected) == ("stock", 100_000)
    assert population(1, 1, rows | {"stock": 100_000}) == []


def test_the_ledger_names_its_sums_by_set() -> None:
    first, second, _ = ledger("2", 3, {"warehouse2.w_ytd": 1234, "district2.d_next_o_id": 5})
    assert (first.expected, second.expected) == (30 * 3001 + 5, 3 * 30_000_000 + 1234)
    assert second.subject == "the sum of warehouse2.w_ytd in cents"
