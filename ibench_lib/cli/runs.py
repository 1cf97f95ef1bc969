"""`ibench runs`: list and maintain the runs of this lake."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from ibench_lib.base.wording import count
from ibench_lib.cli.output import err, out, print_problems, working
from ibench_lib.errors import LakeError
from ibench_lib.importers.published import import_published
from ibench_lib.lake import reader
from ibench_lib.lake.discovery import Found, run_dirs
from ibench_lib.lake.recover import recover, recover_all
from ibench_lib.lake.remove import finish_removals, remove_run
from ibench_lib.lake.store import open_store, pull, push
from ibench_lib.lake.verify import verify
from ibench_lib.paths import workspace

app = typer.Typer(
    help="""List the runs of this lake; recover, verify, delete, copy and import runs.

    [bold]Example:[/] ibench runs
    """,
    invoke_without_command=True,
)

RunIds = Annotated[list[str], typer.Argument(help="Run ids, as listed by `ibench runs`.")]
Place = Annotated[str, typer.Argument(help="A folder, or an address that fsspec knows, such as s3://bucket/lake.")]
SomeRuns = Annotated[list[str] | None, typer.Argument(help="Run ids; by default all runs.")]


@app.callback()
def runs(context: typer.Context) -> None:
    if context.invoked_subcommand is not None:
        return
    lake = reader.lake()
    table = Table("run", "status", "dbms", "setup", "server", "steps done", "note", box=None, header_style="bold")
    query = """
        SELECT r.run_id, r.status, r.dbms, r.setup, r.server_version,
               count(s.step) FILTER (WHERE s.status = 'complete') AS done,
               coalesce('in ' || r.failed_step || ': ', '')
                   || coalesce(r.error, 'published, not measured here: ' || r.source, '') AS note
        FROM runs r LEFT JOIN steps s USING (run_id)
        GROUP BY ALL ORDER BY r.run_id
    """
    for row in reader.sql(lake, query).iter_rows():
        table.add_row(*(escape(str(value)) if value is not None else "" for value in row))
    out.print(table if table.row_count else "no runs yet; make some with `ibench run experiments/demo.yaml`")
    print_problems(lake)


@app.command("recover")
def runs_recover(run_ids: SomeRuns = None) -> None:
    """Seal the runs whose runner was killed, from their journals. `ibench run` does this too.

    [bold]Example:[/] ibench runs recover
    """
    place = workspace()
    finish_removals(place.runs)
    errors: list[LakeError] = []
    if run_ids:
        recovered = [recover(place.run_dir(run_id)) for run_id in run_ids]
    else:
        recovered, errors = recover_all(place.runs)
    for manifest in recovered:
        rows = sum(record.rows for record in manifest.files.values())
        where = f" in {manifest.failed_step}" if manifest.failed_step else ""
        out.print(f"{escape(manifest.run_id)}: {manifest.status}{escape(where)}, {rows:,} rows", soft_wrap=True)
        for warning in manifest.warnings:
            out.print(f"    {escape(warning)}", soft_wrap=True)
    for error in errors:
        err.print(f"[red]not recovered:[/] {escape(error.what)}", soft_wrap=True)
    if errors:
        raise LakeError(
            f"{count(len(errors), 'run')} could not be recovered",
            hint="see above; `ibench runs rm` deletes a run for good",
        )
    if not recovered:
        out.print("nothing to recover")


@app.command("verify")
def runs_verify(run_ids: SomeRuns = None) -> None:
    """Read runs completely and check every file, count and checksum. Exit code 1 if a run is damaged.

    [bold]Example:[/] ibench runs verify
    """
    place = workspace()
    chosen = [place.run_dir(run_id) for run_id in run_ids] if run_ids else run_dirs(place.runs, Found())
    bad = 0
    for run_dir in chosen:
        try:
            with working(f"verifying {run_dir.name}"):
                problems = verify(run_dir)
        except LakeError as error:
            problems = [error.what]
        out.print(f"{escape(run_dir.name)}: {'good' if not problems else '[red]bad[/]'}", soft_wrap=True)
        for problem in problems:
            out.print(f"    {escape(problem)}", soft_wrap=True)
        bad += bool(problems)
    if bad:
        raise LakeError(f"{bad} of {count(len(chosen), 'run')} damaged", hint="the problems are listed above")
    out.print(f"{count(len(chosen), 'run')} verified")


@app.command("rm")
def runs_rm(
    run_ids: RunIds,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete runs for good. A run in progress is refused.

    [bold]Example:[/] ibench runs rm 20261121T070508Z-demo-small-system.cy10a-r1
    """
    place = workspace()
    if not yes:
        typer.confirm(f"Delete {count(len(run_ids), 'measurement')} for good?", abort=True, err=True)
    for run_id in run_ids:
        remove_run(run_id, place)
        err.print(f"removed {escape(run_id)}", soft_wrap=True)


@app.command("push")
def runs_push(place: Place, run_ids: SomeRuns = None) -> None:
    """Copy sealed runs, unchanged, to a folder or an object store. With IBENCH_LAKE=PLACE, ibench reads them there.

    [bold]Example:[/] ibench runs push s3://bucket/lake
    """
    store, here = open_store(place), workspace()
    chosen = [here.run_dir(run_id) for run_id in run_ids] if run_ids else run_dirs(here.runs, Found())
    _copy("pushed", [(run_dir.name, partial(push, run_dir, store)) for run_dir in chosen])


@app.command("pull")
def runs_pull(place: Place, run_ids: SomeRuns = None) -> None:
    """Copy runs from a folder or an object store into this lake. Every file is verified by its checksum.

    [bold]Example:[/] ibench runs pull s3://bucket/lake
    """
    store, here = open_store(place), workspace()
    _copy("pulled", [(run_id, partial(pull, run_id, store, here)) for run_id in run_ids or store.run_ids()])


@app.command("import")
def runs_import(
    file: Annotated[Path, typer.Argument(help="CSV: setup, dbms, step, and a column for each metric.")],
    experiment: Annotated[str, typer.Option("--experiment", "-e", help="The name of their experiment.")],
    source: Annotated[str, typer.Option("--source", "-s", help="Where the figures were published.")],
    title: Annotated[str, typer.Option("--title", help="One line for people; by default the source.")] = "",
) -> None:
    """Import published figures, to compare them with your own. They are labelled as published everywhere.

    [bold]Example:[/] ibench runs import report.csv --experiment report-2023 --source "report of August 2023"
    """
    made = import_published(file, experiment, source, title, workspace())
    out.print(f"{count(len(made), 'published run')} of {escape(experiment)}", soft_wrap=True)


def _copy(done: str, copies: list[tuple[str, Callable[[], bool]]]) -> None:
    made = 0
    for run_id, copy in copies:
        with working(run_id):
            copied = copy()
        out.print(f"{escape(run_id)}: {done if copied else 'already there'}", soft_wrap=True)
        made += copied
    out.print(f"{made} of {count(len(copies), 'run')} {done}")
