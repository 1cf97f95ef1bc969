"""The `ibench` command. It turns arguments into calls, and errors into one line and an exit code."""

from __future__ import annotations

import errno
import os
import platform
import sqlite3
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer
from rich.table import Table

from ibench_lib.base.extras import extra_of, how_to_install
from ibench_lib.base.wording import count
from ibench_lib.cli import (
    changes,
    config,
    doctor,
    explain,
    posts,
    profile,
    project,
    runs,
    servers,
    sql,
    stalls,
    status,
    summary,
)
from ibench_lib.cli import experiment as cli_experiment
from ibench_lib.cli.output import done_elsewhere, err, out, safe
from ibench_lib.cli.progress import ExperimentProgress
from ibench_lib.errors import IbenchError, UsageError
from ibench_lib.experiment.cells import LoadedExperiment, load_experiment
from ibench_lib.paths import Workspace, workspace
from ibench_lib.run.events import EventLog
from ibench_lib.run.forecast import Forecaster
from ibench_lib.run.hosts import worker
from ibench_lib.run.hosts.sweep import run_on_workers
from ibench_lib.run.observer import Both
from ibench_lib.run.planned import Planned
from ibench_lib.run.sweep import run_experiment

app = typer.Typer(
    help="Run database benchmarks, record every second in Parquet, and publish the comparison.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(cli_experiment.app, name="experiment")
app.add_typer(runs.app, name="runs")
app.add_typer(servers.app, name="servers")
app.add_typer(config.app, name="config")
app.add_typer(profile.app, name="profile")


def _print_version(asked: bool) -> None:
    if asked:
        out.print(f"ibench {version('ibench')}, Python {platform.python_version()}, DuckDB {duckdb.__version__}")
        raise typer.Exit


@app.callback()
def ibench(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


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
        observer = Both([progress, EventLog(place, loaded.name)])
        if scheduler is None:
            result = run_experiment(loaded, place, observer, **choice)
        else:
            result = run_on_workers(loaded, place, observer, scheduler, store=store, **choice)
    out.print(f"{loaded.name}: {count(len(result.made), 'run')} made, {len(result.skipped)} already done")
    if said := done_elsewhere(result.skipped, loaded.name, place):
        out.print(safe(said), soft_wrap=True)
    if store is None:
        summary.print_result(place, loaded.name)


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


app.command("init")(project.init)
app.command("lab")(project.lab)
app.command("status")(status.status)


app.command("sql")(sql.sql)
app.command("post")(posts.post)
app.command("posts")(posts.posts)
app.command("site")(posts.site)
app.command("changes")(changes.changes)
app.command("summary")(summary.summary_command)
app.command("compare")(summary.compare_command)
app.command("explain")(explain.explain)
app.command("stalls")(stalls.stalls)


@app.command("doctor")
def doctor_command() -> None:
    """Show what is installed and what is missing, with the command that fixes it. Exit code 1 if something is missing.

    [bold]Example:[/] ibench doctor
    """
    findings = doctor.examine(workspace())
    styles = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "missing": "[red]missing[/]"}
    table = Table("", "what", "found", "to fix", box=None, header_style="bold")
    for finding in findings:
        table.add_row(styles[finding.status], safe(finding.name), safe(finding.found), safe(finding.fix or ""))
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
            err.print(safe(error.detail), highlight=False, soft_wrap=True)
        err.print(f"[red]ibench:[/] {safe(error.what)}", highlight=False, soft_wrap=True)
        if error.hint:
            err.print(f"        {safe(error.hint)}", highlight=False, soft_wrap=True)
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        extra = extra_of(error.name)
        if extra is None:
            raise
        err.print(f"[red]ibench:[/] {error.name} is not installed: this needs the extra {extra}", soft_wrap=True)
        err.print(f"        {safe(how_to_install(extra))}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        err.print("[red]ibench:[/] interrupted")
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output has gone, as `head` does; Python would complain once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (OSError, sqlite3.Error, MemoryError, duckdb.Error) as error:
        what, hint = _of_this_machine(error)
        err.print(f"[red]ibench:[/] {safe(what)}", highlight=False, soft_wrap=True)
        err.print(f"        {safe(hint)}", highlight=False, soft_wrap=True)
        sys.exit(1)


def _of_this_machine(error: Exception) -> tuple[str, str]:
    """What is wrong with the machine or its files, where no part of the library said it better; and what to do."""
    first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    if isinstance(error, sqlite3.Error):
        return (
            f"{workspace().ledger}: {first}",
            "the ledger is damaged or cannot be written; moved away, the next run begins another: runs are kept",
        )
    if isinstance(error, MemoryError):
        return "there is not enough memory", "ask for less at once"
    if isinstance(error, OSError) and error.filename is not None:
        first = f"{os.fsdecode(error.filename)}: {error.strerror or type(error).__name__}"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return first, "make room on that disk"
    return first, "check that it is there, is what it should be, and can be read and written by you"


def _forecasts(loaded: LoadedExperiment, place: Workspace) -> Callable[[Planned], float]:
    forecaster = Forecaster(place)
    return lambda entry: forecaster.cell(loaded, entry).seconds
