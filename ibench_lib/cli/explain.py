"""`ibench explain`: why one of two results is slower in a step, as far as the runs can tell."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ibench_lib.base.later import later
from ibench_lib.base.wording import count
from ibench_lib.cli import known_names
from ibench_lib.cli.output import FORMAT, TextOrJson, out, print_problems, safe

if TYPE_CHECKING:
    from ibench_lib.store import reader
else:
    reader = later("ibench_lib.store.reader")

if TYPE_CHECKING:
    from ibench_lib.analysis.explanation import Explanation


def explain(
    a: Annotated[
        str,
        typer.Argument(help="A result, <build>.<config>: what to compare with.", autocompletion=known_names.results),
    ],
    b: Annotated[
        str,
        typer.Argument(
            help="The other result, whose difference from the first is explained.", autocompletion=known_names.results
        ),
    ],
    step: Annotated[str, typer.Option(help="The step, such as l.i0.", autocompletion=known_names.steps)],
    experiment: Annotated[
        str | None,
        typer.Option(
            help="The experiment; by default the one with the newest run.", autocompletion=known_names.experiments
        ),
    ] = None,
    setup: Annotated[
        str, typer.Option(help="The setup, if both have several.", autocompletion=known_names.setups)
    ] = "",
    form: Annotated[TextOrJson, FORMAT] = TextOrJson.table,
    as_document: Annotated[bool, typer.Option("--json", help="Print every figure with its interval as JSON.")] = False,
) -> None:
    """Explain the difference between two results in one step.

    It is broken down into CPU in use and CPU per operation, response times, and functions.
    Functions need runs with `capture: {profile: {}}`, whose `every_s` is at most half of the step. Intervals need three
    runs of each.

    [bold]Example:[/] ibench explain mariadb-10.11.base mariadb-11.4.base --step l.i0
    """
    # Imported here, so that other commands do not wait for polars and all that draws.
    from ibench_lib.analysis import results
    from ibench_lib.analysis.explanation import as_json

    lake = reader.lake()
    found = results.explain(lake, a, b, step, experiment or "", setup=setup)
    if as_document or form is TextOrJson.json:
        sys.stdout.write(as_json(found) + "\n")
    else:
        _print(found)
    print_problems(lake)


def _print(found: Explanation) -> None:
    from ibench_lib.show.explain import wording as show

    of_a, of_b = (count(len(runs), "run") for runs in found.runs)
    sides = f"A is {found.a} ({of_a}), B is {found.b} ({of_b}); {found.step} in {found.setup}"
    out.print(safe(sides), soft_wrap=True)
    for text in show.statements(found):
        out.print(safe(text), soft_wrap=True)
    if found.rate:
        _table("rate = CPU in use / CPU per operation", ["A", "B", "B / A"], [
            [show.rate_of(found, term), *(show.value_text(term, of) for of in (term.a, term.b)), show.ratio_text(term)]
            for term in (*found.rate, *found.processor)
        ])  # fmt: skip
    for title, parts in (
        ("us of CPU per operation", found.cpu),
        ("us per statement", found.response),
    ):
        _table(title, ["A", "B", "change", ""], [
            [part.label, show.us(part.a), show.us(part.b), show.change_text(part), part.quality] for part in parts
        ])  # fmt: skip
    clear = [one for one in found.self_costs if one.cost.is_clear][: show.MOST_FUNCTIONS]
    _table("function, us per operation by itself", ["A", "B", "change", "subsystem", ""], [
        [one.cost.name, show.us(one.cost.a), show.us(one.cost.b), show.change_text(one.cost), one.subsystem,
         "moved" if one.moved else "may have moved" if one.around else ""] for one in clear
    ])  # fmt: skip
    for text in (*show.cannot_say(found), *show.notes(found)):
        out.print(safe(text), soft_wrap=True)


def _table(title: str, heads: list[str], rows: list[list[str]]) -> None:
    if not rows:
        return
    table = Table(title, *heads, box=None, header_style="bold")
    for row in rows:
        table.add_row(*map(safe, row))
    out.print(table)
