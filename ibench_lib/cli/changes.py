"""`ibench changes`: what changed from release to release or from night to night, for people, programs and gates."""

from __future__ import annotations

import math
import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ibench_lib.base.later import later
from ibench_lib.base.wording import count, suggestion
from ibench_lib.cli import known_names
from ibench_lib.cli.output import FORMAT, TextOrJson, err, out, print_problems, safe
from ibench_lib.errors import IbenchError, ParameterError, UsageError
from ibench_lib.metrics import METRICS, rates

if TYPE_CHECKING:
    from ibench_lib.store import narrow, reader
else:
    narrow, reader = map(later, ("ibench_lib.store.narrow", "ibench_lib.store.reader"))

if TYPE_CHECKING:
    from ibench_lib.analysis.changes import Change

REGRESSION, ABSTAINS = 3, 4
"""Exit codes of the gate."""

_WHICH_RATIO = (
    "ratio: the level after a change over the level before it, with the noise of the whole series; `ibench summary` "
    "compares each result with its base, with the noise of all results"
)


def changes(
    experiment: Annotated[
        str | None,
        typer.Argument(
            help="The experiment whose builds are releases; by default the newest.",
            autocompletion=known_names.experiments,
        ),
    ] = None,
    stream: Annotated[
        str | None,
        typer.Option(
            help="An experiment that is run every night: each night is one point.",
            autocompletion=known_names.experiments,
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            help="With --stream: a build that never changes, to correct for drift of the host.",
            autocompletion=known_names.measured_builds,
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="A metric, such as scpupq; can be repeated. By default the main rate of each step.",
            autocompletion=known_names.metrics,
        ),
    ] = None,
    min_effect: Annotated[str, typer.Option(help="Changes below this are not reported.")] = "2%",
    only: Annotated[
        str | None,
        typer.Option(help="With `regressions`, list only changes for the worse.", autocompletion=known_names.verdicts),
    ] = None,
    gate: Annotated[
        bool,
        typer.Option(
            "--gate",
            help="Report the result in the exit code: 0 no regression, 3 a confirmed regression, 4 inconclusive data, "
            "1 an error.",
        ),
    ] = False,
    form: Annotated[TextOrJson, FORMAT] = TextOrJson.table,
    as_document: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List changes of performance with the share that may be due to chance.

    Where there is no change, the output says how large a change the data could have shown.

    Releases are compared within shuffled rounds of repeats: three rounds for three or more releases, five for two.
    A stream needs 30 nights.

    [bold]Example:[/] ibench changes version_history --only regressions
    """
    try:
        for_programs = as_document or form is TextOrJson.json
        code = _answer(experiment, stream, reference, metric, min_effect, only, for_programs)
    except IbenchError as error:
        if gate:
            error.exit_code = 1
        raise
    if gate and code:
        raise typer.Exit(code)


def _answer(
    experiment: str | None,
    stream: str | None,
    reference: str | None,
    metric: list[str] | None,
    min_effect: str,
    only: str | None,
    as_document: bool,
) -> int:
    # Imported here, so that other commands do not wait for polars and all that draws.
    from ibench_lib.analysis.changes import as_json, left_out, nightly_changes, regressions, release_changes
    from ibench_lib.ask.selection import choose, newest

    if experiment is not None and stream is not None:
        raise UsageError("both an experiment and --stream were given", hint="give one of them")
    if reference is not None and stream is None:
        raise UsageError("--reference applies to streams only", hint="add --stream")
    if only not in (None, "regressions"):
        raise UsageError(f"--only {only!r:.80} is not known", hint="use --only regressions")
    least = _share(min_effect)
    metrics = _metrics(metric)
    lake = reader.lake()
    name = stream or experiment or newest(lake)
    known = reader.question(lake, "known_runs")
    mine = known.filter(known["experiment"] == name)
    if mine.is_empty():
        near = suggestion(name, known["experiment"].unique().to_list())
        raise ParameterError(f"experiment {name!r:.80} has no run in the lake{near}")
    excluded = mine.filter(mine["excluded"].is_not_null())
    run_ids = mine.filter(mine["excluded"].is_null())["run_id"].to_list() if stream else choose(lake, name).run_ids
    # To compute all metrics of a step takes ten times as long as to compute its rates.
    asked = "rate_points" if all(METRICS[name].is_rate_of_step for name in metrics) else "series_points"
    points = reader.question(narrow.narrowed(lake, run_ids), asked, runs=run_ids, steps=[], metrics=metrics)
    if not metric:  # a paced rate tells of the clients: it is judged where somebody asks for it
        points = points.filter("is_rate")
    found = nightly_changes(points, reference, least) if stream else release_changes(points, least)
    if not found:
        raise ParameterError(f"no complete run of {name} has a value of {', '.join(metrics)}")
    skipped = [f"{row['run_id']}: excluded: {row['excluded']}" for row in excluded.iter_rows(named=True)]
    skipped += left_out(points)
    worse = regressions(found)
    abstaining = [change for change in found if change.verdict == "abstains"]
    shown = worse if only else found
    if as_document:
        parameters = {
            "experiment": name, "stream": stream is not None, "reference": reference, "metrics": metrics,
            "min_effect": math.expm1(least), "only": only,
        }  # fmt: skip
        sys.stdout.write(as_json(shown, skipped, parameters) + "\n")
    else:
        _print(name, shown, worse, abstaining, skipped)
        print_problems(lake)
    return REGRESSION if worse else ABSTAINS if abstaining else 0


def _share(text: str) -> float:
    """The logarithm of 1 and a share given as 2% or 0.02."""
    found = re.fullmatch(r"(\d{1,3}(?:\.\d+)?)\s*(%?)", text.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found else math.nan
    if not 0 <= share < 1:
        raise UsageError(f"--min-effect {text!r:.40} is not a share", hint="give it as 2% or 0.02")
    return math.log1p(share)


def _metrics(wanted: list[str] | None) -> list[str]:
    for name in wanted or []:
        if name not in METRICS:
            raise ParameterError(f"metric {name!r:.80} does not exist{suggestion(name, list(METRICS))}")
    return wanted or ["throughput", *dict.fromkeys(one.name for metrics in rates().values() for one in metrics)]


def _print(name: str, shown: list[Change], worse: list[Change], abstaining: list[Change], skipped: list[str]) -> None:
    table = Table("setup", "config", "step", "metric", "verdict", "from", "to", "ratio", "95 %", "q", "would be found",
                  box=None, header_style="bold")  # fmt: skip
    for change in shown:
        if change.verdict == "abstains":
            continue
        what = change.metric + (f" of {change.operation}" if change.operation else "")
        verdict = f"{change.verdict}, {change.direction}" if change.direction else change.verdict
        cells = [change.setup, change.config, change.step, what, verdict, change.before or "", change.after or ""]
        ratio = [""] * 3
        if change.ratio is not None and change.low is not None and change.high is not None:
            ratio = [f"{change.ratio:.3f}", f"{change.low:.3f} to {change.high:.3f}", f"{change.q or 0:.3f}"]
        mde = "" if change.mde is None else f"{math.ceil(100 * change.mde)} %"
        table.add_row(*(safe(cell) for cell in (*cells, *ratio, mde)))
    if table.row_count:
        out.print(table)
        out.print(_WHICH_RATIO, style="dim", soft_wrap=True)
    by_reason: dict[str, list[str]] = {}
    for change in abstaining:
        by_reason.setdefault(change.why or "", []).append(
            f"{change.setup}, {change.config}, {change.step}, {change.metric}"
        )
    for why, places in by_reason.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        out.print(safe(f"inconclusive: {why} ({places[0]}{more})"), soft_wrap=True)
    for why in dict.fromkeys(one.why for one in shown if one.verdict == "unclear" and one.why):
        out.print(safe(f"alarm: {why}"), soft_wrap=True)
    for confound in dict.fromkeys(confound for one in shown for confound in one.confounds):
        out.print(safe(f"note: {confound}"), soft_wrap=True)
    for line in skipped:
        err.print(f"[yellow]left out[/] {safe(line)}", soft_wrap=True)
    judged = count(len({one.series_id for one in shown} - {one.series_id for one in abstaining}), "series", "series")
    said = f"{name}: {judged} judged, {count(len(worse), 'regression')}, {len(abstaining)} inconclusive"
    out.print(safe(said), soft_wrap=True)
