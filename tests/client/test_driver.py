"""What a driver is, whatever its family of servers."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ibench_lib.client.driver import CoreState, DriverMissing, StatementError, connect, core_of, each, statements_of
from ibench_lib.client.mysql.binary import Prepared
from ibench_lib.errors import WorkerFailed
from ibench_lib.runner.step import StepResult, run_step
from ibench_lib.workloads.insert_benchmark.steps import Step, plan
from ibench_lib.workloads.insert_benchmark.workers import OPERATIONS, spec, workers
from ibench_lib.workloads.tpcc import statements as tpcc_statements
from tests.fakes.linedb import entry_point
from tests.fakes.linedb.server import LineServer
from tests.waiting import PATIENCE_S
from tests.workloads.insert_benchmark.options import SETUP, Options, options

LINEDB = "tests.fakes.linedb.driver"


@pytest.mark.parametrize("text", ["a=%d", "a=%i AND b=%d", "a IN (%d,%d,%d)"])
def test_commands_made_together_are_those_made_one_by_one(text: str) -> None:
    count = text.count("%")
    values = np.random.default_rng(1).integers(0, 1 << 31, (40, count))
    rows = [tuple(row) for row in values.tolist()]
    for statement in (text.encode(), Prepared(b"\x17head", text)):
        assert each(statement, values) == [statement % row for row in rows]
        if count == 1:
            assert each(statement, values[:, 0]) == [statement % value for (value,) in rows]


def test_a_driver_that_has_nothing_compiled_is_python() -> None:
    assert core_of(LINEDB) == CoreState("Python")
    with pytest.raises(DriverMissing, match=r"no driver nowhere\.at\.all"):
        core_of("nowhere.at.all")


def test_a_driver_is_the_module_that_a_flavour_names() -> None:
    with pytest.raises(DriverMissing, match=r"no driver tests\.no_such_driver: the module is missing"):
        connect("tests.no_such_driver", {}, None, 1.0)


def test_a_driver_that_lacks_a_module_is_not_called_missing() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module_at_all"):
        connect("tests.fakes.linedb.incomplete", {}, None, 1.0)
    with pytest.raises(DriverMissing, match=r"family linedb9: workloads/tpcc/statements/linedb9\.py is missing"):
        statements_of(tpcc_statements, "linedb9")


def carried_out(
    server: LineServer, chosen: Options, step: Step, connections: int, driver: str = LINEDB
) -> tuple[StepResult, Counter[str]]:
    """A step of the Insert Benchmark by its own client processes, and the sums of the rows of their seconds."""
    sums, first = Counter[str](), workers(chosen, step)

    def second(_state: Any, row: dict[str, Any]) -> None:
        sums.update({f"{row['operation']} {name}": row[name] for name in ("ops", "rows")})
        sums.update({name: row[name] for name in ("retries", "deadlocks", "lock_timeouts", "changed", "errors")})

    specs = [spec(chosen, step, worker, 1) for worker in first]
    result = run_step(
        workers=[
            (worker, replace(each, connections=connections if worker.role == "querier" else 1))
            for worker, each in zip(first, specs, strict=True)
        ],
        operations={operation.name: operation for operation in OPERATIONS},
        driver=driver,
        address=server.address,
        database="rows",
        server_alive=lambda: True,
        on_start=lambda _states, _start_ns: None,
        on_second=second,
        on_progress=lambda _states, _start_ns: None,
    )
    if result.failure is not None:
        raise result.failure
    return result, sums


@pytest.mark.slow
def test_a_family_without_sql_for_a_workload_fails_its_step_in_one_line(tmp_path: Path) -> None:
    chosen = options(clients=1, engine="rocksdb", steps=["l.i0"])
    (load,) = plan(chosen, SETUP, 1.0)
    with LineServer(tmp_path, busy_every=7) as server, pytest.raises(WorkerFailed) as caught:
        carried_out(server, chosen, load, 1, "tests.fakes.linedb.unheard")
    where = "workloads/insert_benchmark/statements/unheard.py"
    assert caught.value.what.endswith(f": no SQL for servers of the family unheard: {where} is missing")
    assert "\n" not in caught.value.what and "died" not in caught.value.what


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["text", "prepared"])
def test_a_workload_runs_on_a_family_of_servers_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    """Another wire, SQL, prepared statements, errors and address; nothing outside of tests/fakes/linedb knows them."""
    chosen = options(clients=1, engine="rocksdb", protocol=protocol, steps=["l.i0", "l.x", "qr100"], queriers=1)
    load, index, query = plan(chosen, SETUP, 1.0)
    load, query = replace(load, amount=2_000), replace(query, seconds=2.0)
    monkeypatch.setenv("PYTHONPATH", str(entry_point(tmp_path)))
    with LineServer(tmp_path, busy_every=7) as server:
        server.ask(
            "CREATE TABLE pi1 (transactionid INTEGER PRIMARY KEY, dateandtime TEXT, cashregisterid INT, "
            "customerid INT, productid INT, price INT, data TEXT)"
        )
        _, loaded = carried_out(server, chosen, load, 1)
        assert loaded["insert rows"] == 2_000 and server.ask("SELECT COUNT(*) FROM pi1") == [(2_000,)]
        assert loaded["retries"] == loaded["lock_timeouts"] == server.refused > 0
        assert loaded["deadlocks"] == loaded["changed"] == loaded["errors"] == 0
        _, indexed = carried_out(server, chosen, index, 1)
        assert indexed["create_index ops"] == 3
        result, queried = carried_out(server, chosen, query, 3)
        assert queried["range_query ops"] > 3, "each of the three connections is served"
        # A query that begins at the end of its index finds fewer than ten rows.
        assert 9 < queried["range_query rows"] / queried["range_query ops"] <= 10
        assert queried["delete rows"] > 0 < queried["insert rows"]
        found, low = server.ask("SELECT COUNT(*), MIN(transactionid) FROM pi1")[0]
        assert found == 2_000 + queried["insert rows"] - queried["delete rows"]
        assert low == 1 + queried["delete rows"], "the oldest rows are deleted"
        assert {probe["name"] for state in result.workers for probe in state.probes} >= {"get_min"}
        times = [moment for (moment,) in server.ask("SELECT dateandtime FROM pi1 ORDER BY transactionid")]
        assert times == sorted(times) and len(set(times)) > 1
        assert not any(re.search("FORCE INDEX|TIMESTAMPDIFF|SET SESSION", text) for text in server.texts)
        connection = connect(LINEDB, server.address, None, PATIENCE_S)
        with pytest.raises(StatementError, match="no such table") as caught:
            connection.query("SELECT 1 FROM nowhere")
        assert caught.value.retry_reason is None
        connection.close()
