"""All cells of an experiment, one after another. A cell whose complete run is in the lake already is not run again."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ibench_lib.base.scratch import sweep_scratch
from ibench_lib.base.signals import Patience
from ibench_lib.base.wording import count
from ibench_lib.capture.host_facts import host_class_here
from ibench_lib.errors import CellNotTried, CellsFailed, IbenchError, Interrupted, UsageError
from ibench_lib.experiment.cells import Cell, LoadedExperiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.cell import run_cell
from ibench_lib.runner.ledger import Ledger, State, running_alone
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import manifests, mixed_with, plan_experiment, wanted_snapshots
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.runner.snapshot.kept import sweep as sweep_snapshots
from ibench_lib.servers.sandbox_directory import sweep as sweep_sandboxes
from ibench_lib.store.manifest import Manifest
from ibench_lib.store.recover import recover_all
from ibench_lib.store.transfer import ARRIVING

RunCell = Callable[[LoadedExperiment, PlannedCell, Workspace, Observer, Patience | None], Manifest]


@dataclass(frozen=True)
class SweepResult:
    """Manifests of the runs made, and the ids of the runs that stood for a cell already."""

    made: list[Manifest] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


class Tally:
    """What becomes of each cell, told alike to the ledger, to the observer, and to whoever asked for the cells."""

    def __init__(self, name: str, planned: list[PlannedCell], ledger: Ledger, observer: Observer) -> None:
        self.result = SweepResult()
        self.failures: list[tuple[Cell, IbenchError]] = []
        self._name, self._of, self._ledger, self._observer = name, len(planned), ledger, observer
        self._lasting: dict[tuple[str, str, str], Cell] = {}

    def skipped(self, number: int, cell: Cell, run_id: str) -> None:
        """A cell is already complete, by an earlier run."""
        self._observer.cell_skipped(number, self._of, cell, run_id)
        self.result.skipped.append(run_id)

    def not_tried(self, number: int, entry: PlannedCell) -> bool:
        """Whether there is no sense in trying a cell: another repeat of it has failed, and so would this one."""
        cell, before = entry.cell, self._lasting.get(_kind(entry.cell))
        if before is None:
            return False
        why = f"as repeat {before.repeat}"
        self._ledger.skip(self._name, cell.key, cell.position, entry.fingerprint, socket.gethostname(), why)
        self._observer.cell_not_tried(number, self._of, cell, why)
        self.failures.append((cell, CellNotTried(f"skipped: {why}")))
        return True

    def begins(self, number: int, entry: PlannedCell, worker: str | None = None) -> int:
        """Returns the number of the attempt."""
        cell, host = entry.cell, worker or socket.gethostname()
        self._observer.cell_begins(number, self._of, cell, worker)
        return self._ledger.begin(self._name, cell.key, cell.position, entry.fingerprint, host)

    def completed(self, attempt: int, cell: Cell, manifest: Manifest, worker: str | None = None) -> None:
        """An attempt has made a complete run."""
        self._ledger.end(attempt, "complete", manifest.run_id)
        self._observer.cell_ends(cell, manifest, worker)
        self.result.made.append(manifest)

    def failed(
        self, attempt: int, cell: Cell, error: IbenchError, worker: str | None = None, run_id: str | None = None
    ) -> None:
        """An attempt has failed, or its cell could not start."""
        self._ledger.end(attempt, "failed", run_id, error.what)
        self._observer.cell_failed(cell, error, worker)
        self.failures.append((cell, error))
        if error.lasting:
            self._lasting.setdefault(_kind(cell), cell)

    def ended(self, attempt: int, state: State, error: str, run_id: str | None = None) -> None:
        """An attempt has ended, and its cell has neither completed nor failed."""
        self._ledger.end(attempt, state, run_id, error)

    def verdict(self) -> SweepResult:
        """The result, where no cell failed.

        Raises
        ------
        CellsFailed : some did. The failure itself, where there is one cell only.
        """
        if self.failures and self._of == 1:
            raise self.failures[0][1]
        if self.failures:
            not_tried = sum(isinstance(error, CellNotTried) for _, error in self.failures)
            skipped = f", {not_tried} {'was' if not_tried == 1 else 'were'} not tried again" if not_tried else ""
            raise CellsFailed(
                f"{self._name}: {len(self.failures) - not_tried} of {count(self._of, 'cell')} failed{skipped};"
                f" {count(len(self.result.made), 'new run')}",
                hint="their captured data is in the lake; run the experiment again to repeat them",
                detail="\n".join(f"{cell}: {error.what}" for cell, error in self.failures),
            )
        return self.result


def run_experiment(
    experiment: LoadedExperiment,
    workspace: Workspace,
    observer: Observer,
    *,
    again: bool = False,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    fail_fast: bool = False,
    any_host: bool = False,
    run: RunCell = run_cell,
) -> SweepResult:
    """Run every chosen cell that has no complete run with the same fingerprint; all of them when `again`.

    Runs that a dead runner has left in the lake are sealed first. Builds and configurations of all cells are resolved
    before the first one runs. A cell that fails does not keep the others from being run, unless `fail_fast`; but after
    a failure that would only repeat itself (`IbenchError.lasting`), further repeats of that cell are not tried.

    Raises
    ------
    BuildNotFound, ConfigError, UsageError : before anything runs; also where other cells of the experiment were run
        on a host of another class, unless `any_host`.
    CellsFailed : after the last cell, when some failed. The failure itself, where there is one cell only.
    Interrupted : Ctrl-C; the first one lets the cell under way end, a second one does not.
    """

    def plan() -> list[PlannedCell]:
        if again:
            sweep_snapshots(workspace.snapshots)
        planned = plan_experiment(experiment, workspace, only=only, without=without, again=again, observer=observer)
        here = None if any_host else host_class_here(workspace.sandboxes)
        if here and (reason := mixed_with(experiment, planned, manifests(workspace), here)):
            raise UsageError(
                f"this host does not match the existing runs: {reason}",
                hint="run all cells here with --again, or use --any-host to mix figures of different hosts",
            )
        return planned

    def work(planned: list[PlannedCell], tally: Tally) -> SweepResult:
        try:
            return _run_all(experiment, planned, workspace, observer, tally, run, fail_fast=fail_fast)
        except Interrupted as error:
            if workspace.snapshots.is_dir() and any(workspace.snapshots.iterdir()):
                error.hint = f"{error.hint}; the loaded data is kept for it in {workspace.snapshots}"
            raise

    return conduct(experiment, workspace, observer, plan, work)


def conduct(
    experiment: LoadedExperiment,
    workspace: Workspace,
    observer: Observer,
    plan: Callable[[], list[PlannedCell]],
    work: Callable[[list[PlannedCell], Tally], SweepResult],
) -> SweepResult:
    """What surrounds the cells, wherever they are run: one experiment at a time, dead runs sealed, both ends told.

    Raises
    ------
    UsageError : somebody runs an experiment here already.
    """
    with running_alone(workspace):
        ledger = Ledger(workspace)
        ledger.close_abandoned()
        sweep_sandboxes(workspace.sandboxes)
        sweep_scratch()
        sweep_scratch(ARRIVING, workspace.runs)
        for recovered in recover_all(workspace.runs)[0]:
            observer.run_recovered(recovered)
        planned = plan()
        observer.experiment_begins(experiment.name, planned)
        outcome = "interrupted"
        try:
            result = work(planned, Tally(experiment.name, planned, ledger, observer))
            outcome = "complete"
            return result
        except Interrupted:
            raise
        except IbenchError:
            outcome = "failed"
            raise
        finally:
            observer.experiment_ends(experiment.name, outcome)


def _run_all(
    experiment: LoadedExperiment,
    planned: list[PlannedCell],
    workspace: Workspace,
    observer: Observer,
    tally: Tally,
    run: RunCell,
    *,
    fail_fast: bool,
) -> SweepResult:
    patience = Patience(observer.stopping)
    for number, entry in enumerate(planned, start=1):
        cell = entry.cell
        sweep_snapshots(workspace.snapshots, wanted_snapshots(planned[number - 1 :]))
        if entry.run_id is not None:
            tally.skipped(number, cell, entry.run_id)
            continue
        if patience.asked_to_stop:
            raise Interrupted(
                f"stopped before {cell}, cell {number} of {len(planned)}", hint="run the experiment again to continue"
            )
        if tally.not_tried(number, entry):
            continue
        attempt = tally.begins(number, entry)
        try:
            manifest = run(experiment, entry, workspace, observer, patience)
        except Interrupted as error:
            tally.ended(attempt, "interrupted", error.what)
            raise
        except IbenchError as error:
            tally.failed(attempt, cell, error)
            if fail_fast:
                break
            continue
        except BaseException as error:
            tally.ended(attempt, "failed", f"{type(error).__name__}: {error}")
            raise
        tally.completed(attempt, cell, manifest)
    sweep_snapshots(workspace.snapshots)  # not reached when interrupted: to go on then takes up what is there
    return tally.verdict()


def _kind(cell: Cell) -> tuple[str, str, str]:
    """What the repeats of a cell have in common."""
    return cell.build, cell.config.name, cell.setup.name
