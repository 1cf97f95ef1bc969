"""`ibench runs`: list and maintain the runs of this lake."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import duckdb
import typer

from ibench_lib.base import strict_yaml
from ibench_lib.base.scratch import sweep_scratch
from ibench_lib.base.wording import count
from ibench_lib.cli.output import (
    check_line,
    err,
    one_line,
    out,
    plain_lines,
    print_problems,
    safe,
    working,
    write_csv,
    write_json,
)
from ibench_lib.errors import LakeError, UsageError
from ibench_lib.importers.intake import import_file
from ibench_lib.lake import reader
from ibench_lib.lake.discovery import Found, run_dirs
from ibench_lib.lake.recover import recover, recover_all
from ibench_lib.lake.remove import finish_removals, remove_run
from ibench_lib.lake.store import is_archive, new_archive, open_store, pull, push, push_index
from ibench_lib.lake.verify import NO_CHECKSUM, verify, vouched_for
from ibench_lib.paths import workspace
from ibench_lib.run.capturing import SCRATCH_PREFIX
from ibench_lib.servers import sandbox_directory
from ibench_lib.workloads.workload import kind_of

app = typer.Typer(
    help="""List the runs of this lake; recover, verify, delete, copy and import runs.

    [bold]Example:[/] ibench runs
    """,
    invoke_without_command=True,
)

RunIds = Annotated[list[str], typer.Argument(help="Run ids, as listed by `ibench runs`.")]
Place = Annotated[
    str, typer.Argument(help="A folder, a .zip file, or an address that fsspec knows, such as s3://bucket/lake.")
]
SomeRuns = Annotated[list[str] | None, typer.Argument(help="Run ids; by default all runs.")]


class Form(StrEnum):
    """How runs are listed."""

    table = "table"
    csv = "csv"
    json = "json"


_LISTED = """
    SELECT
        r.run_id, r.experiment, r.status, r.dbms, r.setup, r.server_version,
        count(s.step) FILTER (WHERE s.status = 'complete') AS steps_done,
        coalesce('in ' || r.failed_step || ': ', '')
            || coalesce(r.error, 'published, not measured here: ' || r.source, '') AS note
    FROM runs r LEFT JOIN steps s USING (run_id)
    GROUP BY ALL ORDER BY r.run_id
"""
_SHOWN = {
    "run_id": "run", "status": "status", "dbms": "dbms", "setup": "setup", "server_version": "server",
    "steps_done": "steps done", "note": "note",
}  # fmt: skip
"""Column -> what it is called in the table."""
_NARROW = {"run_id": "run", "status": "status", "steps_done": "steps"}
"""A run's id says the rest; notes have lines of their own."""


@app.callback()
def runs(
    context: typer.Context,
    experiment: Annotated[
        str | None, typer.Option("--experiment", "-e", help="Only the runs of this experiment.")
    ] = None,
    status: Annotated[str | None, typer.Option(help="Only runs that are complete, failed, running, ...")] = None,
    last: Annotated[int | None, typer.Option("--last", "-n", min=1, help="Only so many of the newest.")] = None,
    form: Annotated[Form, typer.Option("--format", "-f", help="How to list them.")] = Form.table,
) -> None:
    if context.invoked_subcommand is not None:
        return
    lake = reader.tables_alone(["runs", "steps", "problems"])
    with reader.rows(lake, _LISTED) as (names, rows):
        every = [dict(zip(names, row, strict=True)) for row in rows]
    for what, wanted in (("experiment", experiment), ("status", status)):
        known = sorted({str(run[what]) for run in every})
        if wanted is not None and wanted not in known:
            raise UsageError(f"no run has {what} {wanted!r:.80}{strict_yaml.suggestion(wanted, known)}")
    chosen = [run for run in every if experiment in (None, run["experiment"]) and status in (None, run["status"])][
        -(last or len(every)) :
    ]
    if form is Form.csv:
        write_csv(out.file, names, (run.values() for run in chosen))
    elif form is Form.json:
        write_json(out.file, names, (run.values() for run in chosen))
    elif chosen:
        _print_runs(chosen)
    else:
        out.print("no runs yet; make some with `ibench run experiments/demo.yaml`")
    print_problems(lake)


def _print_runs(found: list[dict[str, Any]]) -> None:
    """All columns where the terminal has room for them, else the main ones with notes below."""
    shown = [["" if run[column] is None else str(run[column]) for column in _SHOWN] for run in found]
    lines = plain_lines(list(_SHOWN.values()), shown)
    if max(map(len, lines)) > out.width:
        narrow = plain_lines(list(_NARROW.values()), ([str(run[column]) for column in _NARROW] for run in found))
        notes = ["", *(run["note"] for run in found)]
        lines = [line + f"\n    {one_line(note)}" * bool(note) for line, note in zip(narrow, notes, strict=True)]
    out.file.write("\n".join(lines) + "\n")


@app.command("recover")
def runs_recover(run_ids: SomeRuns = None) -> None:
    """Seal the runs whose runner was killed, from their journals. `ibench run` does this too.

    [bold]Example:[/] ibench runs recover
    """
    place = workspace()
    finish_removals(place.runs)
    for left in (*sandbox_directory.sweep(place.sandboxes), *sweep_scratch(SCRATCH_PREFIX)):
        out.print(f"removed {safe(str(left))}, which a dead runner left", soft_wrap=True)
    errors: list[LakeError] = []
    if run_ids:
        recovered = [recover(place.run_dir(run_id)) for run_id in run_ids]
    else:
        recovered, errors = recover_all(place.runs)
    for manifest in recovered:
        rows = sum(record.rows for record in manifest.files.values())
        where = f" in {manifest.failed_step}" if manifest.failed_step else ""
        out.print(f"{safe(manifest.run_id)}: {manifest.status}{safe(where)}, {rows:,} rows", soft_wrap=True)
        for warning in manifest.warnings:
            out.print(f"    {safe(warning)}", soft_wrap=True)
    for error in errors:
        err.print(f"[red]not recovered:[/] {safe(error.what)}", soft_wrap=True)
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
        said = "[red]bad[/]" if problems else "good" if vouched_for(run_dir) else f"good; {NO_CHECKSUM}"
        out.print(f"{safe(run_dir.name)}: {said}", soft_wrap=True)
        for problem in problems:
            out.print(f"    {safe(problem)}", soft_wrap=True)
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
        err.print(f"removed {safe(run_id)}", soft_wrap=True)


@app.command("push")
def runs_push(place: Place, run_ids: SomeRuns = None) -> None:
    """Copy sealed runs, unchanged, to a folder, a .zip file or an object store.

    With IBENCH_LAKE=PLACE, ibench reads them there.

    [bold]Example:[/] ibench runs push s3://bucket/lake
    """
    here = workspace()
    chosen = [here.run_dir(run_id) for run_id in run_ids] if run_ids else run_dirs(here.runs, Found())
    if not chosen:
        raise UsageError("there is no run to push", hint=f"runs lie in {here.runs}")
    if is_archive(place):
        with new_archive(Path(place)) as archive:
            _copy("pushed", [(run_dir.name, partial(push, run_dir, archive)) for run_dir in chosen])
        return
    store = open_store(place)
    _copy("pushed", [(run_dir.name, partial(push, run_dir, store)) for run_dir in chosen])
    with working("index"), duckdb.connect(":memory:") as connection:
        push_index(store, reader.index_of(store, here, connection))


@app.command("pull")
def runs_pull(place: Place, run_ids: SomeRuns = None) -> None:
    """Copy runs from a folder, a .zip file or an object store into this lake, every file verified by its checksum.

    [bold]Example:[/] ibench runs pull s3://bucket/lake
    """
    store, here = open_store(place), workspace()
    _copy("pulled", [(run_id, partial(pull, run_id, store, here)) for run_id in run_ids or store.run_ids()])


@app.command("import")
def runs_import(
    file: Annotated[
        Path, typer.Argument(help="What others have measured; its content decides which importer reads it.")
    ],
    experiment: Annotated[str, typer.Option("--experiment", "-e", help="The name of their experiment.")],
    source: Annotated[str, typer.Option("--source", "-s", help="Where the figures were published.")],
    title: Annotated[str, typer.Option("--title", help="One line for people; by default the source.")] = "",
    importer: Annotated[str | None, typer.Option("--as", help="Name of the importer, whatever the content.")] = None,
    setup: Annotated[
        str | None, typer.Option("--setup", help="Setup of the runs, if the file does not name it.")
    ] = None,
    dbms: Annotated[
        str | None, typer.Option("--dbms", help="<build>.<config> of the runs, if the file does not name it.")
    ] = None,
) -> None:
    """Import what others have measured or published, to compare it with runs of this lake. It is marked everywhere.

    [bold]Example:[/] ibench runs import report.csv --experiment report-2023 --source "report of August 2023"
    """
    for what, text in (("source", source), ("title", title)):
        check_line(text, what)
    taken = import_file(
        file,
        experiment,
        source,
        workspace(),
        kind_of=kind_of,
        title=title,
        importer=importer,
        setup=setup,
        dbms=dbms,
    )
    for warning in taken.warnings:
        err.print(f"[yellow]warning:[/] {safe(warning)}", soft_wrap=True)
    runs = count(len(taken.run_ids), f"{taken.importer} run")
    out.print(f"{safe(runs)} of {safe(experiment)}", soft_wrap=True)


def _copy(done: str, copies: list[tuple[str, Callable[[], bool]]]) -> None:
    made = 0
    for run_id, copy in copies:
        with working(run_id):
            copied = copy()
        out.print(f"{safe(run_id)}: {done if copied else 'already there'}", soft_wrap=True)
        made += copied
    out.print(f"{made} of {count(len(copies), 'run')} {done}")
