"""The verdict on a run of TPC-C: rows of tables, the consistency conditions, and the ledger of acknowledged work.

Conditions C1 to C12 are those of the specification (3.3.2). Each is a query for the number of rows that violate it.
They are joins of sums, so that they need no secondary index.
"""

from __future__ import annotations

from collections.abc import Mapping

from ibench_lib.workloads.tpcc import tables
from ibench_lib.workloads.tpcc.tables import CUSTOMERS, DELIVERED, INITIAL_NEXT_ORDER, INITIAL_W_YTD_CENTS
from ibench_lib.workloads.workload import Check

CHEAP = ("C1", "C2", "C3")
LOAD_ONLY = ("C11",)
MOST_WAREHOUSES_IN_FULL = 20

_LINES = "(SELECT ol_w_id, ol_d_id, COUNT(*) AS n FROM order_line@ GROUP BY ol_w_id, ol_d_id) l"
_DELIVERED = (
    "(SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS amount FROM orders@ JOIN order_line@ ON ol_w_id = o_w_id AND "
    "ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) d "
    "ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id"
)
_PAID = (
    "(SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS amount FROM history@ GROUP BY h_c_w_id, h_c_d_id, h_c_id) p "
    "ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id"
)

# By name: what it says, and the rows that violate it, as FROM and what follows; @ stands for the end of table names.
CONDITIONS = {
    "C1": (
        "w_ytd is the sum of d_ytd",
        "FROM warehouse@ LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS ytd FROM district@ GROUP BY d_w_id) d "
        "ON d_w_id = w_id WHERE NOT w_ytd <=> ytd",
    ),
    "C2": (
        "d_next_o_id - 1 is the largest o_id and, if orders wait, the largest no_o_id",
        "FROM district@ LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS last FROM orders@ GROUP BY o_w_id, o_d_id) o "
        "ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS last "
        "FROM new_orders@ GROUP BY no_w_id, no_d_id) n ON no_w_id = d_w_id AND no_d_id = d_id "
        "WHERE NOT d_next_o_id - 1 <=> o.last OR d_next_o_id - 1 <> n.last",
    ),
    "C3": (
        "the numbers of waiting orders have no gap",
        "FROM (SELECT 1 FROM new_orders@ GROUP BY no_w_id, no_d_id "
        "HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)) g",
    ),
    "C4": (
        "the sum of o_ol_cnt is the number of order lines of a district",
        "FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS total FROM orders@ GROUP BY o_w_id, o_d_id) o "
        f"LEFT JOIN {_LINES} ON ol_w_id = o_w_id AND ol_d_id = o_d_id WHERE NOT total <=> n",
    ),
    "C5": (
        "an order has no carrier if and only if it waits",
        "FROM orders@ LEFT JOIN new_orders@ ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id "
        "WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    "C6": (
        "o_ol_cnt is the number of an order's lines",
        "FROM orders@ LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS n FROM order_line@ "
        "GROUP BY ol_w_id, ol_d_id, ol_o_id) l ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id "
        "WHERE NOT o_ol_cnt <=> n",
    ),
    "C7": (
        "a line has no delivery date if and only if its order has no carrier",
        "FROM order_line@ LEFT JOIN orders@ ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id "
        "WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    "C8": (
        "w_ytd is the sum of h_amount of a warehouse",
        "FROM warehouse@ LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS amount FROM history@ GROUP BY h_w_id) h "
        "ON h_w_id = w_id WHERE NOT w_ytd <=> amount",
    ),
    "C9": (
        "d_ytd is the sum of h_amount of a district",
        "FROM district@ LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS amount FROM history@ "
        "GROUP BY h_w_id, h_d_id) h ON h_w_id = d_w_id AND h_d_id = d_id WHERE NOT d_ytd <=> amount",
    ),
    "C10": (
        "c_balance is what was delivered less what was paid",
        f"FROM customer@ LEFT JOIN {_DELIVERED} LEFT JOIN {_PAID} "
        "WHERE c_balance <> COALESCE(d.amount, 0) - COALESCE(p.amount, 0)",
    ),
    "C11": (
        f"{DELIVERED} orders of a district do not wait",
        "FROM (SELECT o_w_id, o_d_id, COUNT(*) AS total FROM orders@ GROUP BY o_w_id, o_d_id) o "
        "LEFT JOIN (SELECT no_w_id, no_d_id, COUNT(*) AS waiting FROM new_orders@ GROUP BY no_w_id, no_d_id) n "
        f"ON no_w_id = o_w_id AND no_d_id = o_d_id WHERE total - COALESCE(waiting, 0) <> {DELIVERED}",
    ),
    "C12": (
        "c_balance + c_ytd_payment is what was delivered",
        f"FROM customer@ LEFT JOIN {_DELIVERED} WHERE c_balance + c_ytd_payment <> COALESCE(d.amount, 0)",
    ),
}


def conditions(end: str, wanted: list[str]) -> list[Check]:
    """The consistency conditions of a set, by what its tables' names end with."""
    of_set = f" in set {end}" if end else ""
    return [
        Check(
            f"SELECT COUNT(*) {CONDITIONS[name][1].replace('@', end)}",
            0,
            f"condition {name} ({CONDITIONS[name][0]}) allows",
            name=f"the number of rows that violate condition {name}{of_set}",
        )
        for name in wanted
    ]


def wanted(checks: str, sets: int, warehouses: int, *, after_load: bool) -> list[str]:
    """The names of the conditions to check."""
    full = checks == "full" or (checks == "auto" and sets * warehouses <= MOST_WAREHOUSES_IN_FULL)
    return [name for name in CONDITIONS if (full or name in CHEAP) and (after_load or name not in LOAD_ONLY)]


def row_counts(sets: int, rows: Mapping[str, int]) -> list[Check]:
    """COUNT(*) of every table against the ledger."""
    proves = "the clients' acknowledged operations leave"
    return [Check(f"SELECT COUNT(*) FROM {table}", rows[table], proves, table) for table in tables.names(sets)]


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
        Check(f"SELECT COUNT(*) FROM {table}{end}", count, "the specification demands", f"{table}{end}")
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
        checks.append(
            Check(
                f"SELECT CAST(SUM({column}){' * 100' if cents else ''} AS SIGNED) FROM {table}",
                before + rows.get(name, 0),
                "the clients' acknowledged transactions make it",
                name=f"the sum of {name}{' in cents' if cents else ''}",
            )
        )
    return checks
