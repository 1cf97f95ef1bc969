"""One step of some runs under the microscope: all that is asked for it, and what was not captured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from ibench_lib.analysis.frames import repeats
from ibench_lib.ask.provenance import derived, names_of
from ibench_lib.show.kit.display import Html, sentence, sources
from ibench_lib.show.kit.pieces import Sentence
from ibench_lib.show.step_detail.panels import panels_of


@dataclass(frozen=True)
class StepDetail:
    """Answers about one step of some runs, each named after its question; `series` are all series together.

    The names of `series` are those of all that is drawn on their time axis.
    """

    series: pl.DataFrame
    response_percentiles_over_time: pl.DataFrame
    response_shares_over_time: pl.DataFrame
    steadiness: pl.DataFrame
    stalls: pl.DataFrame
    dips: pl.DataFrame
    uncaptured: pl.DataFrame
    step_families: pl.DataFrame


def step_detail(ask: Callable[[str], pl.DataFrame]) -> StepDetail:
    """Ask all there is to ask about a step; `ask` answers a question by its name, as a selection's does."""
    series = [ask(name) for name in ("operation_series", "server_series", "device_series", "cpu_series")]
    percentiles, shares = ask("response_percentiles_over_time"), ask("response_shares_over_time")
    steadiness, stalls, dips = ask("steadiness"), ask("stalls"), ask("dips")
    # Only the rates of clients may be of intervals, with a length that is no whole number.
    all_series = pl.concat(series, how="diagonal_relaxed")
    together = derived(all_series, *series, percentiles, shares, steadiness, dips)
    missing, families = ask("uncaptured"), ask("step_families")
    return StepDetail(together, percentiles, shares, steadiness, stalls, dips, missing, families)


def not_captured(detail: StepDetail) -> Html:
    """Which lines of which panels are missing in which runs, and why (`uncaptured`)."""
    if detail.series.is_empty():
        return Html("")
    frame = detail.uncaptured
    several = repeats(detail.steadiness) > 1
    missing: dict[tuple[str, str], list[str]] = {}
    for panel in panels_of(detail.step_families):
        mine: dict[tuple[str, str], list[str]] = {}
        for row in frame.to_dicts():
            labels = [
                line.label for line in panel.lines
                if line.source == row["source"] and row["series"] in (None, line.series)
            ]  # fmt: skip
            name = row["dbms"] + (f" r{row['repeat']}" if several else "")
            if labels:
                mine.setdefault((name, row["reason"]), []).extend(labels)
        for (name, reason), labels in mine.items():
            what = f"{panel.title}: {', '.join(labels)}" if len(panel.lines) > 1 else panel.title
            missing.setdefault((what, reason), []).append(name)
    if not missing:
        return sentence("Everything that the panels show was captured.", *names_of(frame))
    links = sources(*names_of(frame))
    lines = (Sentence(f"{what} ({reason}): {_all(names)}", links) for (what, reason), names in missing.items())
    return Html("<p>Not shown, because they have no value:</p><ul>", *lines, "</ul>")


def _all(names: list[str]) -> str:
    return ", ".join(dict.fromkeys(names))
