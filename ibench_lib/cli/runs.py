"""`ibench runs`: list and maintain the runs of this lake."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ibench_lib.base.wording import count, suggestion
from ibench_lib.cli import known_names
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
from ibench_lib.cli.run_names import experiment_in, fitting
from ibench_lib.errors import IbenchError, LakeError, UsageError
from ibench_lib.paths import check_name, workspace

if TYPE_CHECKING:
    import duckdb

    from ibench_lib.importers.intake import ImportPlan
    from ibench_lib.store.annotations import Annotation

app = typer.Typer(
    help="""List the runs of this lake; recover, verify, delete, copy, import and annotate runs.

    [bold]Example:[/] ibench runs
    """,
    invoke_without_command=True,
)

RunIds = Annotated[
    list[str],
    typer.Argument(
        help="Runs: ids, their beginnings, globs such as '*-r3', or experiments.",
        autocompletion=known_names.runs_and_experiments,
    ),
]
OneRun = Annotated[
    str,
    typer.Argument(
        help="A run: its id or its beginning; or several: a glob or an experiment.",
        autocompletion=known_names.runs_and_experiments,
    ),
]
Tags = Annotated[list[str], typer.Argument(help="Letters, digits, '.', '_' and '-'.", autocompletion=known_names.tags)]
Place = Annotated[
    str, typer.Argument(help="A folder, a .zip file, or an address that fsspec knows, such as s3://bucket/lake.")
]
SomeRuns = Annotated[
    list[str] | None,
    typer.Argument(
        help="Runs: ids, their beginnings, globs or experiments; by default all.",
        autocompletion=known_names.runs_and_experiments,
    ),
]
RunsThere = Annotated[
    list[str] | None,
    typer.Argument(
        help="Runs: ids, their beginnings, globs or experiments; by default all.", autocompletion=known_names.runs_there
    ),
]


class Form(StrEnum):
    """How runs are listed."""

    table = "table"
    csv = "csv"
    json = "json"


_LISTED = """
    SELECT
        r.run_id, r.experiment, r.status, r.dbms, r.setup, r.server_version,
        count(s.step) FILTER (WHERE s.status = 'complete') AS steps_done,
        concat_ws(
            '; ',
            'excluded: ' || a.excluded,
            nullif(array_to_string(list_transform(a.tags, lambda tag: '#' || tag), ' '), ''),
            a.note,
            nullif(
                coalesce('in ' || r.failed_step || ': ', '')
                    || concat_ws('; ', r.error, r.origin || ', not measured here: ' || r.source),
                ''
            )
        ) AS note,
        array_to_string(coalesce(a.tags, []), ' ') AS tags, a.excluded
    FROM runs r LEFT JOIN steps s USING (run_id) LEFT JOIN annotations a USING (run_id)
    GROUP BY ALL ORDER BY r.run_id
"""
_OF_HOST = ["taken_share", "busy_host"]
"""What programs get of a host that had much other work: the largest share of its CPUs, and a sentence for each step."""
_SHOWN = {
    "run_id": "run", "status": "status", "dbms": "dbms", "setup": "setup", "server_version": "server",
    "steps_done": "steps done", "note": "note",
}  # fmt: skip
"""Column -> what it is called in the table."""
_NARROW = {"run_id": "run", "status": "status", "steps_done": "steps"}
"""A run's id says the rest; notes have lines of their own."""


OfExperiment = Annotated[
    str | None,
    typer.Option(
        "--experiment", "-e", help="Only the runs of this experiment.", autocompletion=known_names.experiments
    ),
]
OfStatus = Annotated[str | None, typer.Option("--status", help="Only runs that are complete, failed, running, ...")]
WithTag = Annotated[
    str | None, typer.Option("--tag", "-t", help="Only runs with this tag.", autocompletion=known_names.tags)
]
Last = Annotated[int | None, typer.Option("--last", "-n", min=1, help="Only the newest runs, at most this many.")]
As = Annotated[Form, typer.Option("--format", "-f", help="The output format.")]
AsJson = Annotated[bool, typer.Option("--json", help="The same as --format json.")]


@app.callback()
def runs(
    context: typer.Context,
    experiment: OfExperiment = None,
    status: OfStatus = None,
    tag: WithTag = None,
    last: Last = None,
    form: As = Form.table,
    as_json: AsJson = False,
) -> None:
    """List the runs of this lake; recover, verify, delete, copy, import and annotate runs."""
    form = Form.json if as_json else form
    if context.invoked_subcommand is None:
        _list(experiment, status, tag, last, form)
    elif any(option is not None for option in (experiment, status, tag, last)) or form is not Form.table:
        command = context.invoked_subcommand
        raise UsageError(f"options before `{command}` have no effect", hint="put the options after `ibench runs list`")


@app.command("list")
def runs_list(
    experiment: OfExperiment = None,
    status: OfStatus = None,
    tag: WithTag = None,
    last: Last = None,
    form: As = Form.table,
    as_json: AsJson = False,
) -> None:
    """List the runs of this lake, as `ibench runs` does.

    [bold]Example:[/] ibench runs list --tag baseline
    """
    _list(experiment, status, tag, last, Form.json if as_json else form)


def _list(experiment: str | None, status: str | None, tag: str | None, last: int | None, form: Form) -> None:
    from ibench_lib.store import reader

    tables = ["runs", "steps", "annotations", "problems", "workers", "step_counters"]
    lake = reader.tables_alone(tables, macros=["busy_hosts"])
    with reader.rows(lake, _LISTED) as (names, rows):
        every = [dict(zip(names, row, strict=True)) for row in rows]
    for what, wanted in (("experiment", experiment), ("status", status)):
        _require(what, wanted, {str(run[what]) for run in every})
    _require("tag", tag, {name for run in every for name in run["tags"].split()})
    chosen = [
        run
        for run in every
        if experiment in (None, run["experiment"])
        and status in (None, run["status"])
        and (tag is None or tag in run["tags"].split())
    ][-(last or len(every)) :]
    _add_busy_hosts(lake, chosen)
    names += _OF_HOST
    if form is Form.csv:
        write_csv(out.file, names, (run.values() for run in chosen))
    elif form is Form.json:
        write_json(out.file, names, (run.values() for run in chosen))
    elif chosen:
        _print_runs(chosen)
    else:
        out.print("no runs yet; make some with `ibench run experiments/demo.yaml`")
    print_problems(lake)


def _add_busy_hosts(lake: duckdb.DuckDBPyConnection, runs: list[dict[str, Any]]) -> None:
    """Add to each run whether its host had much other work, and say in its note where it had most."""
    import duckdb

    from ibench_lib.store.narrow import narrowed

    ids, asked = [run["run_id"] for run in runs], "SELECT run_id, taken_share, said, worst FROM busy_hosts($1)"
    try:
        found = narrowed(lake, ids).execute(asked, [ids]).fetchall() if ids else []
    except duckdb.Error as error:  # a file that has been damaged since it was checked; the list needs none
        found = []
        err.print(f"[yellow]not known:[/] whether hosts were busy: {safe(one_line(str(error)))}", soft_wrap=True)
    busy = {run_id: (share, said, worst) for run_id, share, said, worst in found}
    for run in runs:
        share, said, worst = busy.get(run["run_id"], (None, [], ""))
        run |= dict(zip(_OF_HOST, (share, "; ".join(said) or None), strict=True))
        if said:
            where = f"in {len(said)} steps, most in" if said[1:] else "in"
            run["note"] = "; ".join(filter(None, (run["note"], f"busy host {where} {worst}")))


def _require(what: str, wanted: str | None, known: Collection[str]) -> None:
    """Raises UsageError if no run has what is wanted."""
    if wanted is not None and wanted not in known:
        raise UsageError(f"no run has {what} {wanted!r:.80}{suggestion(wanted, sorted(known))}")


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
    from ibench_lib.base.scratch import sweep_scratch
    from ibench_lib.servers import sandbox_directory
    from ibench_lib.store.recover import recover, recover_all
    from ibench_lib.store.remove import finish_removals
    from ibench_lib.store.transfer import ARRIVING

    place = workspace()
    finish_removals(place.runs)
    scratch = (*sweep_scratch(), *sweep_scratch(ARRIVING, place.runs))
    for left in (*sandbox_directory.sweep(place.sandboxes), *scratch):
        out.print(f"removed {safe(str(left))}, left behind by a process that died", soft_wrap=True)
    errors: list[LakeError] = []
    if run_ids:
        recovered = [recover(place.run_dir(run_id)) for run_id in _matching(run_ids)]
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
            hint="the reasons are above; `ibench runs remove` deletes a run",
        )
    if not recovered:
        out.print("nothing to recover")


@app.command("verify")
def runs_verify(run_ids: SomeRuns = None) -> None:
    """Read runs completely and check every file, count and checksum. Exit code 1 if a run is damaged.

    Without ids, your own runs are verified. You can also name a run of the sample.

    [bold]Example:[/] ibench runs verify
    """
    from ibench_lib.store.discovery import LakeContents, run_dirs
    from ibench_lib.store.verify import verify, without_checksum

    place = workspace()
    own, shipped = (run_dirs(folder, LakeContents()) for folder in (place.runs, place.sample))
    known = {run_dir.name: run_dir for run_dir in (*shipped, *own)}
    where, hint = f"{place.runs} or the sample", "`ibench runs` lists the runs"
    meant = fitting(run_ids or (), list(known), where, hint, experiment_in(known))
    chosen = [known[run_id] for run_id in meant] if run_ids else own
    if not chosen:
        raise UsageError("you have no runs to verify", hint="name a run of the sample, or make or pull runs first")
    bad = 0
    for run_dir in chosen:
        try:
            with working(f"verifying {run_dir.name}"):
                problems = verify(run_dir)
        except LakeError as error:
            problems = [error.what]
        said = "[red]bad[/]" if problems else "good"
        if not problems and (unknown := without_checksum(run_dir)):
            said += f"; made by an older ibench, without a checksum of {', '.join(unknown)}"
        out.print(f"{safe(run_dir.name)}: {said}", soft_wrap=True)
        for problem in problems:
            out.print(f"    {safe(problem)}", soft_wrap=True)
        bad += bool(problems)
    if bad:
        raise LakeError(f"{bad} of {count(len(chosen), 'run')} damaged", hint="the problems are listed above")
    out.print(f"{count(len(chosen), 'run')} verified")


@app.command("remove")
def runs_remove(
    run_ids: RunIds,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete runs permanently. A run in progress is refused.

    [bold]Example:[/] ibench runs remove 20261121T070508Z-demo-small-system.cy10a-r1
    """
    from ibench_lib.store.remove import remove_run

    place = workspace()
    chosen = _matching(run_ids)
    if not yes:
        for run_id in chosen:
            err.print(safe(run_id), soft_wrap=True)
        typer.confirm(f"Delete {count(len(chosen), 'run')} permanently?", abort=True, err=True)
    for run_id in chosen:
        remove_run(run_id, place)
        err.print(f"removed {safe(run_id)}", soft_wrap=True)


@app.command("note")
def runs_note(
    run: OneRun, text: Annotated[str, typer.Argument(help="The note, which replaces an earlier one; '' removes it.")]
) -> None:
    """Write a note on a run. `ibench runs` shows it; the run itself does not change.

    [bold]Example:[/] ibench runs note 20261121T070508Z "a backup ran at the same time"
    """
    _annotate([run], lambda _: {"note": text or None}, f"note: {text}" if text else "no note")


@app.command("tag")
def runs_tag(run: OneRun, tags: Tags) -> None:
    """Add tags to a run. `ibench runs --tag TAG` lists the runs that have one.

    [bold]Example:[/] ibench runs tag '*-demo-*' baseline before-upgrade
    """
    for tag in tags:
        check_name(tag, "tag")
    _annotate([run], lambda had: {"tags": list(dict.fromkeys([*had.tags, *tags]))}, f"tagged {', '.join(tags)}")


@app.command("untag")
def runs_untag(run: OneRun, tags: Tags) -> None:
    """Remove tags from a run.

    [bold]Example:[/] ibench runs untag '*-demo-*' before-upgrade
    """
    for tag in tags:
        if not any(tag in had.tags for _, had in _annotated([run])):
            raise UsageError(f"{run!r:.80} has no tag {tag!r:.80}", hint="`ibench runs` shows the tags")
    _annotate(
        [run], lambda had: {"tags": [tag for tag in had.tags if tag not in tags]}, f"no longer tagged {', '.join(tags)}"
    )


@app.command("exclude")
def runs_exclude(
    run_ids: RunIds, why: Annotated[str, typer.Option("--why", help="The reason, which posts show.")]
) -> None:
    """Exclude runs: posts, comparisons and changes leave them out and say why. Their cells count as not done.

    [bold]Example:[/] ibench runs exclude 20261121T070508Z --why "a backup ran at the same time"
    """
    check_line(why, "why")
    _annotate(run_ids, lambda _: {"excluded": why}, f"excluded: {why}")


@app.command("include")
def runs_include(run_ids: RunIds) -> None:
    """Let excluded runs count again.

    [bold]Example:[/] ibench runs include 20261121T070508Z
    """
    if all(had.excluded is None for _, had in _annotated(run_ids)):
        raise UsageError("none of these runs is excluded", hint="`ibench runs` shows which runs are")
    _annotate(run_ids, lambda _: {"excluded": None}, "included")


def _matching(patterns: list[str]) -> list[str]:
    """The ids of this workspace's runs that are meant (`fitting`)."""
    from ibench_lib.store.discovery import LakeContents, run_dirs

    place = workspace()
    known = {run_dir.name: run_dir for run_dir in run_dirs(place.runs, LakeContents())}
    hint = "`ibench runs` lists the runs of this lake; those of the sample cannot be changed"
    return fitting(patterns, list(known), str(place.runs), hint, experiment_in(known))


def _annotated(patterns: list[str]) -> list[tuple[str, Annotation]]:
    from ibench_lib.store.annotations import Annotation, read_annotation

    place = workspace()
    return [(name, read_annotation(place.run_dir(name)) or Annotation()) for name in _matching(patterns)]


def _annotate(patterns: list[str], change: Callable[[Annotation], dict[str, Any]], said: str) -> None:
    """Change what is said of runs, and print what was done."""
    from ibench_lib.store.annotations import annotate

    for name, had in _annotated(patterns):
        annotate(workspace().run_dir(name), **change(had))
        out.print(safe(f"{name}: {one_line(said)}"), soft_wrap=True)


@app.command("push")
def runs_push(place: Place, run_ids: SomeRuns = None) -> None:
    """Copy sealed runs, unchanged, to a folder, a .zip file or an object store.

    With IBENCH_LAKE=PLACE, ibench reads them there.

    [bold]Example:[/] ibench runs push s3://bucket/lake
    """
    import duckdb

    from ibench_lib.store import reader
    from ibench_lib.store.discovery import LakeContents, run_dirs
    from ibench_lib.store.transfer import is_archive, new_archive, open_store, push, push_index

    here = workspace()
    chosen = [here.run_dir(run_id) for run_id in _matching(run_ids)] if run_ids else run_dirs(here.runs, LakeContents())
    if not chosen:
        raise UsageError("there is no run to push", hint=f"this lake keeps its runs in {here.runs}")
    if is_archive(place):
        with new_archive(Path(place)) as archive:
            _copy("pushed", [(run_dir.name, partial(push, run_dir, archive)) for run_dir in chosen])
        return
    store = open_store(place)
    _copy("pushed", [(run_dir.name, partial(push, run_dir, store)) for run_dir in chosen])
    with working("index"), duckdb.connect(":memory:") as connection:
        push_index(store, reader.index_of(store, here, connection))


@app.command("pull")
def runs_pull(place: Place, run_ids: RunsThere = None) -> None:
    """Copy runs from a folder, a .zip file or an object store into this lake, every file verified by its checksum.

    [bold]Example:[/] ibench runs pull s3://bucket/lake
    """
    from ibench_lib.base.scratch import sweep_scratch
    from ibench_lib.store.transfer import ARRIVING, open_store, pull

    store, here = open_store(place), workspace()
    sweep_scratch(ARRIVING, here.runs)
    known = store.run_ids()
    if not known:
        raise UsageError(f"there is no run in {place}", hint="`ibench runs push` copies runs to such a place")
    chosen = fitting(run_ids, known, place, f"`IBENCH_LAKE={place} ibench runs` lists them") if run_ids else known

    def said_of(run_id: str) -> Callable[[str], None]:
        return lambda said: out.print(f"{safe(run_id)}: {safe(one_line(said))}", soft_wrap=True)

    copies = [(run_id, partial(pull, run_id, store, here, said_of(run_id))) for run_id in chosen]
    _copy("pulled", copies, go_on=True)


@app.command("import")
def runs_import(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="Files, folders and archives to import; their content decides which importer reads them.",
        ),
    ],
    experiment: Annotated[str, typer.Option("--experiment", "-e", help="The name of their experiment.")] = "",
    source: Annotated[str, typer.Option("--source", "-s", help="Where the figures were published.")] = "",
    title: Annotated[str, typer.Option("--title", help="A one-line title; by default the source.")] = "",
    importer: Annotated[
        str | None, typer.Option("--as", help="The importer to use, regardless of the files' content.")
    ] = None,
    setup: Annotated[
        str | None, typer.Option("--setup", help="Setup of the runs, if the files do not name it.")
    ] = None,
    dbms: Annotated[
        str | None, typer.Option("--dbms", help="<build>.<config> of the runs, if the files do not name it.")
    ] = None,
    test: Annotated[
        str | None, typer.Option("--test", help="The test of a sysbench log, if neither it nor its name says it.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what each file would become, and write nothing.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Import runs that are already there once more, then remove the old ones.")
    ] = False,
) -> None:
    """Import what others have measured or published, to compare it with the runs of this lake.

    It is marked as such everywhere.

    [bold]Example:[/] ibench runs import report.csv --experiment report-2023 --source "report of August 2023"
    """
    from ibench_lib.importers.intake import import_file, plan_import

    if dry_run:
        planned = plan_import(paths, importer=importer, setup=setup, dbms=dbms, test=test)
        _print_plan(planned)
        return
    if not experiment:
        raise UsageError(
            "the imported runs need an experiment", hint="name it with --experiment, such as -e report-2023"
        )
    for what, text in (("source", source), ("title", title)):
        check_line(text, what)
    taken = import_file(
        paths,
        experiment,
        source,
        workspace(),
        title=title,
        importer=importer,
        setup=setup,
        dbms=dbms,
        test=test,
        again=again,
    )
    for warning in taken.warnings:
        err.print(f"[yellow]warning:[/] {safe(warning)}", soft_wrap=True)
    for run_id in taken.already:
        out.print(f"already there: {safe(run_id)}", soft_wrap=True)
    if taken.run_ids:
        runs = count(len(taken.run_ids), f"{taken.importer} run")
        out.print(f"{safe(runs)} of {safe(experiment)}", soft_wrap=True)


def _print_plan(planned: ImportPlan) -> None:
    """The plan of an import: a line for each file and step."""
    heads = ["file", "format", "run", "step", "threads", "why"]
    lines = [
        [row.file, row.format or "-", row.run or "-", row.step or "-", f"{row.threads or '-'}", row.why]
        for row in planned.rows
    ]
    widths = [max(len(line[number]) for line in [heads, *lines]) for number in range(len(heads))]
    for line in [heads, *lines]:
        text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        out.print(safe(text), soft_wrap=True)
    for warning in planned.warnings:
        err.print(f"[yellow]warning:[/] {safe(warning)}", soft_wrap=True)


def _copy(done: str, copies: Sequence[tuple[str, Callable[[], bool]]], *, go_on: bool = False) -> None:
    """Copy runs, and print what was done. `go_on`: a run that cannot be copied does not end it."""
    made, refused = 0, 0
    for run_id, copy in copies:
        try:
            with working(safe(run_id)):
                copied = copy()
        except IbenchError as error:
            if not go_on or len(copies) == 1:
                raise
            err.print(f"[red]not {done}:[/] {safe(error.what)}", soft_wrap=True)
            refused += 1
            continue
        out.print(f"{safe(run_id)}: {done if copied else 'already there'}", soft_wrap=True)
        made += copied
    out.print(f"{made} of {count(len(copies), 'run')} {done}")
    if refused:
        raise LakeError(
            f"{count(refused, 'run')} could not be {done}",
            hint="the reasons are above; nothing is left of these runs here",
        )
