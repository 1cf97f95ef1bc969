"""One cell of an experiment: a fresh server, the workload's steps, everything captured into one run directory.

However a run ends, its server is stopped and reaped, and what was captured until then is sealed with the manifest
saying complete, failed (and at which step and why) or interrupted.
"""

from __future__ import annotations

import platform
import queue
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from ibench_lib import run_server
from ibench_lib.capture.collector import Scene
from ibench_lib.capture.host_facts import host_facts
from ibench_lib.capture.server_counters import history_list_length
from ibench_lib.capture.session import Capture
from ibench_lib.client.connection import Connection
from ibench_lib.client.wire import ConnectionLost, StatementError
from ibench_lib.cnf import ServerConfig
from ibench_lib.errors import IbenchError, Interrupted, RunFailed, ServerLost
from ibench_lib.experiment import Cell, LoadedExperiment
from ibench_lib.interrupts import signals_as_interrupts, signals_held_back
from ibench_lib.lake import manifest as records
from ibench_lib.lake.writer import RunWriter
from ibench_lib.paths import Workspace, make_run_id
from ibench_lib.run_server import Server
from ibench_lib.servers.build import Build
from ibench_lib.servers.remote import Remote
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.step import WorkerState, run_step
from ibench_lib.step_record import StepMeasured, record_step, rows_added
from ibench_lib.workloads import insert_benchmark
from ibench_lib.workloads.insert_benchmark import Step
from ibench_lib.workloads.settle import settle

DATABASE = "ibench"
CLOCK_TOLERANCE_S = 1.0
_LIBRARIES = ("duckdb", "numpy", "pyarrow", "pymysql")


class Observer(Protocol):
    """Who is told how a run goes: a progress display, or nobody."""

    def step_begins(self, step: Step) -> None: ...

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None: ...

    def step_ends(self, step: Step, duration_s: float) -> None: ...


def run_cell(
    experiment: LoadedExperiment, cell: Cell, build: Build | Remote, workspace: Workspace, observer: Observer
) -> records.Manifest:
    """Make one run. Returns its manifest.

    Raises
    ------
    ServerStartError : the server does not come up.
    RunFailed : a step failed; the run is kept as failed.
    Interrupted : Ctrl-C or SIGTERM; the run is kept as interrupted.
    """
    config = experiment.server_config(cell, build.flavour, build.release)
    skipped = run_server.fit(build, config, experiment.spec.workload)
    origin_ns, origin_wall = time.monotonic_ns(), datetime.now(UTC)
    run_id = make_run_id(experiment.name, cell.setup.name, cell.dbms, cell.repeat, origin_wall)
    options = experiment.spec.workload
    steps = insert_benchmark.plan(options, cell.setup, experiment.spec.scale)
    writer = RunWriter(workspace.run_dir(run_id))
    my_cnf = writer.run_dir / "my.cnf"
    my_cnf.write_text(config.render(), encoding="utf-8")
    manifest = records.Manifest(
        tool_version=version("ibench"),
        run_id=run_id,
        status="running",
        origin_wall=origin_wall.isoformat(),
        experiment=records.ExperimentRecord(name=experiment.name, title=experiment.spec.title, text=experiment.text),
        cell=records.Cell(
            build=cell.build,
            config=cell.config.name,
            dbms=cell.dbms,
            setup=cell.setup.name,
            repeat=cell.repeat,
            fingerprint=experiment.fingerprint(cell, build.version, config),
        ),
        workload=insert_benchmark.describe(options, cell.setup, steps),
        scale=experiment.spec.scale,
        config=records.ConfigRecord(
            my_cnf=config.render(),
            fragments=config.fragments,
            options=[records.OptionRecord(**asdict(option)) for option in config.options],
            skipped=skipped,
            dropped=list(config.dropped),
        ),
        host=host_facts(writer.run_dir),
        versions={"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}},
    )
    if isinstance(build, Remote):
        manifest.warnings.append(
            f"the server, {build.basedir}, is remote: it has its own configuration; host facts are the clients'"
        )
    manifest.warnings += [f"skipped, since this server does not know it: {line}" for line in skipped]
    manifest.warnings += [f"left out, since a sandbox decides it: {line}" for line in config.dropped]
    run = _Run(
        manifest,
        config,
        writer,
        run_server.open_server(build, config, options, workspace, writer.run_dir),
        origin_ns,
        observer,
    )
    with signals_as_interrupts():
        try:
            run.execute(options, steps)
            manifest.status = "complete"
        except KeyboardInterrupt:
            manifest.status, manifest.error = "interrupted", "interrupted by the user"
            raise Interrupted(
                f"run {run_id} interrupted",
                hint="what was captured is kept; run the experiment again to repeat the cell",
            ) from None
        except IbenchError as error:
            manifest.status, manifest.error = "failed", error.what
            raise
        except Exception as error:
            manifest.status, manifest.error = "failed", f"{type(error).__name__}: {error}"
            raise
        finally:
            manifest.failed_step = run.current_step if manifest.status != "complete" else None
            ended_wall = datetime.now(UTC)
            manifest.ended_wall = ended_wall.isoformat()
            jump_s = (ended_wall - origin_wall).total_seconds() - (time.monotonic_ns() - origin_ns) / 1e9
            if abs(jump_s) > CLOCK_TOLERANCE_S:
                manifest.warnings.append(
                    f"the wall clock jumped by {jump_s:+.1f} s during the run; rates and durations do not use it"
                )
            writer.seal(manifest)
    return manifest


class _Run:
    """The state of one run while it is made."""

    def __init__(
        self,
        manifest: records.Manifest,
        config: ServerConfig,
        writer: RunWriter,
        server: Server,
        origin_ns: int,
        observer: Observer,
    ) -> None:
        self.manifest = manifest
        self.config = config
        self.writer = writer
        self.server = server
        self.origin_ns = origin_ns
        self.observer = observer
        self.current_step: str | None = None
        self._samples: queue.SimpleQueue[tuple[str, dict[str, Any]]] = queue.SimpleQueue()
        self._rows_by_table: dict[str, int] = {}

    def execute(self, options: insert_benchmark.Options, steps: list[Step]) -> None:
        with self.server as where:
            address = where.arguments()
            self.manifest.server = run_server.ask(self.server, address)
            variables = self.manifest.server.variables
            self.manifest.warnings += run_server.not_as_asked(self.server, self.config, variables)
            records.write_manifest(self.writer.run_dir, self.manifest)
            self._create_tables(address, options)
            with TemporaryDirectory(prefix="ibench-capture-") as scratch:
                capture = Capture(self._scene(address, variables, options, Path(scratch)), self._emit)
                try:
                    with capture:
                        for step_id, step in enumerate(steps):
                            self.current_step = step.name
                            self._step(step_id, step, options, address, capture)
                finally:
                    self._drain_samples()
                    self.manifest.null_reasons.update(capture.null_reasons())
                    self.manifest.warnings += capture.warnings()
            assert self.manifest.server is not None
            self.manifest.server.variables_changed = run_server.changed_variables(variables, address)

    def _scene(
        self, address: dict[str, Any], variables: dict[str, str], options: insert_benchmark.Options, scratch: Path
    ) -> Scene:
        server = self.server
        sandbox = server if isinstance(server, Sandbox) else None
        return Scene(
            origin_ns=self.origin_ns,
            address=address,
            server_pid=lambda: sandbox.process.pid if sandbox and sandbox.process and sandbox.alive() else None,
            datadir=sandbox.datadir if sandbox else None,
            tmpdir=sandbox.tmpdir if sandbox else None,
            database=DATABASE,
            tables=tuple(insert_benchmark.tables(options)),
            variables=variables,
            scratch=scratch,
        )

    def _emit(self, table: str, **row: Any) -> None:
        self._samples.put((table, row))

    def _create_tables(self, address: dict[str, Any], options: insert_benchmark.Options) -> None:
        connection = Connection(address, None, timeout_s=60)
        try:
            run_server.create_database(self.server, connection, DATABASE)
            connection.query(f"USE {DATABASE}")
            for table in insert_benchmark.tables(options):
                connection.query(insert_benchmark.create_table(table, options))
                self._rows_by_table[table] = 0
        except (ConnectionLost, StatementError) as error:
            raise RunFailed(f"run {self.manifest.run_id}: creating the tables: {error}") from error
        except RunFailed as error:
            raise RunFailed(f"run {self.manifest.run_id}: {error.what}", hint=error.hint) from error
        finally:
            connection.close()

    def _step(
        self,
        step_id: int,
        step: Step,
        options: insert_benchmark.Options,
        address: dict[str, Any],
        capture: Capture,
    ) -> None:
        existing = sum(self._rows_by_table.values())
        if step.settle_before:
            self._settle(step, options, address)
        self.observer.step_begins(step)

        def progress(states: list[WorkerState], start_ns: int | None) -> None:
            if start_ns is not None:
                self.observer.step_progress(step, states, (time.monotonic_ns() - start_ns) / 1e9)

        with _long_transaction(address, options) if step.long_transaction else nullcontext():
            result = run_step(
                step=step,
                step_id=step_id,
                options=options,
                workers=insert_benchmark.workers(options, step),
                address=address,
                database=DATABASE,
                server_alive=self.server.alive,
                on_progress=progress,
            )
            with signals_held_back():  # between measured and stored there is no place to stop
                length = self._history_list_length(address) if result.failure is None else None
                measured = StepMeasured(step_id, step, options.clients, existing, length, result)
                duration_s = record_step(self.writer, self.origin_ns, measured)
                for table, rows in rows_added(result).items():
                    self._rows_by_table[table] += rows
                self._drain_samples()
                self.writer.flush()
        if result.failure is not None:
            raise self._named(result.failure, step)
        capture.step_ended(step_id, step.name)
        self._drain_samples()
        if options.count_rows:
            self._verify_counts(step_id, step, address, options.statement_timeout_s)
            self.writer.flush()
        self.observer.step_ends(step, duration_s)

    def _settle(self, step: Step, options: insert_benchmark.Options, address: dict[str, Any]) -> None:
        connection = Connection(address, DATABASE, options.statement_timeout_s)
        try:
            actions = settle(
                connection, insert_benchmark.tables(options), options.statement_timeout_s, self._reset_binary_log()
            )
        except (ConnectionLost, StatementError) as error:
            raise RunFailed(f"run {self.manifest.run_id}, settling before step {step.name}: {error}") from error
        finally:
            connection.close()
        self.manifest.settle = [records.SettleAction(before_step=step.name, **asdict(action)) for action in actions]

    def _reset_binary_log(self) -> str | None:
        assert self.manifest.server is not None
        return run_server.reset_binary_log(self.server, self.manifest.server.variables)

    def _named(self, failure: BaseException, step: Step) -> BaseException:
        """The same failure with run and step in its message, and the error log's tail when the server is gone."""
        if not isinstance(failure, RunFailed):
            return failure
        lost = isinstance(failure, ServerLost)
        return type(failure)(
            f"run {self.manifest.run_id}, step {step.name}: {failure.what}",
            hint=f"what was captured is kept in {self.writer.run_dir.name}; its server.log may say more",
            detail=self.server.log_tail() if lost else None,
        )

    def _verify_counts(self, step_id: int, step: Step, address: dict[str, Any], timeout_s: float) -> None:
        """Ask the server for COUNT(*) and refuse to go on with figures that do not add up."""
        connection = Connection(address, DATABASE, timeout_s)
        try:
            for table, expected in self._rows_by_table.items():
                sent = time.monotonic()
                counted = connection.scalar(f"SELECT COUNT(*) FROM {table}")
                self.writer.append(
                    "table_counts",
                    step_id=step_id,
                    step=step.name,
                    table_name=table,
                    row_count=counted,
                    seconds=time.monotonic() - sent,
                )
                if counted != expected:
                    raise RunFailed(
                        f"run {self.manifest.run_id}, step {step.name}: {table} has {counted} rows, "
                        f"but the clients' acknowledged inserts and deletes make {expected}",
                        hint="the figures of this run cannot be trusted; please report this",
                    )
        except (ConnectionLost, StatementError) as error:
            raise RunFailed(f"run {self.manifest.run_id}, step {step.name}: COUNT(*) failed: {error}") from error
        finally:
            connection.close()

    def _history_list_length(self, address: dict[str, Any]) -> int | None:
        length, reason = history_list_length(address)
        if reason is not None:
            self.manifest.null_reasons["steps.history_list_length"] = reason
        return length

    def _drain_samples(self) -> None:
        while not self._samples.empty():
            table, row = self._samples.get()
            self.writer.append(table, **row)


@contextmanager
def _long_transaction(address: dict[str, Any], options: insert_benchmark.Options) -> Iterator[None]:
    """A transaction with a read view, held open beside the load: what it could still see, purge must keep."""
    connection = Connection(address, DATABASE, options.statement_timeout_s)
    try:
        connection.query("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        connection.query(f"SELECT 1 FROM {insert_benchmark.tables(options)[0]} LIMIT 1")
        yield
    except (ConnectionLost, StatementError) as error:
        raise RunFailed(f"opening the long transaction: {error}") from error
    finally:
        connection.close()
