"""`ibench profile`: the stacks that perf sampled, as files for other tools."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ibench_lib.base.later import later
from ibench_lib.base.wording import count, suggestion
from ibench_lib.cli import known_names
from ibench_lib.cli.output import out, safe
from ibench_lib.cli.run_names import of_lake
from ibench_lib.errors import ParameterError, UsageError

if TYPE_CHECKING:
    from ibench_lib.store import narrow, reader
else:
    narrow, reader = map(later, ("ibench_lib.store.narrow", "ibench_lib.store.reader"))

app = typer.Typer(
    help="""Write profiles of the server for other tools.

    [bold]Example:[/] ibench profile export RUN --step l.i0 --format speedscope
    """,
    no_args_is_help=True,
)


class Form(StrEnum):
    """The files that there are."""

    folded = "folded"
    speedscope = "speedscope"
    pprof = "pprof"


_ENDS = {Form.folded: "folded", Form.speedscope: "speedscope.json", Form.pprof: "pb.gz"}


@app.callback()
def profile() -> None:
    """Write profiles of the server for other tools."""


@app.command("export")
def export(
    run: Annotated[
        str,
        typer.Argument(
            help="A run: its id, its beginning, or a glob or experiment of one run.",
            autocompletion=known_names.runs_and_experiments,
        ),
    ],
    step: Annotated[str, typer.Option(help="The step, such as l.i0.", autocompletion=known_names.steps)],
    form: Annotated[
        Form,
        typer.Option(
            "--format",
            "-f",
            help="folded: a line for each stack, as flamegraph.pl reads it; speedscope: for speedscope.app; "
            "pprof: for `go tool pprof`.",
        ),
    ] = Form.folded,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A new file for it, or - for the terminal.")
    ] = None,
) -> None:
    """Write what perf sampled of the server in one step of a run.

    The experiment must have asked for profiles: `capture: {profile: {}}` records once a minute. A step of less than
    two minutes may have none; a smaller `every_s` records more often.

    [bold]Example:[/] ibench profile export 20261122T2329 --step l.i0 --format pprof
    """  # fmt: skip
    # Imported here, so that other commands do not wait for polars.
    from ibench_lib.analysis.flame.sides import side_of
    from ibench_lib.show.flame.exports import folded, pprof, speedscope
    from ibench_lib.show.kit.html_ids import html_id

    lake = reader.lake()
    fits = of_lake(lake, [run])
    if len(fits) > 1:
        raise UsageError(f"{len(fits)} runs fit {run!r:.200}", hint="name one of them", detail="\n".join(fits))
    (run_id,) = fits
    lake = narrow.narrowed(lake, [run_id])
    asked = {"runs": [run_id], "steps": [step]}
    profiled = reader.question(lake, "profiled", **asked)
    if profiled.is_empty():
        steps = reader.question(lake, "profiled", runs=[run_id], steps=[])["step"].to_list()
        raise ParameterError(f"run {run_id} has no step {step!r:.80}{suggestion(step, steps)}")
    side = side_of(reader.question(lake, "stacks", **asked), profiled)
    if side is None:
        raise ParameterError(f"{step} of run {run_id} was not profiled: {profiled['reason'][0]}")
    makers = {Form.folded: folded, Form.speedscope: lambda one: speedscope([one]), Form.pprof: pprof}
    content = makers[form](side)
    if output == Path("-"):
        sys.stdout.buffer.write(content)
        return
    path = output or Path(f"{html_id(f'{side.name} {step}')}.{_ENDS[form]}")
    try:
        with open(path, "xb") as file:
            file.write(content)
    except FileExistsError:
        raise UsageError(f"{path} exists already", hint="name another file with --output") from None
    out.print(safe(f"{path}: {count(side.samples, 'sample')}, {count(len(side.raw), 'stack')}"), soft_wrap=True)
