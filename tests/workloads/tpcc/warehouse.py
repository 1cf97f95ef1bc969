"""A server with one loaded warehouse, and a hand on its terminals."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pymysql

from ibench_lib import paths
from ibench_lib.client.driver import Connection, connect, family_of
from ibench_lib.client.many import ManyLoad
from ibench_lib.client.many import Terminal as Place
from ibench_lib.client.recorder import SecondRecorder
from ibench_lib.client.role import Role
from ibench_lib.runner.step import StepResult, run_step
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.workloads.tpcc.checks import ledger
from ibench_lib.workloads.tpcc.client import make_role
from ibench_lib.workloads.tpcc.options import Options, Setup
from ibench_lib.workloads.tpcc.steps import Step
from ibench_lib.workloads.tpcc.tables import names
from ibench_lib.workloads.tpcc.workload import WORKLOAD

DATABASE = "ibench"
MY_CNF = (
    "[mysqld]\ninnodb_buffer_pool_size=768M\ninnodb_log_file_size=768M\ninnodb_doublewrite=0\nskip_log_bin\n"
    "innodb_flush_log_at_trx_commit=0\n"
)


def options(**more: Any) -> Options:
    return Options(benchmark="tpcc", **more)


def setup(**more: Any) -> Setup:
    return Setup(**{"name": "one", "warehouses": 1, "terminals": 4, "seconds": 2.0, "ramp_up": 1.0, **more})


def step_of(kind: str, options: Options, setup: Setup) -> Step:
    (found,) = (step for step in WORKLOAD.steps(options, setup, 1.0) if step.kind == kind)
    assert isinstance(found, Step)
    return found


@dataclass
class Warehouse:
    """A server whose database has the tables of `setup()` after load and index, and what was acknowledged since.

    `sums` are the checksums of the tables after the load.
    """

    driver: ClassVar[str] = "ibench_lib.client.mysql.connection"

    box: Sandbox
    address: Address
    rows: dict[str, int] = field(default_factory=dict)
    sums: list[int] = field(default_factory=list)

    def fill(self, database: str, options: Options, setup: Setup) -> dict[str, int]:
        """Load a database, the work of its client processes one after another. Returns the ledger."""
        self.ask(f"CREATE DATABASE {database}", None)
        rows = dict.fromkeys(WORKLOAD.tables(options, setup), 0)
        for statement in WORKLOAD.prepare(options, setup, family_of(self.driver)):
            self.ask(statement, database)
        for table, added in self._send("load", database, options, setup).items():
            rows[table] += added
        return rows

    def index(self, options: Options, setup: Setup) -> None:
        """Make the secondary indexes of the database that all tests share."""
        self._send("index", DATABASE, options, setup)

    def _send(self, kind: str, database: str, options: Options, setup: Setup) -> Counter[str]:
        step, added = step_of(kind, options, setup), Counter[str]()
        for worker in WORKLOAD.workers(options, step):
            spec = WORKLOAD.spec(options, step, worker, 0)
            with self.connected(database) as connection:
                role = make_role(spec, connection)
                sent = sum(connection.execute(role.next_statement()) for _ in range(spec.statements or 0))
                added.update(role.rows_by_table({"insert": sent}))
        return added

    def checksums(self, database: str = DATABASE) -> list[int]:
        """Of all tables."""
        return [row[1] for row in self.ask(f"CHECKSUM TABLE {', '.join(names(1))}", database)]

    @contextmanager
    def connected(self, database: str | None = DATABASE) -> Any:
        connection = connect(self.driver, self.address.arguments(), database, 60.0)
        try:
            yield connection
        finally:
            connection.close()

    def ask(self, statement: str, database: str | None = DATABASE) -> list[tuple[Any, ...]]:
        """Rows that a statement gives, on a connection of its own."""
        with self.hand(database) as hand, hand.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def hand(self, database: str | None = DATABASE) -> pymysql.Connection[Any]:
        """A connection to hold locks with."""
        return pymysql.connect(**self.address.arguments(), database=database, autocommit=True, read_timeout=60)

    def broken(self, options: Options, setup: Setup, kind: str = "run") -> list[str]:
        """What the checks after a step find, as the names of the checks or their tables."""
        found = []
        with self.connected() as connection:
            for check in WORKLOAD.checks(options, step_of(kind, options, setup), self.rows):
                if connection.scalar(check.statement) != check.expected:
                    found.append(check.table or check.subject)
        return found

    def run(
        self,
        options: Options,
        setup: Setup,
        act: Callable[[list[WorkerState]], None] = lambda _: None,
    ) -> tuple[StepResult, list[dict[str, Any]]]:
        """The step `run` with real client processes, and the rows of its seconds. `act` is called once, in mid-step."""
        step, seconds, done = step_of("run", options, setup), [], []

        def progress(workers: list[WorkerState], start_ns: int | None) -> None:
            if seconds and not done:
                done.append(True)
                act(workers)

        result = run_step(
            workers=[(worker, WORKLOAD.spec(options, step, worker, 3)) for worker in WORKLOAD.workers(options, step)],
            operations={operation.name: operation for operation in WORKLOAD.operations},
            driver=self.driver,
            address=self.address.arguments(),
            database=DATABASE,
            server_alive=self.box.alive,
            on_start=lambda _workers, _start: None,
            on_second=lambda _state, row: seconds.append(row),
            on_progress=progress,
        )
        for state in result.workers:
            self.note((state.totals or {}).get("rows_by_table") or {})
        return result, seconds

    def recount(self) -> None:
        """Begin the ledger again, with what the tables have: some outcomes are unknown."""
        for table in names(1):
            ((self.rows[table],),) = self.ask(f"SELECT COUNT(*) FROM {table}")
        for check in ledger("", 1, {}):
            name = check.subject.split()[3]
            self.rows[name] = int(self.ask(check.statement)[0][0]) - check.expected

    def note(self, changed: Mapping[str, int]) -> None:
        """Add to the ledger."""
        for name, count in changed.items():
            self.rows[name] = self.rows.get(name, 0) + count


def opened(build: Build, folder: Path) -> Sandbox:
    (folder / "my.cnf").write_text(MY_CNF)
    return Sandbox(build, folder / "box", folder / "my.cnf", folder / "log", templates=paths.workspace().datadirs)


def load_with(
    roles: Sequence[Role], connections: Sequence[Connection], operations: tuple[str, ...], statements: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The loop of many connections in this process: its totals, and the rows of its seconds."""
    seconds: list[dict[str, Any]] = []
    start_ns = time.monotonic_ns()
    recorder = SecondRecorder(start_ns, paced=False, emit=seconds.append, operations=operations)
    places = [Place(role, connection) for role, connection in zip(roles, connections, strict=True)]
    load = ManyLoad(places, recorder, start_ns, statements, None, None, 60.0)
    return load.run(), seconds
