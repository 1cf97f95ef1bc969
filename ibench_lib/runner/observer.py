"""Observers of an experiment that runs: a progress display, the event log, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ibench_lib.errors import IbenchError

if TYPE_CHECKING:  # `ibench status` reads the log, and needs none of what a run needs
    from ibench_lib.experiment.cells import Cell
    from ibench_lib.runner.planned import PlannedCell
    from ibench_lib.runner.worker_state import WorkerState
    from ibench_lib.store.manifest import Manifest
    from ibench_lib.workloads.workload import Step


class Observer:
    """Is called when something happens, and ignores it. An observer overrides the methods that it needs.

    The runner calls it in its own thread and waits for it. `number` of `of` is the cell's position among the planned
    cells; `worker` is the name of the host that runs the cell, None for this host.
    """

    def cell_checked(self, number: int, of: int) -> None:
        """Before anything runs: the options of `number` of `of` cells have been checked."""

    def experiment_begins(self, name: str, planned: list[PlannedCell]) -> None:
        """The cells that will run, and those that are already done, are known."""

    def experiment_ends(self, name: str, outcome: str) -> None:
        """No further cell will run. `outcome` is complete, failed or interrupted."""

    def run_recovered(self, manifest: Manifest) -> None:
        """A run whose runner was killed has been sealed."""

    def worker_refused(self, worker: str, reason: str) -> None:
        """A worker gets no cells."""

    def scheduler_silent(self, silent_s: float) -> None:
        """The scheduler of the workers has not answered for a while, though it is connected. Cells may go on."""

    def scheduler_back(self, silent_s: float) -> None:
        """The scheduler answers again, after so long."""

    def worker_silent(self, worker: str, silent_s: float) -> None:
        """A worker has sent no heartbeat for a while. Its cell may go on."""

    def worker_back(self, worker: str, silent_s: float) -> None:
        """A worker that was silent for so long sends heartbeats again."""

    def stopping(self) -> None:
        """Ctrl-C was pressed once: the current cell is the last."""

    def cell_begins(self, number: int, of: int, cell: Cell, worker: str | None = None) -> None:
        """A cell is about to run."""

    def cell_ends(self, cell: Cell, manifest: Manifest, worker: str | None = None) -> None:
        """A cell has a complete run."""

    def cell_failed(self, cell: Cell, error: IbenchError, worker: str | None = None) -> None:
        """A cell has failed for good."""

    def cell_lost(self, cell: Cell, worker: str) -> None:
        """The worker that ran a cell has disappeared."""

    def cell_not_tried(self, number: int, of: int, cell: Cell, why: str) -> None:
        """A cell is left out, because another repeat of it failed and the reason still holds."""

    def cell_skipped(self, number: int, of: int, cell: Cell, run_id: str) -> None:
        """A cell already has a complete run."""

    def step_begins(self, step: Step) -> None:
        """A step of the cell begins."""

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        """What clients have reported since the load began `elapsed_s` seconds ago. Called several times a second."""

    def step_warned(self, step: Step, said: str) -> None:
        """A step has got no answer for a while, or somebody stood still: a sentence, which is a warning of the run."""

    def step_ends(self, step: Step, duration_s: float) -> None:
        """A step has completed after `duration_s` seconds."""


EVENTS = tuple(name for name in vars(Observer) if not name.startswith("_"))
"""Every method of an observer."""


class ObserverList(Observer):
    """Passes every event to several observers, one after another."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers


def _forwarding(event: str) -> Callable[..., None]:
    def forward(both: ObserverList, *arguments: Any, **named: Any) -> None:
        for observer in both._observers:
            getattr(observer, event)(*arguments, **named)

    return forward


for _event in EVENTS:
    setattr(ObserverList, _event, _forwarding(_event))
