"""Terminals in processes of their own, on a loaded warehouse."""

from collections import Counter

import pytest

from ibench_lib.errors import WorkerFailed
from ibench_lib.run.step import WorkerState
from ibench_lib.workloads.tpcc.client import index_statements
from tests.faults import Victim
from tests.workloads.tpcc.warehouse import Warehouse, options, setup

FULL = options(checks="full")


@pytest.mark.parametrize(
    ("more", "terminals"),
    [({}, 4), ({"clients": 1, "isolation": "read_committed", "rate": 40.0}, 1), ({"home": "fixed"}, 3)],
)
def test_terminals_leave_what_they_acknowledge(warehouse: Warehouse, more: dict[str, object], terminals: int) -> None:
    before = dict(warehouse.rows)
    result, seconds = warehouse.run(options(**more), setup(terminals=terminals))
    assert result.failure is None
    done = Counter[str]()
    for row in seconds:
        done[row["operation"]] += row["ops"]
        done[f"{row['operation']} rows"] += row["rows"]
    assert done["new_order"] and done["payment"]
    assert warehouse.rows["orders"] - before["orders"] == done["new_order rows"]
    assert warehouse.rows["history"] - before["history"] == done["payment rows"]
    assert warehouse.broken(FULL, setup()) == []


def test_a_killed_terminal_process_ends_the_step_and_keeps_what_was_captured(warehouse: Warehouse) -> None:
    def kill(workers: list[WorkerState]) -> None:
        Victim(workers[0].process.pid).kill()

    result, seconds = warehouse.run(options(), setup(terminals=4, seconds=600.0), kill)
    try:
        assert isinstance(result.failure, WorkerFailed)
        assert result.failure.what == "client 1 terminal: died: killed by SIGKILL"
        assert {row["second"] for row in seconds} >= {0}
        assert result.workers[0].totals is None and result.workers[0].sums()["unknown"] == 2
    finally:
        warehouse.recount()
    names = [name for name in warehouse.broken(FULL, setup()) if "condition" in name]
    assert names == [], "the server has rolled back what was open"


def test_an_indexer_has_every_set_that_falls_to_its_process() -> None:
    details = {"sets": 3, "processes": 2, "foreign_keys": "none", "indexes": "all"}
    first, second = (index_statements(details, client) for client in (1, 2))
    assert {statement.split()[2][-1] for statement in first} == {"1", "3"}
    assert {statement.split()[2][-1] for statement in second} == {"2"}
