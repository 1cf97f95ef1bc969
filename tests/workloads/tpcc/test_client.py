"""Terminals in processes of their own, on a loaded warehouse."""

import re
from collections import Counter
from contextlib import suppress
from typing import Any, cast

import psutil
import pymysql
import pytest

from ibench_lib.errors import WorkerFailed
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.workloads.tpcc.client import Terminal
from ibench_lib.workloads.tpcc.mix import KEYING_S
from ibench_lib.workloads.tpcc.workload import WORKLOAD
from tests.faults import Victim
from tests.workloads.tpcc.warehouse import Warehouse, options, setup, step_of

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


@pytest.mark.long
def test_terminals_that_think_do_so_outside_of_their_transactions(warehouse: Warehouse) -> None:
    """Waits of 21 s are a tenth of a second here; no response has a part of them, and the step lasts to its end."""
    chosen = options(think_time=0.005)
    result, seconds = warehouse.run(chosen, setup(terminals=8, seconds=6.0))
    assert result.failure is None
    assert result.start_ns is not None
    lasted_s = max((state.totals or {})["end_ns"] - result.start_ns for state in result.workers) / 1e9
    assert lasted_s >= 6.0
    busy_s = sum(row["service_sum_us"] for row in seconds) / 1e6
    keyed_s = 0.005 * sum(row["ops"] * KEYING_S[row["operation"]] for row in seconds)
    assert busy_s > 0 < keyed_s and busy_s + keyed_s <= 8 * lasted_s
    assert warehouse.broken(FULL, setup()) == []


def test_a_terminal_that_thinks_sends_what_it_would_send_anyway(warehouse: Warehouse) -> None:
    sent = []
    for factor in (None, 0.5):
        chosen, size = options(clients=1, think_time=factor), setup(terminals=1)
        step = step_of("run", chosen, size)
        (worker,) = WORKLOAD.workers(chosen, step)
        with warehouse.connected() as connection:
            role = Terminal(WORKLOAD.spec(chosen, step, worker, 3), connection)
            sent.append([cast(Any, role.next_transaction()).given for _ in range(50)])
            assert role.pauses == (factor is not None) and (role.pause_ns > 0) == role.pauses
    assert sent[0] == sent[1]


def test_64_terminals_need_little_memory(warehouse: Warehouse) -> None:
    used = list[int]()

    def look(workers: list[WorkerState]) -> None:
        used.extend(psutil.Process(worker.process.pid).memory_info().rss for worker in workers)

    result, seconds = warehouse.run(options(), setup(terminals=64, seconds=4.0), look)
    assert result.failure is None
    assert len(used) == 2 and sum(used) < 400e6
    assert sum(row["ops"] for row in seconds) >= 64
    assert warehouse.broken(FULL, setup()) == []


@pytest.mark.fault("F3")
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


def test_lost_connections_end_the_step_and_bound_what_is_unknown(warehouse: Warehouse) -> None:
    """The server ends all connections of the terminals at once, as when it is lost."""

    def lose(_workers: list[WorkerState]) -> None:
        with warehouse.hand() as hand, hand.cursor() as cursor:
            cursor.execute(
                "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND db = 'ibench'"
            )
            for (number,) in cursor.fetchall():
                with suppress(pymysql.err.MySQLError):  # it may have ended by itself
                    cursor.execute(f"KILL {number}")

    result, seconds = warehouse.run(options(), setup(terminals=4, seconds=600.0), lose)
    try:
        assert isinstance(result.failure, WorkerFailed)
        assert re.fullmatch(r"client [12] terminal: .*connection lost: .*", result.failure.what), result.failure.what
        assert seconds
        unknown = sum((state.totals or {})["unknown"] for state in result.workers)
        assert 1 <= unknown <= 4
        more = 0
        for table in ("orders", "history"):  # a row for each new order and payment
            ((found,),) = warehouse.ask(f"SELECT COUNT(*) FROM {table}")
            assert found >= warehouse.rows[table], "what was acknowledged is there"
            more += found - warehouse.rows[table]
        assert more <= unknown, "what is there beyond that was committed with an unknown outcome"
    finally:
        warehouse.recount()
    assert [name for name in warehouse.broken(FULL, setup()) if "condition" in name] == []
