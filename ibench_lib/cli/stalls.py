"""`ibench stalls`: the dips of runs and why they came, in the terminal or for other programs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from ibench_lib.base.later import later
from ibench_lib.base.wording import count
from ibench_lib.cli import known_names
from ibench_lib.cli.output import FORMAT, TextOrJson, out, print_problems, safe
from ibench_lib.cli.run_names import of_lake

if TYPE_CHECKING:
    import duckdb

    from ibench_lib.store import reader
else:
    reader = later("ibench_lib.store.reader")

RunIds = Annotated[
    list[str] | None,
    typer.Argument(
        help="Runs: ids, their beginnings, globs or experiments; by default the newest experiment's.",
        autocompletion=known_names.runs_and_experiments,
    ),
]


def stalls(
    run_ids: RunIds = None,
    step: Annotated[
        list[str] | None, typer.Option(help="A step to show; can be repeated.", autocompletion=known_names.steps)
    ] = None,
    form: Annotated[TextOrJson, FORMAT] = TextOrJson.table,
    as_json: Annotated[bool, typer.Option("--json", help="Print every dip with its evidence as JSON.")] = False,
) -> None:
    """Show when throughput fell for a while, why, and how sure that is. Works during a run, too.

    [bold]Example:[/] ibench stalls --step l.i1
    """
    # Imported here, so that other commands do not wait for polars and all that draws.
    from ibench_lib.ask.dips import ask_dips
    from ibench_lib.ask.selection import choose, measured_experiment
    from ibench_lib.show.dips.sentences import dip_statements
    from ibench_lib.show.dips.tables import cause_text, evidence_text, when

    lake = reader.lake()
    experiment = "" if run_ids else measured_experiment(lake)
    post = choose(lake, experiment, runs=of_lake(lake, run_ids or ()), steps=step or ())
    for_programs = as_json or form is TextOrJson.json
    ask_dips(post, *([] if for_programs else ["steadiness"]))
    dips = post.ask("dips")
    if for_programs:
        sys.stdout.write(json.dumps(dips.to_dicts(), indent=1) + "\n")
        print_problems(lake)
        return
    for text in dip_statements(post.ask("steadiness"), dips):
        out.print(safe(text), soft_wrap=True)
    if len(dips):
        table = Table("run", "step", "seconds", "% of median", "cause", "confidence", "evidence", box=None)
        for row in dips.to_dicts():
            share = f"{100 * row['rate'] / row['median_rate']:.0f}"
            name = f"{row['dbms']} r{row['repeat']}"
            cells = (name, row["step"], when(row), share, cause_text(row), row["confidence"] or "", evidence_text(row))
            table.add_row(*map(safe, cells))
        out.print(table)
    print_problems(lake)


def print_running(lake: duckdb.DuckDBPyConnection, to: Console) -> None:
    """Print a line for each run in progress that has had a dip in its present step."""
    from ibench_lib.ask.selection import choose
    from ibench_lib.show.dips.tables import cause_text, when

    query = (
        "SELECT r.run_id, max(s.step_id) FROM runs r JOIN steps s USING (run_id) WHERE r.status = 'running' GROUP BY 1"
    )
    for run_id, step_id in lake.execute(query).fetchall():
        dips = [row for row in choose(lake, runs=[run_id]).ask("dips").to_dicts() if row["step_id"] == step_id]
        if dips:
            last = dips[-1]
            sure = f" ({last['confidence']} confidence)" if last["cause"] else ""
            said = f"    {count(len(dips), 'dip')} so far, the last at second {when(last)}: {cause_text(last)}{sure}"
            to.print(safe(said), soft_wrap=True)
