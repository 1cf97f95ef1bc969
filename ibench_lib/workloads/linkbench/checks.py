"""The verdict on a run of LinkBench: rows of tables, counts against the links that are shown, and the ledger."""

from __future__ import annotations

from collections.abc import Mapping

from ibench_lib.workloads.linkbench.requester import LEDGER_SHOWN
from ibench_lib.workloads.linkbench.tables import COUNT, LINK, NAMES, SHOWN
from ibench_lib.workloads.workload import Check, rows_check


def row_counts(rows: Mapping[str, int]) -> list[Check]:
    """COUNT(*) of every table against the ledger."""
    proves = "the clients' acknowledged operations leave"
    return [rows_check(table, rows[table], proves) for table in NAMES]


def population(rows: Mapping[str, int], expected: Mapping[str, int]) -> list[Check]:
    """The rows that the load must have added, if the ledger's are others."""
    return [rows_check(table, count, "the load has") for table, count in expected.items() if rows[table] != count]


def sums(rows: Mapping[str, int]) -> list[Check]:
    """The sum of all counts, and the number of links that are shown, against the ledger."""
    shown, proves = rows.get(LEDGER_SHOWN, 0), "the clients' acknowledged operations make it"
    total = f"SELECT COALESCE(SUM(count), 0) FROM {COUNT}"
    links = f"SELECT COUNT(*) FROM {LINK} WHERE visibility={SHOWN}"
    return [
        Check(total, shown, "ledger", "the sum of counts", proves),
        Check(links, shown, "ledger", "the number of links shown", proves),
    ]


def counts(nodes: int) -> list[Check]:
    """The count of each node and type against its links that are shown, for the nodes up to this id."""
    if nodes == 0:
        return []
    return [
        Check(
            "SELECT COUNT(*) FROM (SELECT 1 FROM ("
            # A product with a decimal has a sign, which an unsigned column of MySQL has not.
            f"SELECT id, link_type, 1.0 * count AS x FROM {COUNT} WHERE id <= {nodes} UNION ALL "
            f"SELECT id1, link_type, -COUNT(*) FROM {LINK} WHERE visibility={SHOWN} AND id1 <= {nodes} "
            "GROUP BY id1, link_type) u GROUP BY id, link_type HAVING SUM(x) <> 0) v",
            0,
            "counts",
            "the number of counts that differ from the links shown",
            "LinkBench allows",
        )
    ]
