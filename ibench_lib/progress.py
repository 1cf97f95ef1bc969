"""How a person at a terminal sees an experiment run: a live line per step; plain lines where there is no terminal."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ibench_lib.experiment import Cell
from ibench_lib.lake.manifest import Manifest
from ibench_lib.step import WorkerState
from ibench_lib.workloads.insert_benchmark import Step


class ExperimentProgress:
    """A SweepObserver that draws with rich. Where the console is no terminal the live line stays away."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("ETA"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task: TaskID | None = None
        self._where = ""

    def __enter__(self) -> ExperimentProgress:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def cell_begins(self, number: int, of: int, cell: Cell) -> None:
        self._where = f"{number}/{of}"
        self._console.print(f"[bold]{number}/{of}[/] {escape(str(cell))}")

    def cell_skipped(self, number: int, of: int, cell: Cell, run_id: str) -> None:
        self._console.print(f"[bold]{number}/{of}[/] {escape(str(cell))}: done already, {escape(run_id)}")

    def run_recovered(self, manifest: Manifest) -> None:
        self._console.print(f"recovered {escape(manifest.run_id)}: its runner had died")

    def cell_ends(self, cell: Cell, manifest: Manifest) -> None:
        self._console.print(f"    {manifest.status}: {escape(manifest.run_id)}")

    def step_begins(self, step: Step) -> None:
        self._task = self._progress.add_task(f"{self._where} {step.name}", total=None, rate="starting")

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        if self._task is None:
            return
        inserters = [state for state in workers if state.worker.role == "inserter"]
        if step.seconds is not None:
            self._progress.update(self._task, total=step.seconds, completed=min(elapsed_s, step.seconds))
        elif step.rows is not None:
            rows = sum(state.counted["rows"] for state in inserters)
            self._progress.update(self._task, total=step.rows * len(inserters), completed=rows)
        self._progress.update(self._task, rate=_rates(workers))

    def step_ends(self, step: Step, duration_s: float) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
            self._task = None
        self._console.print(f"    {step.name:<8} {duration_s:8.1f} s")


def _rates(workers: list[WorkerState]) -> str:
    """What all workers did in their last full second, such as `46,100 rows/s in, 9,800 queries/s`."""
    heard = [(state.worker, state.latest) for state in workers if state.latest is not None]
    parts = []
    for operation, column, unit in (("insert", "rows", "rows/s in"), ("delete", "rows", "rows/s out")):
        values = [latest[column] for worker, latest in heard if worker.operation == operation]
        if values:
            parts.append(f"{sum(values):,} {unit}")
    queries = [latest["ops"] for worker, latest in heard if worker.role == "querier"]
    if queries:
        parts.append(f"{sum(queries):,} queries/s")
    return ", ".join(parts)
