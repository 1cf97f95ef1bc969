"""The event log of an experiment: one JSON object a line, `data/events/<experiment>.jsonl`, for programs to read.

Every event has `at` (wall time, UTC) and `event`; each is there for other processes at once.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ibench_lib.base.mask import mask_of_machine
from ibench_lib.errors import IbenchError, UsageError
from ibench_lib.paths import Workspace, check_name
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.silence import SILENT_S, silent_s

if TYPE_CHECKING:  # `ibench status` reads the log, and needs none of what a run needs
    from ibench_lib.experiment.cells import Cell
    from ibench_lib.runner.planned import PlannedCell
    from ibench_lib.runner.worker_state import WorkerState
    from ibench_lib.store.manifest import Manifest
    from ibench_lib.workloads.workload import Step

PROGRESS_EVERY_S, PROGRESS_SOON_EVERY_S = 5.0, 1.0
"""Between two events of a step; the second in its first seconds, which may be all that it has."""
_SOON_S = 30.0


class EventLog(Observer):
    """Writes the log of one experiment. `forecast_s` gives the expected seconds of a cell, if they are known."""

    def __init__(
        self, workspace: Workspace, experiment: str, forecast_s: Callable[[PlannedCell], float] | None = None
    ) -> None:
        self._forecast_s = forecast_s
        self._path = event_log(workspace, experiment)
        self._mask = mask_of_machine(workspace)
        self._told_s = 0.0

    def cell_checked(self, number: int, of: int) -> None:
        """Not written: the log begins with the experiment, when all cells have been checked."""

    def experiment_begins(self, name: str, planned: list[PlannedCell]) -> None:
        counts = {what: sum(entry.what == what for entry in planned) for what in ("done", "new", "changed", "again")}
        known = self._forecast_s
        to_run = [entry for entry in planned if entry.run_id is None]
        forecast = {} if known is None else {"forecast_s": round(sum(known(entry) for entry in to_run), 1)}
        self._write("experiment_begins", experiment=name, cells=len(planned), **counts, **forecast)

    def experiment_ends(self, name: str, outcome: str) -> None:
        self._write("experiment_ends", experiment=name, outcome=outcome)

    def cell_begins(self, number: int, of: int, cell: Cell, worker: str | None = None) -> None:
        self._write("cell_begins", number=number, of=of, **_names(cell, worker))

    def cell_ends(self, cell: Cell, manifest: Manifest, worker: str | None = None) -> None:
        self._write("cell_ends", **_names(cell, worker), status=manifest.status, run_id=manifest.run_id)

    def cell_failed(self, cell: Cell, error: IbenchError, worker: str | None = None) -> None:
        self._write("cell_failed", **_names(cell, worker), error=self._mask.text(error.what))

    def cell_lost(self, cell: Cell, worker: str) -> None:
        self._write("cell_lost", **_names(cell, worker))

    def worker_refused(self, worker: str, reason: str) -> None:
        self._write("worker_refused", worker=worker, reason=self._mask.text(reason))

    def scheduler_silent(self, silent_s: float) -> None:
        self._write("scheduler_silent", silent_s=round(silent_s))

    def scheduler_back(self, silent_s: float) -> None:
        self._write("scheduler_back", silent_s=round(silent_s))

    def worker_silent(self, worker: str, silent_s: float) -> None:
        self._write("worker_silent", worker=worker, silent_s=round(silent_s))

    def worker_back(self, worker: str, silent_s: float) -> None:
        self._write("worker_back", worker=worker, silent_s=round(silent_s))

    def cell_not_tried(self, number: int, of: int, cell: Cell, why: str) -> None:
        self._write("cell_not_tried", number=number, of=of, **_names(cell), why=why)

    def cell_skipped(self, number: int, of: int, cell: Cell, run_id: str) -> None:
        self._write("cell_skipped", number=number, of=of, **_names(cell), run_id=run_id)

    def run_recovered(self, manifest: Manifest) -> None:
        self._write("run_recovered", run_id=manifest.run_id, status=manifest.status)

    def stopping(self) -> None:
        self._write("stopping", after="this cell")

    def step_begins(self, step: Step) -> None:
        self._told_s = 0.0
        self._write("step_begins", step=step.name, kind=step.kind)

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        every_s = PROGRESS_EVERY_S if elapsed_s > _SOON_S else PROGRESS_SOON_EVERY_S
        if time.monotonic() - self._told_s >= every_s:
            self._told_s = time.monotonic()
            progress = step_progress(step, workers, elapsed_s)
            self._write("step_progress", step=step.name, elapsed_s=round(elapsed_s, 1), **asdict(progress))

    def step_warned(self, step: Step, said: str) -> None:
        self._write("step_warned", step=step.name, warning=self._mask.text(said))

    def step_ends(self, step: Step, duration_s: float) -> None:
        self._write("step_ends", step=step.name, duration_s=round(duration_s, 3))

    def _write(self, event: str, **content: Any) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"at": at, "event": event, **content}) + "\n"
        descriptor = _open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        with open(descriptor, "rb+", buffering=0) as file:
            # A line that a crash has cut must not take the next one with it.
            cut = file.seek(0, os.SEEK_END) > 0 and os.pread(descriptor, 1, file.tell() - 1) != b"\n"
            file.write(("\n" * cut + line).encode())  # one write a line: a reader never sees half of one


def event_log(workspace: Workspace, experiment: str) -> Path:
    """Where the log of an experiment is."""
    return workspace.events / f"{check_name(experiment, 'experiment')}.jsonl"


def read_events(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The events of a log in their order, and how many lines are none: cut by a crash or a full disk, or damaged.

    Raises
    ------
    UsageError : the log is a symbolic link.
    OSError : it cannot be read.
    """
    with open(_open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise UsageError(f"{path} is not a file", hint="remove it; the next run begins another")
        lines = [line for line in file.read().split(b"\n") if line.strip()]
    events = [event for event in map(_event, lines) if event is not None]
    return events, len(lines) - len(events)


def _event(line: bytes) -> dict[str, Any] | None:
    """The event in a line; None where it is none that we have written."""
    try:
        event = json.loads(line)
        at = datetime.fromisoformat(event["at"])
        needed = next((types for start, types in _NEEDED.items() if event["event"].startswith(start)), {})
        if at.tzinfo is None or not all(isinstance(event[name], kind) for name, kind in needed.items()):
            return None
        if not all(isinstance(event.get(name), int | float | None) for name in _NUMBERS):
            return None
        json.dumps(event, ensure_ascii=False).encode()
    except Exception:  # whatever damage can do to a parser
        return None
    return dict(event)


_CELL: dict[str, Any] = {"dbms": str, "setup": str, "repeat": int}
# By how the name of an event begins, the longer first.
_NEEDED: dict[str, dict[str, Any]] = {
    "cell_begins": {**_CELL, "number": int, "of": int},
    "cell_failed": {**_CELL, "error": str},
    "cell_": _CELL,
    "step_": {"step": str},
    "scheduler_silent": {"silent_s": int},
    "worker_silent": {"worker": str, "silent_s": int},
    "worker_back": {"worker": str},
    "experiment_ends": {"outcome": str},
}
_NUMBERS = ("forecast_s", "share", "silent_s", "rows_in_per_s", "rows_out_per_s", "queries_per_s")


def _open(path: Path, flags: int) -> int:
    """A descriptor of the log itself: what a link leads to is not ours. Raises UsageError, OSError."""
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise UsageError(f"{path} is a symbolic link", hint="remove it: a log is a file of this workspace") from None


@dataclass(frozen=True)
class StepProgress:
    """How far a step is: the share done, None where unknown, and the rates of the last full second by their names.

    `silent_s` is how long no client has got an answer, in whole seconds; 0 while answers come, and rates are empty
    otherwise. `silent_clients` are those that have waited so long while others got answers: no rate counts theirs.
    """

    share: float | None
    rates: dict[str, int]
    silent_s: int = 0
    silent_clients: int = 0


def step_progress(step: Step, workers: list[WorkerState], elapsed_s: float) -> StepProgress:
    """Worked out from what the clients have reported `elapsed_s` after the start of the load."""
    working = [state for state in workers if state.stage != "done"]
    silent = [since for state in working if (since := silent_s(state, elapsed_s)) >= SILENT_S]
    all_silent = bool(silent) and len(silent) == len(working)
    rates: dict[str, int] = {}
    for state in workers:
        for name, row in state.latest.items():
            operation = state.operations[name]
            label = operation.label_while_running
            is_current = silent_s(state, elapsed_s) < SILENT_S
            done = row[operation.counts]
            if done is not None and (is_current or not all_silent):
                rates[label] = rates.get(label, 0) + (done if is_current else 0)
    share = None
    leading = [state for state in workers if state.worker.leads]
    if step.seconds is not None:
        latest = [row["second"] + 1 for state in workers for row in state.latest.values()]
        share = min(1.0, max(latest) / step.seconds) if latest else 0.0
    elif step.amount is not None and leading:
        share = sum(state.done for state in leading) / (step.amount * len(leading))
    return StepProgress(share, rates, min(silent) if all_silent else 0, 0 if all_silent else len(silent))


def _names(cell: Cell, worker: str | None = None) -> dict[str, Any]:
    """What the cell is called, and on which worker it is, where it is not on this host."""
    names = {"dbms": cell.dbms, "setup": cell.setup.name, "repeat": cell.repeat}
    return names if worker is None else {**names, "worker": worker}
