"""Planning and running an experiment from Python: what `ibench experiment plan` and `ibench run` call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ibench_lib.errors import IbenchError
from ibench_lib.experiment.cells import Cell, load_experiment
from ibench_lib.paths import workspace
from ibench_lib.runner.events import EventLog
from ibench_lib.runner.forecast import Forecaster
from ibench_lib.runner.observer import Observer, ObserverList
from ibench_lib.runner.plan import plan_experiment
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.store.manifest import Manifest
from ibench_lib.workloads.workload import Step

if TYPE_CHECKING:
    import polars as pl


def plan(experiment: str | os.PathLike[str], *, only: Sequence[str] = (), without: Sequence[str] = ()) -> pl.DataFrame:
    """The cells of an experiment file in their order, and whether they will run. Nothing is run.

    Parameters
    ----------
    experiment : path of the file; a relative one is looked for in the current directory, then in the project.
    only, without : globs on build, config, setup or dbms, as --only and --except of `ibench experiment plan`.

    Returns
    -------
    position, dbms, setup, repeat; what: done, new, changed or again; run_id of a cell that is done; note; and for a
    cell that will run seconds, disk_bytes and rows as forecast, and forecast_from: what the forecast is based on.

    Raises
    ------
    ExperimentError, ConfigError, BuildNotFound : the file, or a cell that could not be run.
    """
    import polars as pl

    place = workspace()
    loaded = load_experiment(_found(experiment))
    forecaster = Forecaster(place)
    rows = []
    for entry in plan_experiment(loaded, place, only=only, without=without):
        cell = entry.cell
        row = [cell.position, cell.dbms, cell.setup.name, cell.repeat, entry.what, entry.run_id, entry.note]
        if entry.run_id is None:
            forecast = forecaster.cell(loaded, entry)
            disk_bytes = forecast.disk_bytes + forecast.snapshot_bytes
            rows.append([*row, forecast.seconds, disk_bytes, forecast.rows, forecast.source])
        else:
            rows.append([*row, None, None, None, None])
    schema = {
        "position": pl.Int64, "dbms": pl.String, "setup": pl.String, "repeat": pl.Int64, "what": pl.String,
        "run_id": pl.String, "note": pl.String, "seconds": pl.Float64, "disk_bytes": pl.Int64, "rows": pl.Int64,
        "forecast_from": pl.String,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def run(
    experiment: str | os.PathLike[str],
    *,
    again: bool = False,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    fail_fast: bool = False,
    any_host: bool = False,
) -> list[str]:
    """Run every cell of an experiment that is not done yet, and print a line for each step.

    It returns when the last cell has ended. The first interrupt (the stop button of JupyterLab, Ctrl-C) stops after
    the current cell, the second one at once; captured data is kept. `ibench status --watch` shows the progress from
    another terminal, and `ib.live()` from another notebook.

    Parameters
    ----------
    experiment, only, without : as of `ib.plan`.
    again, fail_fast, any_host : as --again, --fail-fast and --any-host of `ibench run`.

    Returns
    -------
    Ids of the runs, those made now after those that were there: `ib.choose(ib.lake(), runs=...)`.

    Raises
    ------
    ExperimentError, ConfigError, BuildNotFound, UsageError : before anything runs.
    CellsFailed : after the last cell, if some failed. The failure itself, if there is only one cell.
    Interrupted : it was interrupted.
    """
    place = workspace()
    loaded = load_experiment(_found(experiment))
    result = run_experiment(
        loaded, place, ObserverList([_Lines(), EventLog(place, loaded.name)]),
        again=again, only=only, without=without, fail_fast=fail_fast, any_host=any_host,
    )  # fmt: skip
    return [*result.skipped, *(manifest.run_id for manifest in result.made)]


def _found(experiment: str | os.PathLike[str]) -> Path:
    """A notebook's current directory is its own folder, and experiments lie in another one of the project."""
    path = Path(experiment)
    in_project = workspace().root / path
    return in_project if not path.exists() and in_project.exists() else path


class _Lines(Observer):
    """Prints a line for whatever begins or fails."""

    def stopping(self) -> None:
        print("stopping after this cell; interrupt again to stop now", flush=True)

    def cell_begins(self, number: int, of: int, cell: Cell, worker: str | None = None) -> None:
        print(f"cell {number} of {of}: {cell}", flush=True)

    def cell_ends(self, cell: Cell, manifest: Manifest, worker: str | None = None) -> None:
        print(f"    complete: {manifest.run_id}", flush=True)

    def cell_failed(self, cell: Cell, error: IbenchError, worker: str | None = None) -> None:
        print(f"    failed: {error.what}", flush=True)

    def cell_not_tried(self, number: int, of: int, cell: Cell, why: str) -> None:
        print(f"cell {number} of {of}: {cell}: skipped: {why}", flush=True)

    def cell_skipped(self, number: int, of: int, cell: Cell, run_id: str) -> None:
        print(f"cell {number} of {of}: {cell}: already complete", flush=True)

    def step_warned(self, step: Step, said: str) -> None:
        print(f"    warning: {said}", flush=True)

    def step_ends(self, step: Step, duration_s: float) -> None:
        print(f"    {step.name}: {duration_s:.1f} s", flush=True)
