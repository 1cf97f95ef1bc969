"""`ibench summary` and `ibench compare`: throughput and tail latency, in the terminal or for other programs."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from ibench_lib.base.later import later
from ibench_lib.base.wording import count
from ibench_lib.cli import known_names
from ibench_lib.cli.output import err, one_line, out, print_problems, safe, write_csv
from ibench_lib.errors import UsageError
from ibench_lib.paths import Workspace

if TYPE_CHECKING:
    import duckdb

    from ibench_lib.analysis.summary import SummaryRow
    from ibench_lib.ask.selection import Selection
    from ibench_lib.store import reader, shown
else:
    reader, shown = later("ibench_lib.store.reader"), later("ibench_lib.store.shown")


_WIDEST_NAME = 24
"""Characters of a name that no terminal has to break."""

_KEY = (
    "ratio: with its 95 % interval; ratios use geometric means, the columns medians: they need not agree; verdicts "
    "allow for all comparisons of a setup"
)


_OF_RUNS = ("experiment", "title", "lake", "warnings")
"""What rows for other programs have of the runs behind them: `warnings` are those of these runs, each once."""


class Form(StrEnum):
    """How a summary is printed."""

    table = "table"
    csv = "csv"
    json = "json"
    md = "md"


Experiment = Annotated[
    str | None,
    typer.Argument(
        help="The experiment; by default the one with the newest run.", autocompletion=known_names.experiments
    ),
]
Of = Annotated[
    str | None,
    typer.Option(
        help="The experiment; by default the one with the newest run.", autocompletion=known_names.experiments
    ),
]
Base = Annotated[
    str,
    typer.Option(
        help="The base: a result (<build>.<config>), or a configuration, which is then the base of each build; "
        "or `previous`: each is compared with the one before it.",
        autocompletion=known_names.results,
    ),
]
Dbms = Annotated[
    list[str] | None,
    typer.Option(help="A glob on <build>.<config>; can be repeated.", autocompletion=known_names.results),
]
Setup = Annotated[
    list[str] | None, typer.Option(help="A setup to show; can be repeated.", autocompletion=known_names.setups)
]
Step = Annotated[
    list[str] | None, typer.Option(help="A step to show; can be repeated.", autocompletion=known_names.steps)
]
As = Annotated[Form, typer.Option("--format", "-f", help="How to print it.")]
AsJson = Annotated[bool, typer.Option("--json", help="The same as --format json.")]


def summary_command(
    experiment: Experiment = None, dbms: Dbms = None, setup: Setup = None, step: Step = None, base: Base = "",
    with_tails: Annotated[bool, typer.Option("--tails", help="Also the 99th percentile of response times.")] = False,
    form: As = Form.table, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Show the throughput of each step: median, range, ratio to the base with its interval, and a verdict.

    [bold]Example:[/] ibench summary demo --step l.i1 --format md
    """
    lake = reader.lake()
    chosen = {"dbms": dbms or (), "setups": setup or (), "base": base}
    _print(lake, experiment, chosen, step, Form.json if as_json else form, with_tails=with_tails)
    print_problems(lake)


def compare_command(
    a: Annotated[
        str, typer.Argument(help="A result, <build>.<config>; it is the base.", autocompletion=known_names.results)
    ],
    b: Annotated[str, typer.Argument(help="Another one, to compare with it.", autocompletion=known_names.results)],
    experiment: Of = None,
    setup: Setup = None,
    step: Step = None,
    form: As = Form.table,
    as_json: AsJson = False,
) -> None:
    """Compare the throughput and the tail latency of two results of an experiment.

    The noise is that of all results of the experiment, as in `ibench summary`.

    [bold]Example:[/] ibench compare system.base system.durable
    """
    if a == b:
        raise UsageError(f"{a} cannot be compared with itself", hint="name two results; `ibench summary` lists them")
    lake = reader.lake()
    chosen = {"setups": setup or (), "base": a}
    _print(lake, experiment, chosen, step, Form.json if as_json else form, with_tails=True, only=[a, b])
    print_problems(lake)


def print_result(place: Workspace, experiment: str) -> None:
    """What the runs of an experiment say, in a few lines, and what to do next."""
    # Imported here, so that other commands do not wait for polars and all that draws.
    from ibench_lib.ask.selection import choose
    from ibench_lib.show.headline import headline_statements

    post = choose(reader.lake(place), experiment)
    if not post.run_ids:
        return
    for text in headline_statements(post.ask("step_throughput"), post.bases):
        out.print(safe(text))
    out.print(safe(f"next: ibench summary {experiment}, or ibench post --experiment {experiment}"), soft_wrap=True)


def _print(
    lake: duckdb.DuckDBPyConnection,
    of: str | None,
    chosen: dict[str, Any],
    steps: list[str] | None,
    form: Form,
    *,
    with_tails: bool,
    only: Sequence[str] = (),
) -> None:
    """`only`: the results to show; the noise is that of all that are chosen."""
    from ibench_lib.analysis.run_warnings import kinds_of_warnings
    from ibench_lib.analysis.summary import SummaryRow, selected_rows
    from ibench_lib.ask.selection import choose, measured_experiment

    experiment = measured_experiment(lake, of)
    post = choose(lake, experiment, **chosen)
    # It names a result that is not there.
    told = choose(lake, experiment, **chosen, dbms=list(only)) if only else post
    if steps:
        choose(lake, experiment, **chosen, steps=steps)  # it names a step that is not there
    rows = selected_rows(post, steps or (), told.runs["dbms"].to_list() if only else (), with_tails=with_tails)
    if form in (Form.csv, Form.json):
        of_other_programs = [_with_its_runs(row, post, shown.where(lake)) for row in rows]
    if form is Form.csv:
        names = [field.name for field in dataclasses.fields(SummaryRow)] + list(_OF_RUNS)
        joined = ({**row, "warnings": "; ".join(row["warnings"])} for row in of_other_programs)
        write_csv(sys.stdout, names, (row.values() for row in joined))
    elif form is Form.json:
        sys.stdout.write(json.dumps(of_other_programs, indent=1) + "\n")
    else:
        heads, cells = _cells(rows, post)
        of_what = _heading(told, shown.where(lake), noise_of=len(post.run_ids))
        warned = [str(kind) for kind in kinds_of_warnings(told.runs)]
        if form is Form.md:
            lines = [heads, ["---"] * len(heads), *cells]
            table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
            said = "".join(f"- warning: {one_line(text)}\n" for text in warned)
            sys.stdout.write(f"{one_line(of_what)}\n\n{table}" + f"\n{said}" * bool(said))
        else:
            out.print(safe(of_what), highlight=False, soft_wrap=True)
            for text in warned:
                out.print(f"[yellow]warning:[/] {safe(text)}", highlight=False, soft_wrap=True)
            _print_tables(heads, cells)
            if any(row.low is not None for row in rows):
                out.print(f"[dim]{_KEY}[/]")
            if needed := _needed(rows):
                out.print(f"[dim]{safe(needed)}[/]")
    for run_id, why in told.excluded.items():
        err.print(f"[yellow]left out[/] {safe(f'{run_id}: excluded: {why}')}", soft_wrap=True)


def _with_its_runs(row: SummaryRow, post: Selection, where: str) -> dict[str, Any]:
    """A row with what is known of the runs behind it: `_OF_RUNS`."""
    runs = post.runs.filter(dbms=row.dbms, setup=row.setup)
    experiment, title = (", ".join(runs[column].unique(maintain_order=True)) for column in ("experiment", "title"))
    warned = list(dict.fromkeys(text for texts in runs["warnings"].to_list() for text in texts or ()))
    found = (experiment, title, where, warned)
    return dataclasses.asdict(row) | dict(zip(_OF_RUNS, found, strict=True))


def _heading(post: Selection, where: str, noise_of: int) -> str:
    """The experiment, its title, the runs, those that the noise is of if they are more, and the lake of them all."""
    names, titles = (post.runs[column].unique(maintain_order=True).to_list() for column in ("experiment", "title"))
    runs = count(len(post.run_ids), "run") + (f", noise of {noise_of}" if noise_of > len(post.run_ids) else "")
    return f"{', '.join(names)}: {'; '.join(titles)} ({runs}, lake {where})"


def _print_tables(heads: list[str], lines: list[list[str]]) -> None:
    """The results of each step and rate below its name, all in the same columns.

    A narrow terminal breaks names, and no figure.
    """
    place = heads.index("dbms")
    shown = [heads[place], *heads[place + 2 :]]
    groups: dict[str, list[list[str]]] = {}
    for line in lines:
        named = ", ".join([*line[:place], line[place + 1]])
        groups.setdefault(named, []).append([line[place], *line[place + 2 :]])
    every = [shown, *(row for rows in groups.values() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*every, strict=True)]
    widths[0] = min(widths[0], _WIDEST_NAME)
    for number, (named, rows) in enumerate(groups.items()):
        table = Table(box=None, header_style="dim", pad_edge=False, show_header=number == 0)
        for head, width in zip(shown, widths, strict=True):
            table.add_column(head, no_wrap=head != "dbms", overflow="fold", min_width=width)
        for row in rows:
            table.add_row(*map(safe, row))
        out.print(f"[bold]{safe(named)}[/]", highlight=False, soft_wrap=True)
        out.print(table)


def _needed(rows: Sequence[SummaryRow]) -> str:
    """How many repeats would tell more of what is unclear: the most that a result of a step needs."""
    from ibench_lib.show.kit.wording import repeats_said

    steps: dict[str, list[int | None]] = {}
    for row in rows:
        if row.verdict == "unclear":
            steps.setdefault(row.step, []).append(row.repeats)
    return f"unclear: {repeats_said(steps)}" if steps else ""


def _cells(rows: Sequence[SummaryRow], post: Selection) -> tuple[list[str], list[list[str]]]:
    """Heads and texts for people: the setup only if there are several, names without the build that all have.

    With a base for each build the bases are marked. Where bases differ, each row says what its ratio is relative to.
    """
    from ibench_lib.analysis.frames import short_names
    from ibench_lib.analysis.verdicts import Ratio
    from ibench_lib.show.kit.table_cells import LEAST, relative_text

    named = short_names(list(dict.fromkeys(row.dbms for row in rows)), post.bases.builds, typed=True)
    several = len({row.setup for row in rows}) > 1
    by_build, several_bases = post.bases.by_build, post.bases.by_build or bool(post.bases.chain)
    heads = [
        *(["setup"] if several else []), "step", "dbms", "rate", "median", "lowest to highest", "ratio",
        *(["relative to"] if several_bases else []), "verdict",
    ]  # fmt: skip
    lines = []
    for row in rows:
        known = row.value is not None and row.lowest is not None and row.highest is not None
        spec = ",.2f" if row.rate.endswith("(ms)") else ",.0f"
        repeated = known and row.runs > 1
        spread = f"{row.lowest:{spec}} to {row.highest:{spec}}" if repeated else count(row.runs, "run")
        relative = ""
        if row.ratio is not None:
            relative = relative_text(Ratio(row.ratio, row.low, row.high, p=row.p, of_zeros=row.bounds == "range"))
        lines.append(
            [
                *([row.setup] if several else []), row.step,
                named[row.dbms] + " (base)" * (by_build and row.is_base), row.rate,
                f"{LEAST * row.at_least}{row.value:{spec}}" if known else "-", spread if known else "-", relative,
                *([named.get(row.base, row.base) if relative else ""] if several_bases else []), row.verdict,
            ]
        )  # fmt: skip
    return heads, lines
