"""TPC-C on a real PostgreSQL: what was acknowledged is there, all conditions hold, and a violation of each is seen."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as pq
import pytest

from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.servers.build import Build
from ibench_lib.workloads.tpcc.checks import CONDITIONS, conditions
from ibench_lib.workloads.tpcc.client import Terminal
from ibench_lib.workloads.tpcc.workload import WORKLOAD
from tests.families.postgres import boxes
from tests.families.postgres.runs import register, table
from tests.waiting import until
from tests.workloads.tpcc.test_checks import BREAKS
from tests.workloads.tpcc.warehouse import DATABASE, Warehouse, load_with, options, setup, step_of

pytestmark = [pytest.mark.slow, pytest.mark.long]  # each loads a warehouse

FULL = options(checks="full")
LARGER = "shared_buffers = 256MB\nmax_wal_size = 1GB\nfsync = off\nsynchronous_commit = off\n"
ONE_ROW = {"C8": "UPDATE history SET h_amount = h_amount + 0.01 WHERE ctid = (SELECT min(ctid) FROM history)"}
TEXT = """
title: TPC-C on PostgreSQL
builds: [pg]
configs_folder: own
configs: [{name: larger, fragments: [cx10a, larger]}]
setups: [{name: one, warehouses: 1, terminals: 4, ramp_up: 1, seconds: 2}]
workload:
  {benchmark: tpcc, clients: 2, protocol: prepared, foreign_keys: checked, history_key: auto_increment, checks: full}
"""


class Served(Warehouse):
    """The same on PostgreSQL."""

    driver: ClassVar[str] = "ibench_lib.families.postgres.driver"

    def ask(self, statement: str, database: str | None = DATABASE) -> list[tuple[Any, ...]]:
        with self.connected(database) as connection:
            return list(connection.fetch(connection.command(statement.encode())))


@pytest.fixture(scope="module")
def warehouse(postgres: Build, open_folder: Path) -> Iterator[Served]:
    """One loaded warehouse for all tests: each leaves it consistent, with its ledger."""
    box = boxes.sandbox(postgres, open_folder / "tpcc", LARGER)
    with box as address:
        made = Served(box, address)
        made.rows = made.fill(DATABASE, options(clients=1), setup())
        assert made.broken(FULL, setup(), "load") == []
        made.index(options(clients=1), setup())
        yield made


@pytest.mark.parametrize(
    ("protocol", "isolation"),
    [("text", "repeatable_read"), ("prepared", "read_committed"), ("prepared", "serializable")],
)
def test_terminals_leave_what_they_acknowledge(warehouse: Served, protocol: str, isolation: str) -> None:
    before = dict(warehouse.rows)
    # With more terminals a transaction may fail to be serialised as often as it is repeated, which ends a run.
    terminals = 2 if isolation == "serializable" else 4
    result, seconds = warehouse.run(options(protocol=protocol, isolation=isolation), setup(terminals=terminals))
    assert result.failure is None
    done = Counter[str]()
    for row in seconds:
        done[f"{row['operation']} rows"] += row["rows"]
        done.update({name: row[name] for name in ("retries", "deadlocks", "lock_timeouts", "changed", "errors")})
    assert done["new_order rows"] and done["payment rows"]
    assert warehouse.rows["orders"] - before["orders"] == done["new_order rows"]
    assert warehouse.rows["history"] - before["history"] == done["payment rows"]
    assert done["retries"] == done["deadlocks"] + done["lock_timeouts"] + done["changed"] and done["errors"] == 0
    assert warehouse.broken(FULL, setup()) == []


def test_a_serialization_failure_is_repeated_and_counted(warehouse: Served) -> None:
    """A payment waits for the row of its warehouse, and the row has changed since its snapshot."""
    chosen = options(clients=1, weights=[0, 1, 0, 0, 0])
    step = step_of("run", chosen, setup(terminals=1))
    (worker,) = WORKLOAD.workers(chosen, step)
    with warehouse.connected() as holding, warehouse.connected() as paying:
        role = Terminal(WORKLOAD.spec(chosen, step, worker, 3), paying)
        holding.query("BEGIN")
        holding.query("UPDATE warehouse SET w_ytd = w_ytd WHERE w_id = 1")
        made: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
        thread = threading.Thread(target=lambda: made.append(load_with([role], [paying], worker.operations, 1)))
        thread.start()
        waits = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {paying.id} AND wait_event_type = 'Lock'"
        # Not by `holding`: within a transaction the server shows one connection the same activity again.
        until(lambda: warehouse.ask(waits) == [(b"1",)], "the payment waits for the warehouse")
        holding.query("COMMIT")
        thread.join(60)
    ((totals, seconds),) = made
    assert (totals["status"], totals["error"]) == ("complete", None)
    assert sum(row["changed"] for row in seconds) == sum(row["retries"] for row in seconds) == 1
    warehouse.note(totals["rows_by_table"])
    assert warehouse.broken(options(checks="cheap"), setup()) == []


def test_a_violation_of_each_condition_is_seen(warehouse: Served) -> None:
    with warehouse.connected() as connection:
        for name in CONDITIONS:
            (check,) = conditions("", [name])
            connection.query("BEGIN")
            connection.query({**BREAKS, **ONE_ROW}[name])
            assert connection.scalar(check.statement) == (10 if name == "C11" else 1), name
            connection.query("ROLLBACK")


def test_a_run_from_load_to_seal_with_keys_that_are_checked(postgres: Build, open_path: Path) -> None:
    workspace = Workspace(open_path)
    register(postgres, workspace)
    (open_path / "own").mkdir()
    (open_path / "own" / "larger.postgres.conf").write_text(LARGER)
    (open_path / "pg.yaml").write_text(TEXT)
    (manifest,) = run_experiment(load_experiment(open_path / "pg.yaml"), workspace, Observer()).made
    assert manifest.status == "complete" and manifest.workload["engine"] is None
    checks = table(workspace, "checks")
    assert {row["rule"] for row in checks if row["step"] == "run"} == {"rows", "ledger", *CONDITIONS} - {"C11"}
    assert all(row["found"] == row["expected"] for row in checks)
    steps = pq.read_table(workspace.run_dir(manifest.run_id) / "steps.parquet").to_pylist()
    assert [step["step"] for step in steps] == ["load", "index", "ramp_up", "run"]
