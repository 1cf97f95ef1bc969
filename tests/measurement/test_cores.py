"""With the compiled core and without it, each workload does the same: by the server's own log, and by its tables."""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pymysql
import pytest

from ibench_lib import paths
from ibench_lib.client.compiled_core import CHOICE
from ibench_lib.client.load import Load
from ibench_lib.client.many import ManyLoad, Terminal
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.connection_core import CORE
from ibench_lib.client.recorder import SecondRecorder
from ibench_lib.client.role import next_operation
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.workloads.insert_benchmark.workload import WORKLOAD as INSERT_BENCHMARK
from ibench_lib.workloads.linkbench.workload import WORKLOAD as LINKBENCH
from ibench_lib.workloads.tpcc.workload import WORKLOAD as TPCC
from ibench_lib.workloads.tpcc.workload import Tpcc
from ibench_lib.workloads.workload import Workload
from tests.client.mysql.conftest import NEEDS_CORE

pytestmark = [pytest.mark.long, NEEDS_CORE]

MY_CNF = "[mysqld]\nskip_log_bin\ninnodb_flush_log_at_trx_commit=0\nlog_output=TABLE\ninnodb_doublewrite=0\n"
MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?|\b1\d{9}(\d{3})?\b")
"""A date with time, and seconds or milliseconds since 1970: each run has its own."""
MOST_OPERATIONS = 300


@pytest.fixture(scope="module")
def address(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    folder = tmp_path_factory.mktemp("cores")
    (folder / "my.cnf").write_text(MY_CNF)
    box = Sandbox(build, folder / "box", folder / "my.cnf", folder / "log", templates=paths.workspace().datadirs)
    with box as address:
        yield address


@pytest.fixture
def choose(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Chooses the core of the connections made next."""

    def chosen(choice: str) -> None:
        monkeypatch.setenv(CHOICE, choice)
        CORE.forget()

    yield chosen
    monkeypatch.undo()
    CORE.forget()


@dataclass(frozen=True)
class Doing:
    """What a workload did on a database of its own."""

    address: Address
    database: str
    workload: Workload
    options: dict[str, Any]
    setup: dict[str, Any]
    many: bool

    def run(self) -> tuple[list[Any], list[Any]]:
        """The totals and the statements of each client, in the order of the steps; and the tables at the end."""
        made = importlib.import_module(f"{type(self.workload).__module__.rpartition('.')[0]}.options")
        options, setup = made.Options(**self.options), made.Setup(name="one", **self.setup)
        self.ask(f"CREATE DATABASE {self.database}", None)
        for statement in self.workload.prepare(options, setup, "mysql"):
            self.ask(statement)
        did = []
        for number, step in enumerate(self.workload.steps(options, setup, 1.0)):
            for worker in self.workload.workers(options, step):
                spec = replace(self.workload.spec(options, step, worker, number), tick_ns=None, connections=1)
                did.append(self.client(spec, digests=step.kind == "load" and isinstance(self.workload, Tpcc)))
        return did, [self.sums(table) for table in self.workload.tables(options, setup)]

    def client(self, spec: Any, *, digests: bool) -> Any:
        """One client process's part of a step, in this process, of not too many operations.

        `digests`: statements are compared by their digests. Those that load a warehouse, which has only fixed dates,
        are 100 MB.
        """
        statements = MOST_OPERATIONS if spec.statements is None else spec.statements
        connection = Connection(self.address.arguments(), self.database, 60.0)
        try:
            thread = connection.scalar("SELECT CONNECTION_ID()")
            role = importlib.import_module(spec.module).make_role(spec, connection)
            first, start_ns = next_operation(role), time.monotonic_ns()
            recorder = SecondRecorder(start_ns, paced=False, emit=lambda _row: None, operations=spec.operations)
            self.ask("TRUNCATE mysql.general_log", None)
            self.ask("SET GLOBAL general_log = ON", None)
            if self.many:
                places = [Terminal(role, connection, first)]
                totals = ManyLoad(places, recorder, start_ns, statements, None, None, 60.0).run()
            else:
                totals = Load(role, connection, recorder, start_ns, statements, None, None, None, first).run()
            self.ask("SET GLOBAL general_log = OFF", None)
        finally:
            connection.close()
        assert totals["status"] == "complete", totals["error"]
        argument = "MD5(argument)" if digests else "CONVERT(argument USING utf8mb4)"
        told = f"SELECT command_type, {argument} FROM mysql.general_log WHERE thread_id = {thread}"
        statements_sent = [(kind, MOMENT.sub("then", text)) for kind, text in self.ask(told, None)]
        kept = {name: totals[name] for name in ("ops", "rows", "errors", "retries", "rows_by_table", "outcomes")}
        return spec.role, kept, statements_sent

    def sums(self, table: str) -> Any:
        """Rows of a table, and a sum over all of its columns that have no time."""
        sought = f"table_schema = '{self.database}' AND table_name = '{table}' AND column_name != 'time'"
        columns = self.ask(
            f"SELECT column_name FROM information_schema.columns WHERE {sought} AND data_type NOT LIKE 'date%'"
            " AND data_type != 'timestamp' ORDER BY 1"
        )
        text = ", ".join(f"COALESCE(`{name}`, 'null')" for (name,) in columns)
        return table, self.ask(f"SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', {text}))) FROM `{table}`")

    def ask(self, statement: str, database: str | None = "") -> list[tuple[Any, ...]]:
        where = {**self.address.arguments(), "database": self.database if database == "" else database}
        with pymysql.connect(**where, autocommit=True) as hand, hand.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())


STEPS = ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100"]
REQUESTS = {"requesters": [1], "control": False, "partitions": 0, "checked_ids": 0, "degree_tail": "scaled"}
WAREHOUSE = {"warehouses": 1, "terminals": 1, "ramp_up": 1, "seconds": 2}
CASES: dict[str, tuple[Workload, dict[str, Any], dict[str, Any], bool]] = {
    "insert_benchmark": (
        INSERT_BENCHMARK,
        {"steps": STEPS},
        {"l_i0_rows": 2000, "l_i1_rows": 2000, "l_i2_rows": 500, "query_seconds": 1},
        False,
    ),
    "linkbench, one": (LINKBENCH, REQUESTS, {"nodes": 500, "seconds": 2, "warm_up": 1}, False),
    "linkbench, many": (LINKBENCH, REQUESTS, {"nodes": 500, "seconds": 2, "warm_up": 1}, True),
    "tpcc, prepared, many": (TPCC, {"profile": "tpcc_mysql"}, WAREHOUSE, True),
}


@pytest.mark.parametrize("name", CASES)
def test_a_workload_does_the_same_with_the_core_and_without(
    address: Address, choose: Callable[[str], None], name: str
) -> None:
    workload, options, setup, many = CASES[name]
    options = {"benchmark": name.partition(",")[0], "clients": 1, **options}
    found = []
    for choice in ("0", "1"):
        choose(choice)
        database = re.sub(r"\W+", "_", f"{name}_{choice}")
        found.append(Doing(address, database, workload, options, setup, many).run())
    (python, tables), (fast, tables_of_fast) = found
    assert tables == tables_of_fast
    for before, after in zip(python, fast, strict=True):
        assert before == after
    sent = [kind for _, _, statements in fast for kind, _ in statements]
    assert len(sent) > MOST_OPERATIONS and ("Execute" in sent) == ("prepared" in name)
