"""`ibench run` and `ibench worker`: run the cells of an experiment, here or for the users of a scheduler."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ibench_lib.base.wording import count
from ibench_lib.cli import experiment as cli_experiment
from ibench_lib.cli import summary
from ibench_lib.cli.output import done_elsewhere, out, safe
from ibench_lib.errors import UsageError
from ibench_lib.paths import Workspace, workspace

if TYPE_CHECKING:
    from collections.abc import Callable

    from ibench_lib.experiment.cells import LoadedExperiment
    from ibench_lib.runner.planned import PlannedCell


def run(
    experiment: Annotated[Path, typer.Argument(help="The experiment: a YAML file, such as experiments/demo.yaml.")],
    again: Annotated[bool, typer.Option("--again", help="Also run cells that are already done.")] = False,
    only: cli_experiment.Only = None,
    without: cli_experiment.Except = None,
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast/--keep-going", help="Stop at the first cell that fails, or continue.")
    ] = False,
    scheduler: Annotated[
        str | None, typer.Option(help="A Dask scheduler, such as tcp://lab1:8786, whose workers run the cells.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="With --scheduler: the store to which workers push their runs, instead of sending them here."
        ),
    ] = None,
    any_host: Annotated[bool, typer.Option("--any-host", help="Allow runs on hosts of different classes.")] = False,
) -> None:
    """Run every cell of an experiment that is not done yet.

    A cell is one build with one configuration in one setup. Each cell gets a fresh server in a private sandbox and
    leaves one directory in data/runs/. Ctrl-C stops after the current cell; a second Ctrl-C stops at once. Captured
    data is kept.

    [bold]Example:[/] ibench run experiments/demo.yaml
    """
    if scheduler is None and store is not None:
        raise UsageError("--store applies to workers only", hint="add --scheduler")
    # Imported here, so that neither a help page nor a shell that completes names waits for what runs cells.
    from ibench_lib.cli.progress import ExperimentProgress
    from ibench_lib.experiment.cells import load_experiment
    from ibench_lib.runner.events import EventLog
    from ibench_lib.runner.observer import ObserverList

    loaded, place = load_experiment(experiment), workspace()
    choice: dict[str, Any] = {
        "again": again,
        "only": only or (),
        "without": without or (),
        "fail_fast": fail_fast,
        "any_host": any_host,
    }
    # The forecasts of this lake apply to this host only.
    forecasts = _forecasts(loaded, place) if scheduler is None else None
    with ExperimentProgress(out, forecasts) as progress:
        observer = ObserverList([progress, EventLog(place, loaded.name, forecasts)])
        if scheduler is None:
            from ibench_lib.runner.sweep import run_experiment

            result = run_experiment(loaded, place, observer, **choice)
        else:
            from ibench_lib.runner.hosts.sweep import run_on_workers

            result = run_on_workers(loaded, place, observer, scheduler, store=store, **choice)
    out.print(f"{loaded.name}: {count(len(result.made), 'new run')}, {len(result.skipped)} already complete")
    if said := done_elsewhere(result.skipped, loaded.name, place):
        out.print(safe(said), soft_wrap=True)
    if store is None:
        summary.print_result(place, loaded.name)


def worker_command(
    scheduler: Annotated[str, typer.Argument(help="The Dask scheduler, such as tcp://lab1:8786.")],
    name: Annotated[
        str | None,
        typer.Option(help="The name of this machine in messages and in the ledger; by default its host name."),
    ] = None,
) -> None:
    """Make this machine a worker, which runs the cells that this scheduler assigns.

    It runs one cell at a time, with the builds of this machine. Ctrl-C stops it.

    [bold]Example:[/] ibench worker tcp://lab1:8786
    """
    from ibench_lib.runner.hosts import worker

    worker.serve(scheduler, name)


def _forecasts(loaded: LoadedExperiment, place: Workspace) -> Callable[[PlannedCell], float]:
    from ibench_lib.runner.forecast import Forecaster

    forecaster = Forecaster(place)
    return lambda entry: forecaster.cell(loaded, entry).seconds
