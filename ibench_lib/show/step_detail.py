"""One step of some runs under the microscope: all that is asked for it, and what there is to say about it in words."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from ibench_lib.ask.provenance import derived, names_of
from ibench_lib.show import theme
from ibench_lib.show.display import Html, sentence, sources
from ibench_lib.show.frames import repeats
from ibench_lib.show.step_panels import panels_of
from ibench_lib.show.wording import count


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
    stall_company: pl.DataFrame
    uncaptured: pl.DataFrame
    step_families: pl.DataFrame


def step_detail(ask: Callable[[str], pl.DataFrame]) -> StepDetail:
    """Ask all there is to ask about a step; `ask` answers a question by its name, as a selection's does."""
    series = [ask(name) for name in ("operation_series", "server_series", "device_series", "cpu_series")]
    percentiles, shares = ask("response_percentiles_over_time"), ask("response_shares_over_time")
    steadiness, stalls, dips = ask("steadiness"), ask("stalls"), ask("dips")
    together = derived(pl.concat(series), *series, percentiles, shares, steadiness, dips)
    company, missing, families = (ask(name) for name in ("stall_company", "uncaptured", "step_families"))
    return StepDetail(together, percentiles, shares, steadiness, stalls, dips, company, missing, families)


def steadiness_facts(frame: pl.DataFrame) -> Html:
    """How steady each run was (`steadiness`), a sentence each; one that did not complete or has no rate says so."""
    if frame.is_empty():
        return sentence("There is no step to show.", *names_of(frame))
    several, setups = repeats(frame) > 1, frame["setup"].n_unique() > 1
    lines, links = [], sources(*names_of(frame))
    for row in frame.to_dicts():
        name = row["dbms"] + (f" r{row['repeat']}" if several else "") + (f", {row['setup']}" if setups else "")
        lines.append(f"{name}: {_how_far(row)}{_how_steady(row)}")
    return Html("<ul>" + "".join(f"<li>{html.escape(line)}{links}</li>" for line in lines) + "</ul>")


def _how_far(row: dict[str, Any]) -> str:
    """The mark of a step, or of its run, that did not complete."""
    status, lasted = row["step_status"], row["duration_s"]
    if status == "loaded from a snapshot":
        return f"{row['step']} was loaded from a snapshot, so this run did not run it."
    if lasted is None:
        why = "has not begun" if status == "running" else f"was not run (the run: {row['run_status']})"
        return f"{row['step']} {why}."
    if status == "running":
        return f"{row['step']} is running; its first {lasted:,.1f} s are shown; "
    if status != "complete":
        return f"{row['step']} {status} after {lasted:,.1f} s and is shown up to there; "
    return "" if row["run_status"] == "complete" else f"the run did not complete ({row['run_status']}); "


def _how_steady(row: dict[str, Any]) -> str:
    if row["duration_s"] is None:
        return ""
    if row["main_operation"] is None:
        return f"{row['step']} is one statement per index and client, so it has no rate per second and no stalls."
    if not row["rated_seconds"]:
        return "no full second, so there is no rate and there are no stalls."
    unit = row["rate_label"]
    worst = f" Worst response {theme.seconds(row['max_response_s'])}." if row["max_response_s"] is not None else ""
    median = f"median of {row['median_rate']:,.0f} {unit}"
    if not row["median_rate"]:
        return f"a {median} in {row['rated_seconds']:,} full seconds, so stalls cannot be recognised.{worst}"
    if not row["stalls"]:
        return (
            f"no stall in {row['rated_seconds']:,} full seconds; "
            f"the slowest had {row['min_rate']:,.0f} of a {median}.{worst}"
        )
    number = count(row["stalls"], "stall")
    return (
        f"{number}, {row['stalled_seconds']:,} of {row['rated_seconds']:,} full seconds, below half of a {median}; "
        f"the longest {row['longest_s']:,} s from second {row['longest_from_s']:,}.{worst}"
    )


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
    lines = (
        f"<li>{html.escape(f'{what} ({reason}): {_all(names)}')}{links}</li>"
        for (what, reason), names in missing.items()
    )
    return Html(f"<p>Not shown, because they have no value:</p><ul>{''.join(lines)}</ul>")


def _all(names: list[str]) -> str:
    return ", ".join(dict.fromkeys(names))
