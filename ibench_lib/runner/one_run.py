"""The steps of one run on its server: send the load, capture, check and store, step by step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict
from typing import Any

from ibench_lib.base.memory_kills import killed_since, memory_kills
from ibench_lib.base.signals import signals_held_back
from ibench_lib.capture.session import Capture
from ibench_lib.client.driver import Connection, ConnectionLost, DriverMissing, StatementError, connect
from ibench_lib.errors import CaptureFailed, LakeError, RunFailed, ServerLost
from ibench_lib.experiment.cells import LoadedExperiment
from ibench_lib.runner import server as run_server
from ibench_lib.runner import silence
from ibench_lib.runner.capturing import capturing
from ibench_lib.runner.connections import demand, require_accepted
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.runner.settle import settle
from ibench_lib.runner.snapshot.use import RunSnapshot
from ibench_lib.runner.step import StepResult, run_step
from ibench_lib.runner.step_rows import StepRecorder, rows_added, said_of_programs
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.servers.address import Address
from ibench_lib.servers.flavours.flavour import flavour_of
from ibench_lib.servers.server import Server
from ibench_lib.store import manifest as records
from ibench_lib.store.writer import RunWriter
from ibench_lib.workloads.workload import Step

DATABASE = "ibench"


class OneRun:
    """The state of one run in progress. `current_step` is the name of the step that it has reached."""

    def __init__(
        self,
        experiment: LoadedExperiment,
        planned: PlannedCell,
        manifest: records.Manifest,
        writer: RunWriter,
        server: Server,
        snapshot: RunSnapshot | None,
        origin_ns: int,
        observer: Observer,
    ) -> None:
        self.workload = experiment.workload
        self.options = experiment.options(planned.cell)
        self.capture_options = experiment.spec.capture
        self.time_limits = experiment.spec.time_limits
        self.planned = planned
        self.manifest = manifest
        self.writer = writer
        self.server = server
        self.snapshot = snapshot
        self.origin_ns = origin_ns
        self.observer = observer
        self.current_step: str | None = None
        self.incarnation = 0  # starts of the server before the present one
        self._tables = self.workload.tables(self.options, planned.cell.setup)
        self._rows_by_table: dict[str, int] = {}
        self._memory_kills = memory_kills()
        self._standstill = silence.Standstill()

    def execute(self) -> None:
        """Start the server and run all steps. Raises the error that ends the run early; its message names the step."""
        with self._standstill:
            try:
                self._execute()
            finally:
                step = self.current_step
                self._stood_still("before the first step" if step is None else f"in or after step {step}")

    def _execute(self) -> None:
        numbered = list(enumerate(self.planned.steps))
        with self.server as where:
            self._ask(where)
            self._require_connections()
            if self.snapshot is None:
                self._create_tables(where.arguments())
                self._steps(numbered, where)
                return
            local = self.server.local
            assert local is not None
            loaded = len(self.snapshot.loaded)
            if self.snapshot.found:
                self._rows_by_table = self.snapshot.begin(local, self.manifest)
                self.writer.write_manifest(self.manifest)
            else:
                self._create_tables(where.arguments())
                self._steps(numbered[:loaded], where)
                where = self.snapshot.make(local, where.arguments(), DATABASE, self.manifest, self._rows_by_table)
                self.incarnation += 1
                self._ask(where)
            self._steps(numbered[loaded:], where)

    def _ask(self, where: Address) -> None:
        """Record what the server reports about itself after a start."""
        before = self.manifest.server
        self.manifest.server = run_server.ask(self.server, where.arguments())
        if before is not None:
            self.manifest.server.variables_changed = before.variables_changed
        warnings = run_server.not_as_asked(self.server, self.planned.config, self.manifest.server.variables)
        self.manifest.warnings += [sentence for sentence in warnings if sentence not in self.manifest.warnings]
        self.writer.write_manifest(self.manifest)

    def _require_connections(self) -> None:
        """End the run before it loads if the server accepts fewer connections than its steps need."""
        assert self.manifest.server is not None
        needed = demand(self.workload, self.options, self.planned.steps)
        require_accepted(self.server.build, self.manifest.server.variables, needed)

    def _steps(self, steps: list[tuple[int, Step]], where: Address) -> None:
        """Run some of the steps, each with its position among all steps, on one start of the server."""
        assert self.manifest.server is not None
        server, address = self.manifest.server, where.arguments()
        with capturing(
            self.manifest,
            self.writer,
            self.server,
            origin_ns=self.origin_ns,
            address=address,
            database=DATABASE,
            tables=self._tables,
            options=self.capture_options,
            incarnation=self.incarnation,
        ) as capture:
            for step_id, step in steps:
                self.current_step = step.name
                self._step(step_id, step, address, capture)
        server.variables_changed |= run_server.changed_variables(self.server, server.variables, address)

    def _create_tables(self, address: dict[str, Any]) -> None:
        with self._connected(address, "creating the tables", database=None) as connection:
            try:
                run_server.create_database(self.server, connection, DATABASE)
            except RunFailed as error:
                raise RunFailed(f"run {self.manifest.run_id}: {error.what}", hint=self._left_by(error.hint)) from error
            # On disk while it is there, for the case that this process is killed; `run_cell` takes it back.
            self.manifest.warnings += run_server.left_there(self.server)
            self.writer.write_manifest(self.manifest)
        with self._connected(address, "creating the tables") as connection:
            for statement in self.workload.prepare(self.options, self.planned.cell.setup, connection.family):
                connection.query(statement)
            self._rows_by_table = dict.fromkeys(self._tables, 0)

    def _left_by(self, hint: str | None) -> str | None:
        """What to do about a database that is there already: which run of this lake has left it, if any has."""
        beginning = run_server.still_on(self.server.build.label, DATABASE)
        for run_dir in sorted(self.writer.run_dir.parent.iterdir(), reverse=True):
            with suppress(LakeError):
                manifest = records.read_manifest(run_dir)
                if manifest.status != "running" and any(warning.startswith(beginning) for warning in manifest.warnings):
                    return f"run {manifest.run_id} has left it there: DROP DATABASE {DATABASE}, if nobody else uses it"
        return hint

    @contextmanager
    def _connected(self, address: dict[str, Any], what: str, database: str | None = DATABASE) -> Iterator[Connection]:
        """A connection for `what`, which is named where the server refuses a statement, or is gone.

        Raises
        ------
        RunFailed : that; `ServerLost` with the end of its log if the server has died.
        """
        try:
            timeout_s = self.options.statement_timeout_s if database else 60
            connection = connect(flavour_of(self.server.build).driver, address, database, timeout_s)
            try:
                yield connection
            finally:
                connection.close()
        except DriverMissing as error:
            raise RunFailed(f"run {self.manifest.run_id}, {what}: {error}") from error
        except (ConnectionLost, StatementError) as error:
            what = f"run {self.manifest.run_id}, {what}: {error}"
            if not run_server.has_died(self.server.alive):
                raise RunFailed(what) from error
            ending = self.server.ending()
            what = f"{what}; the server has died" + (f": it {ending}" if ending else "")
            raise self._with_memory(ServerLost(what, detail=self.server.log_tail())) from error

    def _step(self, step_id: int, step: Step, address: dict[str, Any], capture: Capture) -> None:
        options = self.options
        existing = sum(self._rows_by_table[table] for table in self._tables)
        if step.settle_before:
            self._settle(step, address)
        self.observer.step_begins(step)
        recorder = StepRecorder(self.writer, self.origin_ns, step_id, step, options.clients, existing)

        def starts(states: list[WorkerState], start_ns: int) -> None:
            capture.step_starts(start_ns)
            recorder.started(states, start_ns)

        def progress(states: list[WorkerState], start_ns: int | None) -> None:
            self.writer.check()
            if start_ns is not None:
                elapsed_s = (time.monotonic_ns() - start_ns) / 1e9
                self._check_time(elapsed_s)
                self.observer.step_progress(step, states, elapsed_s)

        if (warning := self._stood_still(f"before the load of step {step.name}")) is not None:
            self.observer.step_warned(step, warning)
        workers = self.workload.workers(options, step)
        with self._open_transaction(step, address) if step.background else nullcontext():
            result = run_step(
                workers=[(worker, self.workload.spec(options, step, worker, step_id)) for worker in workers],
                operations={operation.name: operation for operation in self.workload.operations},
                driver=flavour_of(self.server.build).driver,
                address=address,
                database=DATABASE,
                server_alive=self.server.alive,
                on_start=starts,
                on_second=recorder.second,
                on_progress=progress,
                on_ready=capture.step_ready,
                on_end=capture.step_stops,
                server_pid=self._server_pid,
            )
            self._warn_of_silence(step, result)
            with signals_held_back():  # a step that was measured is always stored
                length = self._history_list_length(address) if result.failure is None else None
                duration_s = recorder.ended(result, length)
                self._note_programs(result, step)
                capture.step_counted(step_id, step.name)
                for table, rows in rows_added(result).items():
                    self._rows_by_table[table] = self._rows_by_table.get(table, 0) + rows
                if result.failure is None:
                    self._seal_step(step)
        if result.failure is not None:
            raise self._named(result.failure, step)
        capture.step_ended(step_id, step.name)
        self._check(step_id, step, address)
        self.observer.step_ends(step, duration_s)

    def _server_pid(self) -> int | None:
        return self.server.local.pid() if self.server.local is not None else None

    def _warn_of_silence(self, step: Step, result: StepResult) -> None:
        """Put into the manifest, and say, for how long the step had no answer, and who stood still."""
        for warning in silence.warnings(step.name, step.kind, result.workers, result.watch):
            self.manifest.warnings.append(warning)
            self.observer.step_warned(step, warning)
        if result.watch.paused:
            self._standstill.longest_s()  # said
        elif (standstill := self._stood_still(f"while step {step.name} began or ended")) is not None:
            self.observer.step_warned(step, standstill)

    def _stood_still(self, when: str) -> str | None:
        """Put into the manifest that this process stood still since it was last asked, if it did."""
        if not (pause_s := self._standstill.longest_s()):
            return None
        self.manifest.warnings.append(silence.stood_still(pause_s, when))
        return self.manifest.warnings[-1]

    def _note_programs(self, result: StepResult, step: Step) -> None:
        """Record what driven programs did not report, and what was odd about what they printed."""
        warnings, reasons = said_of_programs(result)
        self.manifest.warnings += [f"step {step.name}, {warning}" for warning in warnings]
        self.manifest.null_reasons |= reasons
        if warnings or reasons:
            self.writer.write_manifest(self.manifest)

    def _check_time(self, step_s: float) -> None:
        """End a step or cell that takes longer than the experiment allows."""
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

    def _settle(self, step: Step, address: dict[str, Any]) -> None:
        timeout_s = self.options.statement_timeout_s
        with self._connected(address, f"settling before step {step.name}") as connection:
            settling = flavour_of(self.server.build).settling(self.server.build.release)
            actions = settle(connection, settling, self._tables, timeout_s, self._reset_binary_log(), step.settle_s)
        self.manifest.settle += [records.SettleAction(before_step=step.name, **asdict(action)) for action in actions]

    def _reset_binary_log(self) -> str | None:
        assert self.manifest.server is not None
        return run_server.reset_binary_log(self.server, self.manifest.server.variables)

    def _with_memory(self, failure: RunFailed) -> RunFailed:
        """The same failure with what the kernel has killed for lack of memory since the run began."""
        kills = killed_since(self._memory_kills)
        if kills is None:
            return failure
        hint = "give the server and the clients more memory, or a configuration that needs less; captured data is kept"
        return type(failure)(f"{failure.what}; {kills}", hint=hint, detail=failure.detail)

    def _named(self, failure: BaseException, step: Step) -> BaseException:
        """The same failure with run and step in its message, and the error log's tail when the server is gone."""
        if not isinstance(failure, RunFailed):
            return failure
        where = f"run {self.manifest.run_id}, step {step.name}"
        if isinstance(failure, CaptureFailed):
            return CaptureFailed(f"{where}: {failure.what}", hint=failure.hint)
        if self.server.disk_is_full():
            return ServerLost(
                f"{where}: disk full: the server cannot write its data; {failure.what}",
                hint="free space on the disks of the server's files; captured data is kept",
                detail=self.server.log_tail(),
            )
        is_lost = isinstance(failure, ServerLost)
        ending = self.server.ending() if is_lost else None
        named = type(failure)(
            f"{where}: {failure.what}" + (f"; the server {ending}" if ending else ""),
            hint=f"captured data is kept in {self.writer.run_dir.name}; its server.log may say more",
            detail=self.server.log_tail() if is_lost else None,
        )
        return self._with_memory(named)

    def _check(self, step_id: int, step: Step, address: dict[str, Any]) -> None:
        """Make the checks of the workload, and fail the run if the server's figures do not match."""
        checks = self.workload.checks(self.options, step, self._rows_by_table)
        if not checks:
            return
        failed: list[str] = []
        verdict = records.VerdictRecord(step=step.name, made=0, held=0)
        self.manifest.verdicts.append(verdict)
        try:
            with self._connected(address, f"step {step.name}: check failed") as connection:
                for number, check in enumerate(checks, 1):
                    sent = time.monotonic()
                    value = connection.scalar(check.statement)
                    seconds = time.monotonic() - sent
                    if check.table is not None:
                        self.writer.append(
                            "table_counts",
                            step_id=step_id,
                            step=step.name,
                            table_name=check.table,
                            row_count=value,
                            seconds=seconds,
                        )
                    self.writer.append(
                        "checks",
                        step_id=step_id,
                        step=step.name,
                        check_number=number,
                        rule=check.rule,
                        subject=check.subject,
                        found=value,
                        expected=check.expected,
                        broken_by=check.broken_by,
                        seconds=seconds,
                    )
                    verdict.made, verdict.held = number, verdict.held + (value == check.expected)
                    if value == check.expected:
                        continue
                    if check.broken_by is not None:
                        verdict.broken[check.subject] = check.broken_by
                        continue
                    seen = f"{check.table} has {value} rows" if check.table else f"{check.subject} is {value}"
                    failed.append(f"{seen}, but {check.proves} {check.expected}")
        finally:
            verdict.failed = failed
        if failed:
            more = f" ({len(failed) - 1} more of {len(checks)} checks failed)" if len(failed) > 1 else ""
            raise RunFailed(
                f"run {self.manifest.run_id}, step {step.name}: {failed[0]}{more}",
                hint="the figures of this run cannot be trusted; please report this",
                detail="\n".join(failed) if len(failed) > 1 else None,
            )

    def _history_list_length(self, address: dict[str, Any]) -> int | None:
        length, reason = flavour_of(self.server.build).history_list(address)
        if reason is not None:
            self.manifest.null_reasons["steps.history_list_length"] = reason
        return length

    @contextmanager
    def _open_transaction(self, step: Step, address: dict[str, Any]) -> Iterator[None]:
        """A transaction with a read view, held open during the load: purge must keep what it could still see."""
        with self._connected(address, f"step {step.name}: opening the long transaction") as connection:
            begin = flavour_of(self.server.build).long_transaction
            for statement in (*begin, *self.workload.background(self.options, step)):
                connection.query(statement)
            yield
