"""One cell of an experiment: a fresh server, the workload's steps, everything captured into one run directory.

However a run ends, its server is stopped and reaped, and what was captured until then is sealed with the manifest
saying complete, failed (and at which step and why) or interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Protocol

from ibench_lib.base.signals import Patience, signals_as_interrupts, signals_held_back
from ibench_lib.capture.options import CaptureOptions
from ibench_lib.capture.server_counters import history_list_length
from ibench_lib.capture.session import Capture
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.wire import ConnectionLost, StatementError
from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.errors import CaptureFailed, HostUnfit, IbenchError, Interrupted, LakeError, RunFailed, ServerLost
from ibench_lib.experiment.cells import Cell, LoadedExperiment
from ibench_lib.experiment.file import TimeLimits
from ibench_lib.lake import manifest as records
from ibench_lib.lake.writer import RunWriter
from ibench_lib.paths import Workspace, make_run_id
from ibench_lib.run import server as run_server
from ibench_lib.run.capturing import capturing
from ibench_lib.run.description import describe_run
from ibench_lib.run.preflight import examine
from ibench_lib.run.server import Server
from ibench_lib.run.settle import settle
from ibench_lib.run.snapshot.use import RunSnapshot, snapshot_bytes
from ibench_lib.run.step import WorkerState, run_step
from ibench_lib.run.step_rows import StepRecorder, rows_added
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build
from ibench_lib.servers.remote import Remote
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.workloads.insert_benchmark import workload
from ibench_lib.workloads.insert_benchmark.workload import Step

DATABASE = "ibench"
CLOCK_TOLERANCE_S = 1.0


class Observer(Protocol):
    """Receives the progress of a run, such as a progress display."""

    def step_begins(self, step: Step) -> None: ...

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None: ...

    def step_ends(self, step: Step, duration_s: float) -> None: ...


def run_cell(
    experiment: LoadedExperiment,
    cell: Cell,
    build: Build | Remote,
    workspace: Workspace,
    observer: Observer,
    patience: Patience | None = None,
) -> records.Manifest:
    """Make one run. Returns its manifest. With `patience` a first Ctrl-C does not end it.

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
    steps = workload.plan(options, cell.setup, experiment.spec.scale)
    tables_bytes = workload.forecast_bytes(options, steps)
    snapshot = None
    if experiment.spec.snapshot_after is not None:
        snapshot = RunSnapshot(experiment, cell, build, config, workspace, steps)
    aside_bytes = snapshot_bytes(config, options, snapshot.loaded) if snapshot and not snapshot.found else 0
    run_server.require_space(build, config, tables_bytes, workspace, aside_bytes)
    disk_bytes = run_server.needed_bytes(config, tables_bytes) + aside_bytes
    findings = examine(workspace, disk_bytes, run_server.buffer_pool_bytes(config))
    if findings and experiment.spec.strict:
        raise HostUnfit(
            f"{cell}: `strict` is set, and this host is not fit to measure: {findings[0]}",
            hint="fix it, or remove `strict` to get a warning instead",
            detail="\n".join(findings),
        )
    writer = RunWriter(workspace.run_dir(run_id), mask=run_server.mask_for(build, workspace, run_id, experiment.folder))
    my_cnf = writer.run_dir / "my.cnf"
    my_cnf.write_text(config.render(), encoding="utf-8")
    manifest = describe_run(
        run_id,
        workspace,
        experiment,
        cell,
        build,
        config,
        skipped=skipped,
        workload=workload.describe(options, cell.setup, steps),
        origin_wall=origin_wall,
    )
    manifest.warnings += findings
    writer.write_manifest(manifest)
    run = _Run(
        manifest,
        config,
        writer,
        run_server.open_server(
            build, config, options, workspace, writer.run_dir, snapshot.origin if snapshot else None
        ),
        snapshot,
        origin_ns,
        observer,
        experiment.spec.capture,
        experiment.spec.time_limits,
    )
    with signals_as_interrupts(patience):
        try:
            run.execute(options, steps)
            manifest.status = "complete"
        except KeyboardInterrupt:
            manifest.status, manifest.error = "interrupted", "interrupted by the user"
            raise Interrupted(
                f"run {run_id} interrupted",
                hint="captured data is kept; run the experiment again to repeat the cell",
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
            _seal(writer, manifest)
    return manifest


def _seal(writer: RunWriter, manifest: records.Manifest) -> None:
    """Seal a run. Where that fails after something else has, the first failure is the one to tell."""
    complete = manifest.status == "complete"
    try:
        writer.seal(manifest)
    except LakeError:
        if complete:
            raise


class _Run:
    """The state of one run while it is made."""

    def __init__(
        self,
        manifest: records.Manifest,
        config: ServerConfig,
        writer: RunWriter,
        server: Server,
        snapshot: RunSnapshot | None,
        origin_ns: int,
        observer: Observer,
        capture_options: CaptureOptions,
        time_limits: TimeLimits,
    ) -> None:
        self.manifest = manifest
        self.config = config
        self.writer = writer
        self.server = server
        self.snapshot = snapshot
        self.origin_ns = origin_ns
        self.observer = observer
        self.capture_options = capture_options
        self.time_limits = time_limits
        self.current_step: str | None = None
        self.incarnation = 0  # starts of the server before the present one
        self._rows_by_table: dict[str, int] = {}

    def execute(self, options: workload.Options, steps: list[Step]) -> None:
        numbered = list(enumerate(steps))
        with self.server as where:
            self._ask(where)
            if self.snapshot is None:
                self._create_tables(where.arguments(), options)
                self._steps(numbered, options, where)
                return
            assert isinstance(self.server, Sandbox)
            loaded = len(self.snapshot.loaded)
            if self.snapshot.found:
                self._rows_by_table = self.snapshot.begin(self.server, self.manifest)
                self.writer.write_manifest(self.manifest)
            else:
                self._create_tables(where.arguments(), options)
                self._steps(numbered[:loaded], options, where)
                where = self.snapshot.make(self.server, where.arguments(), self.manifest, self._rows_by_table)
                self.incarnation += 1
                self._ask(where)
            self._steps(numbered[loaded:], options, where)

    def _ask(self, where: Address) -> None:
        """What the server says of itself after a start."""
        before = self.manifest.server
        self.manifest.server = run_server.ask(self.server, where.arguments())
        if before is not None:
            self.manifest.server.variables_changed = before.variables_changed
        said = run_server.not_as_asked(self.server, self.config, self.manifest.server.variables)
        self.manifest.warnings += [sentence for sentence in said if sentence not in self.manifest.warnings]
        self.writer.write_manifest(self.manifest)

    def _steps(self, steps: list[tuple[int, Step]], options: workload.Options, where: Address) -> None:
        """Some of the steps, each with its place among all, on one start of the server."""
        assert self.manifest.server is not None
        server, address = self.manifest.server, where.arguments()
        with capturing(
            self.manifest,
            self.writer,
            self.server,
            origin_ns=self.origin_ns,
            address=address,
            database=DATABASE,
            tables=workload.tables(options),
            options=self.capture_options,
            incarnation=self.incarnation,
        ) as capture:
            for step_id, step in steps:
                self.current_step = step.name
                self._step(step_id, step, options, address, capture)
        server.variables_changed |= run_server.changed_variables(server.variables, address)

    def _create_tables(self, address: dict[str, Any], options: workload.Options) -> None:
        connection = Connection(address, None, timeout_s=60)
        try:
            run_server.create_database(self.server, connection, DATABASE)
            connection.query(f"USE {DATABASE}")
            for table in workload.tables(options):
                connection.query(workload.create_table(table, options))
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
        options: workload.Options,
        address: dict[str, Any],
        capture: Capture,
    ) -> None:
        existing = sum(self._rows_by_table.values())
        if step.settle_before:
            self._settle(step, options, address)
        self.observer.step_begins(step)
        recorder = StepRecorder(self.writer, self.origin_ns, step_id, step, options.clients, existing)

        def progress(states: list[WorkerState], start_ns: int | None) -> None:
            self.writer.check()
            if start_ns is not None:
                elapsed_s = (time.monotonic_ns() - start_ns) / 1e9
                self._check_time(elapsed_s)
                self.observer.step_progress(step, states, elapsed_s)

        with _long_transaction(address, options) if step.long_transaction else nullcontext():
            result = run_step(
                step=step,
                step_id=step_id,
                options=options,
                workers=workload.workers(options, step),
                address=address,
                database=DATABASE,
                server_alive=self.server.alive,
                on_start=recorder.started,
                on_second=recorder.second,
                on_progress=progress,
            )
            with signals_held_back():  # between measured and stored there is no place to stop
                length = self._history_list_length(address) if result.failure is None else None
                duration_s = recorder.ended(result, length)
                for table, rows in rows_added(result).items():
                    self._rows_by_table[table] += rows
                if result.failure is None:
                    self._seal_step(step)
        if result.failure is not None:
            raise self._named(result.failure, step)
        capture.step_ended(step_id, step.name)
        if options.count_rows:
            self._verify_counts(step_id, step, address, options.statement_timeout_s)
        self.observer.step_ends(step, duration_s)

    def _check_time(self, step_s: float) -> None:
        """End a step, or the cell, that takes longer than the experiment allows."""
        limits, cell_s = self.time_limits, (time.monotonic_ns() - self.origin_ns) / 1e9
        if limits.step_s is not None and step_s > limits.step_s:
            raise RunFailed(f"it exceeded the time limit of a step, {limits.step_s:g} s")
        if limits.cell_s is not None and cell_s > limits.cell_s:
            raise RunFailed(f"it exceeded the time limit of a cell, {limits.cell_s:g} s")

    def _seal_step(self, step: Step) -> None:
        try:
            self.writer.seal_step(self.manifest)
        except CaptureFailed as error:
            raise self._named(error, step) from error

    def _settle(self, step: Step, options: workload.Options, address: dict[str, Any]) -> None:
        connection = Connection(address, DATABASE, options.statement_timeout_s)
        try:
            actions = settle(
                connection, workload.tables(options), options.statement_timeout_s, self._reset_binary_log()
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
        where = f"run {self.manifest.run_id}, step {step.name}"
        if isinstance(failure, CaptureFailed):
            return CaptureFailed(f"{where}: {failure.what}", hint=failure.hint)
        if run_server.disk_is_full(self.server):
            return ServerLost(
                f"{where}: disk full: the server cannot write its data; {failure.what}",
                hint="free space on the disk of data/sandboxes; captured data is kept",
                detail=self.server.log_tail(),
            )
        return type(failure)(
            f"{where}: {failure.what}",
            hint=f"captured data is kept in {self.writer.run_dir.name}; its server.log may say more",
            detail=self.server.log_tail() if isinstance(failure, ServerLost) else None,
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
                        f"but the clients' acknowledged inserts and deletes leave {expected}",
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


@contextmanager
def _long_transaction(address: dict[str, Any], options: workload.Options) -> Iterator[None]:
    """A transaction with a read view, held open during the load: purge must keep what it could still see."""
    connection = Connection(address, DATABASE, options.statement_timeout_s)
    try:
        connection.query("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.query("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        connection.query(f"SELECT 1 FROM {workload.tables(options)[0]} LIMIT 1")
        yield
    except (ConnectionLost, StatementError) as error:
        raise RunFailed(f"opening the long transaction: {error}") from error
    finally:
        connection.close()
