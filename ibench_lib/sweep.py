"""All cells of an experiment, one after another. A cell whose complete run is in the lake already is not run again."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ibench_lib.capture.host_facts import host_class_here
from ibench_lib.errors import CellsFailed, IbenchError, Interrupted, UsageError
from ibench_lib.experiment import Cell, LoadedExperiment
from ibench_lib.interrupts import Patience
from ibench_lib.lake.manifest import Manifest
from ibench_lib.lake.recover import recover_all
from ibench_lib.ledger import Ledger, running_alone
from ibench_lib.paths import Workspace
from ibench_lib.runner import Observer, run_cell
from ibench_lib.servers.build import Build
from ibench_lib.servers.remote import Remote
from ibench_lib.servers.sandbox import sweep as sweep_sandboxes
from ibench_lib.sweep_plan import Planned, manifests, mixed_with, plan_experiment

RunCell = Callable[[LoadedExperiment, Cell, Build | Remote, Workspace, Observer, Patience | None], Manifest]


class SweepObserver(Observer, Protocol):
    """Who is told how an experiment goes."""

    def experiment_begins(self, name: str, planned: list[Planned]) -> None: ...

    def cell_begins(self, number: int, of: int, cell: Cell) -> None: ...

    def cell_ends(self, cell: Cell, manifest: Manifest) -> None: ...

    def cell_failed(self, cell: Cell, error: IbenchError) -> None: ...

    def run_recovered(self, manifest: Manifest) -> None: ...

    def cell_skipped(self, number: int, of: int, cell: Cell, run_id: str) -> None: ...

    def stopping(self) -> None: ...

    def experiment_ends(self, name: str, outcome: str) -> None: ...


@dataclass(frozen=True)
class SweepResult:
    """Manifests of the runs made, and the ids of the runs that stood for a cell already."""

    made: list[Manifest] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def run_experiment(
    experiment: LoadedExperiment,
    workspace: Workspace,
    observer: SweepObserver,
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
    before the first one runs. A cell that fails does not keep the others from being run, unless `fail_fast`.

    Raises
    ------
    BuildNotFound, ConfigError, UsageError : before anything runs; also where other cells of the experiment were run
        on a host of another class, unless `any_host`.
    CellsFailed : after the last cell, when some failed. The failure itself, where there is one cell only.
    Interrupted : Ctrl-C; the first one lets the cell under way end, a second one does not.
    """
    with running_alone(workspace):
        ledger = Ledger(workspace)
        ledger.close_abandoned()
        sweep_sandboxes(workspace.sandboxes)
        for recovered in recover_all(workspace.runs)[0]:
            observer.run_recovered(recovered)
        planned = plan_experiment(experiment, workspace, only=only, without=without, again=again)
        here = None if any_host else host_class_here(workspace.sandboxes)
        if here and (reason := mixed_with(experiment, planned, manifests(workspace), here)):
            raise UsageError(
                f"this host will not do: {reason}",
                hint="run all cells here with --again, or mix figures of different hosts with --any-host",
            )
        observer.experiment_begins(experiment.name, planned)
        outcome = "interrupted"
        try:
            result = _run_all(experiment, planned, workspace, observer, ledger, run, fail_fast=fail_fast)
            outcome = "complete"
            return result
        except CellsFailed:
            outcome = "failed"
            raise
        finally:
            observer.experiment_ends(experiment.name, outcome)


def _run_all(
    experiment: LoadedExperiment,
    planned: list[Planned],
    workspace: Workspace,
    observer: SweepObserver,
    ledger: Ledger,
    run: RunCell,
    *,
    fail_fast: bool,
) -> SweepResult:
    result, patience = SweepResult(), Patience(observer.stopping)
    failures: list[tuple[Cell, IbenchError]] = []
    for number, entry in enumerate(planned, start=1):
        cell = entry.cell
        if entry.run_id is not None:
            observer.cell_skipped(number, len(planned), cell, entry.run_id)
            result.skipped.append(entry.run_id)
            continue
        if patience.asked_to_stop:
            raise Interrupted(
                f"stopped before {cell}, cell {number} of {len(planned)}", hint="run the experiment again to go on"
            )
        observer.cell_begins(number, len(planned), cell)
        attempt = ledger.begin(experiment.name, cell.key, cell.position, entry.fingerprint, socket.gethostname())
        try:
            manifest = run(experiment, cell, entry.build, workspace, observer, patience)
        except Interrupted as error:
            ledger.end(attempt, "interrupted", error=error.what)
            raise
        except IbenchError as error:
            ledger.end(attempt, "failed", error=error.what)
            observer.cell_failed(cell, error)
            failures.append((cell, error))
            if fail_fast:
                break
            continue
        except BaseException as error:
            ledger.end(attempt, "failed", error=f"{type(error).__name__}: {error}")
            raise
        ledger.end(attempt, "complete", manifest.run_id)
        observer.cell_ends(cell, manifest)
        result.made.append(manifest)
    if failures and len(planned) == 1:
        raise failures[0][1]
    if failures:
        raise CellsFailed(
            f"{experiment.name}: {len(failures)} of {len(planned)} cells failed; {len(result.made)} runs made",
            hint="what they had captured is in the lake; run the experiment again to repeat them",
            detail="\n".join(f"{cell}: {error.what}" for cell, error in failures),
        )
    return result
