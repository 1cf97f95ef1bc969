"""The `ibench` command. It turns arguments into calls, and errors into one line and an exit code."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.markup import escape
from rich.table import Table

from ibench_lib.base.wording import count
from ibench_lib.cli import config, doctor, posts, runs, servers
from ibench_lib.cli import experiment as cli_experiment
from ibench_lib.cli.output import err, out, print_problems
from ibench_lib.cli.progress import Both, ExperimentProgress
from ibench_lib.errors import IbenchError, UsageError
from ibench_lib.experiment.cells import LoadedExperiment, load_experiment
from ibench_lib.lake import reader
from ibench_lib.paths import Workspace, workspace
from ibench_lib.run.events import EventLog
from ibench_lib.run.forecast import Forecaster
from ibench_lib.run.hosts import worker
from ibench_lib.run.hosts.sweep import run_on_workers
from ibench_lib.run.plan import Planned
from ibench_lib.run.sweep import SweepObserver, run_experiment

app = typer.Typer(
    help="Run database benchmarks, record every second in Parquet, and publish the comparison.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(cli_experiment.app, name="experiment")
app.add_typer(runs.app, name="runs")
app.add_typer(servers.app, name="servers")
app.add_typer(config.app, name="config")


class Format(StrEnum):
    """How `ibench sql` prints its answer."""

    table = "table"
    csv = "csv"
    json = "json"


@app.command()
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
    loaded, place = load_experiment(experiment), workspace()
    choice: dict[str, Any] = {
        "again": again,
        "only": only or (),
        "without": without or (),
        "fail_fast": fail_fast,
        "any_host": any_host,
    }
    # The forecasts of this lake apply to this host only.
    with ExperimentProgress(out, _forecasts(loaded, place) if scheduler is None else None) as progress:
        observer = cast(SweepObserver, Both([progress, EventLog(place, loaded.name)]))
        if scheduler is None:
            result = run_experiment(loaded, place, observer, **choice)
        else:
            result = run_on_workers(loaded, place, observer, scheduler, store=store, **choice)
    out.print(f"{loaded.name}: {count(len(result.made), 'run')} made, {len(result.skipped)} already done")


@app.command("worker")
def worker_command(
    scheduler: Annotated[str, typer.Argument(help="The Dask scheduler, such as tcp://lab1:8786.")],
    name: Annotated[
        str | None,
        typer.Option(help="The name of this machine in messages and in the ledger; by default its host name."),
    ] = None,
) -> None:
    """Run cells for the users of this scheduler, one at a time, with the builds of this machine. Ctrl-C stops it.

    [bold]Example:[/] ibench worker tcp://lab1:8786
    """
    worker.serve(scheduler, name)


app.command("status")(cli_experiment.status)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="One SQL statement for DuckDB.")],
    output: Annotated[Format, typer.Option("--format", "-f", help="How to print the answer.")] = Format.table,
) -> None:
    """Run SQL on the lake: every table of docs/schema.md is a view, and so is `runs`.

    [bold]Example:[/] ibench sql "SELECT run_id, step, duration_s FROM steps ORDER BY ALL"
    """
    lake = reader.lake()
    frame = reader.sql(lake, query)
    rows = frame.iter_rows()
    if output is Format.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(frame.columns)
        writer.writerows(rows)
    elif output is Format.json:
        json.dump(frame.to_dicts(), sys.stdout, default=str, indent=1)
        sys.stdout.write("\n")
    else:
        table = Table(*(escape(name) for name in frame.columns), box=None, header_style="bold")
        for row in rows:
            table.add_row(*(_cell(value) for value in row))
        out.print(table)
    print_problems(lake)


app.command("post")(posts.post)
app.command("posts")(posts.posts)
app.command("site")(posts.site)


@app.command("doctor")
def doctor_command() -> None:
    """Show what is installed and what is missing, with the command that fixes it. Exit code 1 if something is missing.

    [bold]Example:[/] ibench doctor
    """
    findings = doctor.examine(workspace())
    styles = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "missing": "[red]missing[/]"}
    table = Table("", "what", "found", "to fix", box=None, header_style="bold")
    for finding in findings:
        table.add_row(styles[finding.status], escape(finding.name), escape(finding.found), escape(finding.fix or ""))
    out.print(table)
    if any(finding.status == "missing" for finding in findings):
        raise typer.Exit(1)


def main() -> None:
    """Entry point of the console script."""
    try:
        app()
    except IbenchError as error:
        # Detail first: the line that says what is wrong and what to do is the last one on the screen.
        if error.detail:
            err.print(escape(error.detail), highlight=False, soft_wrap=True)
        err.print(f"[red]ibench:[/] {escape(error.what)}", highlight=False, soft_wrap=True)
        if error.hint:
            err.print(f"        {escape(error.hint)}", highlight=False, soft_wrap=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        err.print("[red]ibench:[/] interrupted")
        sys.exit(130)


def _forecasts(loaded: LoadedExperiment, place: Workspace) -> Callable[[Planned], float]:
    forecaster = Forecaster(place)
    return lambda entry: forecaster.cell(loaded, entry.cell, entry.build).seconds


def _cell(value: Any) -> str:
    if value is None:
        return "[dim]NULL[/]"
    return escape(f"{value:g}" if isinstance(value, float) else str(value))
