"""The verdict on a run of TPC-C: rows of tables, the consistency conditions, and the ledger of acknowledged work.

Conditions C1 to C12 are those of the specification (3.3.2). Each is a query for the number of rows that violate it.
They add up rows of several tables by their common key, and need no secondary index: with joins of grouped tables the
optimizer of MariaDB 10.11 took minutes for a warehouse. They are SQL that all families of servers have.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

from ibench_lib.workloads.tpcc import tables
from ibench_lib.workloads.tpcc.profiles import STANDARD, Profile
from ibench_lib.workloads.tpcc.tables import CUSTOMERS, DELIVERED, INITIAL_NEXT_ORDER, INITIAL_W_YTD_CENTS
from ibench_lib.workloads.workload import Check, rows_check

CHEAP = ("C1", "C2", "C3")
LOAD_ONLY = ("C11",)
MOST_WAREHOUSES_IN_FULL = 20
"""Of all sets: with more, `auto` checks all conditions but the cheap ones of some warehouses only."""
DRAWN_WAREHOUSES = 10
"""So many of all sets, but at least one of each."""

_NONE = "NULLIF(0, 0)"
"""NULL as an integer: PostgreSQL takes a bare NULL for text, and MySQL does not cast to what PostgreSQL calls it."""

_DELIVERED_AMOUNTS = (
    "SELECT o_w_id, o_d_id, o_c_id, -SUM(ol_amount) FROM orders@ JOIN order_line@ ON ol_w_id = o_w_id AND "
    "ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL [AND o_w_id] GROUP BY o_w_id, o_d_id, o_c_id"
)


def _balanced(keys: str, *parts: str, must: str = "SUM(x) <> 0") -> str:
    """Groups of rows of all `parts` that have the same `keys`, and for which `must` holds: each is a violation."""
    return f"FROM (SELECT 1 FROM ({' UNION ALL '.join(parts)}) u GROUP BY {keys} HAVING {must}) v"


# By name: what it says, and the rows that violate it, as FROM and what follows; @ stands for the end of table names,
# [WHERE column] or [AND column] for what leaves only some warehouses, if not all are checked.
CONDITIONS = {
    "C1": (
        "w_ytd is the sum of d_ytd",
        _balanced("w", "SELECT w_id AS w, w_ytd AS x FROM warehouse@", "SELECT d_w_id, -d_ytd FROM district@"),
    ),
    "C2": (
        "d_next_o_id - 1 is the largest o_id and, if orders wait, the largest no_o_id",
        _balanced(
            "w, d",
            f"SELECT d_w_id AS w, d_id AS d, d_next_o_id - 1 AS given, {_NONE} AS ordered, {_NONE} AS waiting "
            "FROM district@",
            f"SELECT o_w_id, o_d_id, {_NONE}, MAX(o_id), {_NONE} FROM orders@ GROUP BY o_w_id, o_d_id",
            f"SELECT no_w_id, no_d_id, {_NONE}, {_NONE}, MAX(no_o_id) FROM new_orders@ GROUP BY no_w_id, no_d_id",
            must="COALESCE(MAX(given), -1) <> COALESCE(MAX(ordered), -1) OR MAX(given) <> MAX(waiting)",
        ),
    ),
    "C3": (
        "the numbers of waiting orders have no gap",
        "FROM (SELECT 1 FROM new_orders@ GROUP BY no_w_id, no_d_id "
        "HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)) g",
    ),
    "C4": (
        "the sum of o_ol_cnt is the number of order lines of a district",
        _balanced(
            "w, d",
            "SELECT o_w_id AS w, o_d_id AS d, SUM(o_ol_cnt) AS x FROM orders@ [WHERE o_w_id] GROUP BY o_w_id, o_d_id",
            "SELECT ol_w_id, ol_d_id, -COUNT(*) FROM order_line@ [WHERE ol_w_id] GROUP BY ol_w_id, ol_d_id",
        ),
    ),
    "C5": (
        "an order has no carrier if and only if it waits",
        _balanced(
            "w, d, o",
            "SELECT o_w_id AS w, o_d_id AS d, o_id AS o, CASE WHEN o_carrier_id IS NULL THEN 1 ELSE 0 END AS x "
            "FROM orders@ [WHERE o_w_id]",
            "SELECT no_w_id, no_d_id, no_o_id, -1 FROM new_orders@ [WHERE no_w_id]",
        ),
    ),
    "C6": (
        "o_ol_cnt is the number of an order's lines",
        _balanced(
            "w, d, o",
            "SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_ol_cnt AS x FROM orders@ [WHERE o_w_id]",
            "SELECT ol_w_id, ol_d_id, ol_o_id, -COUNT(*) FROM order_line@ [WHERE ol_w_id] "
            "GROUP BY ol_w_id, ol_d_id, ol_o_id",
        ),
    ),
    "C7": (
        "a line has no delivery date if and only if its order has no carrier",
        "FROM order_line@ LEFT JOIN orders@ ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id "
        "WHERE (o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)) [AND ol_w_id]",
    ),
    "C8": (
        "w_ytd is the sum of h_amount of a warehouse",
        _balanced(
            "w",
            "SELECT w_id AS w, w_ytd AS x FROM warehouse@ [WHERE w_id]",
            "SELECT h_w_id, -h_amount FROM history@ [WHERE h_w_id]",
        ),
    ),
    "C9": (
        "d_ytd is the sum of h_amount of a district",
        _balanced(
            "w, d",
            "SELECT d_w_id AS w, d_id AS d, d_ytd AS x FROM district@ [WHERE d_w_id]",
            "SELECT h_w_id, h_d_id, -h_amount FROM history@ [WHERE h_w_id]",
        ),
    ),
    "C10": (
        "c_balance is what was delivered less what was paid",
        _balanced(
            "w, d, c",
            "SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance AS x FROM customer@ [WHERE c_w_id]",
            _DELIVERED_AMOUNTS,
            "SELECT h_c_w_id, h_c_d_id, h_c_id, h_amount FROM history@ [WHERE h_c_w_id]",
        ),
    ),
    "C11": (
        f"{DELIVERED} orders of a district do not wait",
        _balanced(
            "w, d",
            "SELECT o_w_id AS w, o_d_id AS d, COUNT(*) AS x FROM orders@ [WHERE o_w_id] GROUP BY o_w_id, o_d_id",
            "SELECT no_w_id, no_d_id, -COUNT(*) FROM new_orders@ [WHERE no_w_id] GROUP BY no_w_id, no_d_id",
            must=f"SUM(x) <> {DELIVERED}",
        ),
    ),
    "C12": (
        "c_balance + c_ytd_payment is what was delivered",
        _balanced(
            "w, d, c",
            "SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance + c_ytd_payment AS x FROM customer@ [WHERE c_w_id]",
            _DELIVERED_AMOUNTS,
        ),
    ),
}


def conditions(
    end: str, wanted: list[str], profile: Profile = STANDARD, drawn: Sequence[int] | None = None
) -> list[Check]:
    """The consistency conditions of a set, by what its tables' names end with. The profile may break some of them.

    Those that are not cheap are checked of the `drawn` warehouses only, if these are given.
    """
    of_set = f" in set {end}" if end else ""
    made = []
    for name in wanted:
        only = None if name in CHEAP else drawn
        if only is None:
            of = of_set
        else:
            numbers = ", ".join(map(str, only))
            of = f" in {'warehouse' if len(only) == 1 else 'warehouses'} {numbers}{of_set}"
        made.append(
            Check(
                f"SELECT COUNT(*) {_statement(name, end, only)}",
                0,
                name,
                f"the number of rows that violate condition {name}{of}",
                f"condition {name} ({CONDITIONS[name][0]}) allows",
                broken_by=f"profile {profile.name}" if name in profile.broken else None,
            )
        )
    return made


def _statement(name: str, end: str, warehouses: Sequence[int] | None) -> str:
    """The rows that violate a condition, of all warehouses or of these."""
    numbers = ", ".join(map(str, warehouses or ()))
    only = "" if warehouses is None else rf"\1 \2 IN ({numbers})"
    return re.sub(r"\[(WHERE|AND) (\w+)\]", only, CONDITIONS[name][1]).replace("@", end)


def drawn(checks: str, sets: int, warehouses: int, seed: int) -> list[int] | None:
    """The warehouses of each set of which the conditions that are not cheap are checked; None: of all of them."""
    if checks != "auto" or sets * warehouses <= MOST_WAREHOUSES_IN_FULL:
        return None
    of_set = min(warehouses, max(1, DRAWN_WAREHOUSES // sets))
    return sorted(random.Random(seed).sample(range(1, warehouses + 1), of_set))


def wanted(checks: str, *, after_load: bool) -> list[str]:
    """The names of the conditions to check."""
    return [
        name for name in CONDITIONS if (checks != "cheap" or name in CHEAP) and (after_load or name not in LOAD_ONLY)
    ]


def of_drawn(checks: str) -> list[str]:
    """The names of the conditions that are checked of drawn warehouses only, where there are such."""
    return [name for name in wanted(checks, after_load=True) if name not in CHEAP]


def row_counts(sets: int, rows: Mapping[str, int]) -> list[Check]:
    """COUNT(*) of every table against the ledger."""
    proves = "the clients' acknowledged operations leave"
    return [rows_check(table, rows[table], proves) for table in tables.names(sets)]


def population(sets: int, warehouses: int, rows: Mapping[str, int]) -> list[Check]:
    """The cardinalities that the load must have, against the ledger's tables; order_line is C4's."""
    districts = warehouses * tables.DISTRICTS
    expected = {
        "warehouse": warehouses,
        "district": districts,
        "customer": districts * CUSTOMERS,
        "history": districts * CUSTOMERS,
        "new_orders": districts * (CUSTOMERS - DELIVERED),
        "orders": districts * CUSTOMERS,
        "stock": warehouses * tables.ITEMS,
        "item": tables.ITEMS,
    }
    return [
        rows_check(f"{table}{end}", count, "the specification demands")
        for end in tables.suffixes(sets)
        for table, count in expected.items()
        if rows[f"{table}{end}"] != count
    ]


def ledger(end: str, warehouses: int, rows: Mapping[str, int]) -> list[Check]:
    """Sums of a set's columns, against what they were after the load and what was acknowledged since."""
    districts = warehouses * tables.DISTRICTS
    initial = {
        f"district{end}.d_next_o_id": districts * INITIAL_NEXT_ORDER,
        f"warehouse{end}.w_ytd": warehouses * INITIAL_W_YTD_CENTS,
        f"stock{end}.s_order_cnt": 0,
    }
    checks = []
    for name, before in initial.items():
        table, column = name.split(".")
        cents = column == "w_ytd"
        total = f"ROUND(SUM({column} * 100))" if cents else f"SUM({column})"
        checks.append(
            Check(
                f"SELECT {total} FROM {table}",
                before + rows.get(name, 0),
                "ledger",
                f"the sum of {name}{' in cents' if cents else ''}",
                "the clients' acknowledged transactions make it",
            )
        )
    return checks
