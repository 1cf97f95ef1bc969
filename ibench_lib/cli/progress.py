"""The progress of an experiment: a live line in a terminal, elsewhere a plain line every ten seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn
from rich.table import Column

from ibench_lib.base.wording import count, duration_text
from ibench_lib.cli.output import safe
from ibench_lib.errors import IbenchError
from ibench_lib.experiment.cells import Cell
from ibench_lib.runner.events import StepProgress, step_progress
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.runner.server import left_by
from ibench_lib.store.manifest import Manifest
from ibench_lib.workloads.workload import Step

if TYPE_CHECKING:
    from ibench_lib.runner.worker_state import WorkerState

PLAIN_EVERY_S = 10.0
_LEAST_BAR, _MOST_BAR = 6, 24
_TEXT = 72
"""Columns of what stands right of the bar. In a narrower terminal the bar gives way first, then the rates."""


class ExperimentProgress(Observer):
    """Draws with rich.

    `forecast_s` gives the expected duration of a cell in seconds. Without it (when other hosts run the cells) no
    remaining time is shown.
    """

    def __init__(self, console: Console, forecast_s: Callable[[PlannedCell], float] | None) -> None:
        self._console = console
        self._forecast_s = forecast_s
        self._live = console.is_terminal
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", table_column=Column(no_wrap=True)),
            BarColumn(bar_width=self._bar_width(), table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[said]}", table_column=Column(no_wrap=True)),
            console=console,
            transient=True,
            disable=not self._live,
        )
        self._task: TaskID | None = None
        self._where = ""
        self._expected_s: dict[int, float] = {}
        self._rows_from: dict[int, str] = {}
        self._cell_begun_s = self._told_s = 0.0
        self._position = 0

    def __enter__(self) -> ExperimentProgress:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def cell_checked(self, number: int, of: int) -> None:
        if self._task is None:
            self._task = self._progress.add_task("checking options", total=of, said="")
        self._progress.update(self._task, completed=number, said=f"cell {number:,} of {of:,}")
        if number == of:
            self._end_task()

    def experiment_begins(self, name: str, planned: list[PlannedCell]) -> None:
        to_run = [entry for entry in planned if entry.run_id is None]
        self._rows_from = {entry.cell.position: entry.rows_from for entry in planned}
        left = ""
        if self._forecast_s is not None:
            self._expected_s = {entry.cell.position: self._forecast_s(entry) for entry in to_run}
            left = f", about {duration_text(sum(self._expected_s.values()))} to go"
        for entry in planned:
            if entry.what == "changed":
                self._console.print(f"changed since it ran: {safe(str(entry.cell))}", soft_wrap=True)
            elif entry.what == "again" and entry.note:
                self._console.print(f"runs again: {safe(f'{entry.cell}: {entry.note}')}", soft_wrap=True)
        done = len(planned) - len(to_run)
        self._console.print(f"{safe(name)}: {count(len(planned), 'cell')}, {done} already complete{left}")

    def cell_begins(self, number: int, of: int, cell: Cell, worker: str | None = None) -> None:
        self._where, self._position = f"{number}/{of}", cell.position
        self._cell_begun_s = time.monotonic()
        self._console.print(f"[bold]{number}/{of}[/] {safe(str(cell))}{_on(worker)}")
        if rows_from := self._rows_from.get(cell.position):
            self._console.print(f"    {safe(rows_from)}", highlight=False, soft_wrap=True)

    def cell_skipped(self, number: int, of: int, cell: Cell, run_id: str) -> None:
        self._console.print(f"[bold]{number}/{of}[/] {safe(str(cell))}: already complete, {safe(run_id)}")

    def cell_not_tried(self, number: int, of: int, cell: Cell, why: str) -> None:
        self._expected_s.pop(cell.position, None)
        self._console.print(f"[bold]{number}/{of}[/] {safe(f'{cell}: skipped: {why}')}")

    def run_recovered(self, manifest: Manifest) -> None:
        self._console.print(f"recovered {safe(manifest.run_id)}: its runner had been killed")
        for said in left_by(manifest):
            self._console.print(f"    {safe(said)}", soft_wrap=True)

    def cell_ends(self, cell: Cell, manifest: Manifest, worker: str | None = None) -> None:
        self._expected_s.pop(cell.position, None)
        self._console.print(f"    {manifest.status}: {safe(manifest.run_id)}{_on(worker)}")

    def cell_lost(self, cell: Cell, worker: str) -> None:
        self._console.print(f"    [yellow]lost:[/] {safe(str(cell))}: {safe(worker)} has disappeared", soft_wrap=True)

    def worker_refused(self, worker: str, reason: str) -> None:
        self._console.print(f"[yellow]gets no cells:[/] {safe(worker)}: {safe(reason)}", soft_wrap=True)

    def scheduler_silent(self, silent_s: float) -> None:
        said = f"no answer of the scheduler for {silent_s:.0f} s: stopped, or too busy; cells may go on"
        self._console.print(f"    [yellow]warning:[/] {said}", highlight=False, soft_wrap=True)

    def scheduler_back(self, silent_s: float) -> None:
        self._console.print(f"    the scheduler answers again, after {silent_s:.0f} s", highlight=False, soft_wrap=True)

    def worker_silent(self, worker: str, silent_s: float) -> None:
        said = f"no heartbeat of {safe(worker)} for {silent_s:.0f} s: stopped, or cut off; its cell may go on there"
        self._console.print(f"    [yellow]warning:[/] {said}", highlight=False, soft_wrap=True)

    def worker_back(self, worker: str, silent_s: float) -> None:
        said = f"{safe(worker)} sends heartbeats again, after {silent_s:.0f} s"
        self._console.print(f"    {said}", highlight=False, soft_wrap=True)

    def cell_failed(self, cell: Cell, error: IbenchError, worker: str | None = None) -> None:
        self._expected_s.pop(cell.position, None)
        self._end_task()
        if error.detail:
            self._console.print(safe(error.detail), highlight=False, soft_wrap=True)
        self._console.print(f"    [red]failed:[/] {safe(error.what)}", highlight=False, soft_wrap=True)

    def stopping(self) -> None:
        self._console.print("stopping after this cell; press Ctrl-C again to stop now")

    def step_begins(self, step: Step) -> None:
        self._told_s = time.monotonic()
        self._task = self._progress.add_task(f"{self._where} {step.name}", total=None, said="starting")

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        found = step_progress(step, workers, elapsed_s)
        if self._live and self._task is not None:
            eta = _clock(elapsed_s / found.share - elapsed_s) if found.share else "-:--"
            times = f"{_clock(elapsed_s)}, ETA {eta}, all {duration_text(self._left_s())}"
            description = f"{self._where} {step.name}"
            room = self._console.width - len(description) - self._bar_width() - len(times) - len("/   , ")
            self._progress.update(
                self._task,
                total=None if found.share is None else 1.0,
                completed=found.share or 0.0,
                said=", ".join([times, *_fitting(found, room)]),
            )
        elif time.monotonic() - self._told_s >= PLAIN_EVERY_S:
            self._told_s = time.monotonic()
            share = "" if found.share is None else f" {found.share:.0%}"
            step_left = "" if not found.share else f", step ETA {duration_text(elapsed_s / found.share - elapsed_s)}"
            self._console.print(
                f"    {self._where} {step.name}{share} after {elapsed_s:.0f} s: {_rates(found)}{step_left}, "
                f"all {duration_text(self._left_s())}"
            )

    def step_warned(self, step: Step, said: str) -> None:
        self._console.print(f"    [yellow]warning:[/] {safe(said)}", highlight=False, soft_wrap=True)

    def step_ends(self, step: Step, duration_s: float) -> None:
        self._end_task()
        self._console.print(f"    {step.name:<8} {duration_s:8.1f} s")

    def _bar_width(self) -> int:
        return max(_LEAST_BAR, min(_MOST_BAR, self._console.width - _TEXT))

    def _end_task(self) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None

    def _left_s(self) -> float:
        """Remaining seconds of the experiment: those of this cell, and of the cells that have not begun."""
        this = self._expected_s.get(self._position, 0.0) - (time.monotonic() - self._cell_begun_s)
        others = sum(seconds for position, seconds in self._expected_s.items() if position != self._position)
        return max(0.0, this) + others


def _on(worker: str | None) -> str:
    return "" if worker is None else f" on {safe(worker)}"


def _clock(seconds: float) -> str:
    """Such as 0:09, 12:30, 1:02:03."""
    minutes, second = divmod(round(max(0.0, seconds)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"


def _fitting(found: StepProgress, room: int) -> list[str]:
    """The first rates, as many as there is room for."""
    rates = _rates(found).split(", ")
    return [rate for number, rate in enumerate(rates, start=1) if len(", ".join(rates[:number])) <= room]


def _rates(found: StepProgress) -> str:
    """Such as `46,100 inserts/s, 9,800 queries/s`, or `no answer for 12 s`."""
    if found.silent_s:
        return f"no answer for {found.silent_s:,} s"
    rates = ", ".join(f"{rate:,} {label}" for label, rate in found.rates.items()) or "nothing reported yet"
    return rates + (f", no answer to {count(found.silent_clients, 'client')}" if found.silent_clients else "")
