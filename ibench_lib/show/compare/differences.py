"""Sentences on two dbms side by side: what clearly differs, what cannot be compared, what was left out."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

import polars as pl

from ibench_lib.analysis.comparison import DIFFERENT, UNJUDGED, Comparison, compared
from ibench_lib.analysis.verdicts import BETTER, WORSE
from ibench_lib.ask.pair import ONLY_A, ONLY_B, Pair
from ibench_lib.base.wording import count
from ibench_lib.show.compare.comparison import long_values, reservations, side_text
from ibench_lib.show.kit.display import Html, sentence, sources
from ibench_lib.show.kit.table_cells import bounds_text, point_text
from ibench_lib.show.kit.wording import POWERED, RANGE, chance_said, change_text

_ORDER = {"rate": 0, "response": 1}
"""What comes first in the list: what users notice, before what explains it."""
MOST_SAID = 15
"""Differences that the list names; the tables have all."""

Place = tuple[str, Comparison]


def differences(chosen: Pair) -> Html:
    """What clearly differs in any step, and what is not compared (`metric_values`)."""
    if not chosen.base or not chosen.other:
        return sentence(chosen.nothing(""), "selected_runs")
    values, short = long_values(chosen.values(), chosen.ask("step_throughput"))
    places = list(_everywhere(chosen, values))
    judged = [(place, one) for place, one in places if one.verdict not in UNJUDGED]
    two = [(place, one) for place, one in places if one.verdict == "too few runs"]
    single = [(place, one) for place, one in places if one.verdict == "noise unknown"]
    named = f"A is {_named(chosen, chosen.base)}; B is {_named(chosen, chosen.other)}."
    paragraphs = [_paragraph(named, "selected_runs")]
    if judged:
        beyond = [(place, one) for place, one in judged if one.verdict in DIFFERENT]
        paragraphs.append(
            _paragraph(
                f"{len(beyond)} of {len(judged)} comparisons differ clearly: B / A is below {WORSE} or above "
                f"{BETTER}, and chance does not explain it. {_by_chance(judged)}",
                "metric_values",
            )
        )
        paragraphs.append(
            _list(
                beyond,
                "Rates of the whole step first, then response times, then the rest; the largest first in each group:",
            )
        )
    if two:
        paragraphs.append(
            _paragraph(
                f"In {len(two)} of {count(_with_a_ratio(places), 'comparison')}, a side has only two runs, and {RANGE}",
                "metric_values",
            )
        )
    if single:
        outside = [(place, one) for place, one in single if _is_outside(one)]
        paragraphs.append(
            _paragraph(
                f"In {len(single)} of {_with_a_ratio(places)} comparisons, a side has only one run: the noise is "
                "unknown, and nothing there counts as a difference.",
                "metric_values",
            )
        )
        paragraphs.append(_list(outside, "The ratios furthest from 1, which may be noise:"))
    paragraphs += [_paragraph(line, "metric_values") for line in (*_reservations(chosen), *_not_compared(chosen))]
    paragraphs += [_paragraph(line, "step_throughput") for line in short]
    if chosen.not_compared:  # of what was chosen before the pair was, and so of no question of the pair's
        paragraphs.append(_paragraph(f"Also selected, but not compared: {', '.join(chosen.not_compared)}."))
    return Html("".join(paragraphs))


def _with_a_ratio(found: list[Place]) -> int:
    return sum(one.verdict is not None for _, one in found)


def left_out(chosen: Pair) -> Html:
    """Which server variables only one side has, which are left out and why, which runs have none (`fact_diff`)."""
    if not chosen.base or not chosen.other:
        return Html("")
    lines = [
        _paragraph(
            f"{row['dbms']}, {row['setup']}, run {row['repeat']}: no variables are known, because {_why_none(row)}.",
            "selected_runs",
        )
        for row in chosen.runs.filter(pl.col("server_version").is_null()).to_dicts()
    ]
    noise = chosen.ask("fact_diff").filter((pl.col("source") == "variable") & pl.col("noise").is_not_null())
    if len(noise):
        reasons = noise.unique(["fact", "noise"]).sort("noise", "fact").group_by("noise", maintain_order=True)
        listed = "; ".join(f"{', '.join(rows['fact'])} ({why[0]})" for why, rows in reasons)
        text = f"These differ, but are left out because they say nothing about how a server works: {listed}."
        lines.append(_paragraph(text, "fact_diff"))
    lines.append(
        _paragraph("For paths inside a run's own folders, only the part below the folder is compared.", "fact_diff")
    )
    return Html(_of_one(chosen) + "".join(lines))


def _why_none(run: Mapping[str, Any]) -> str:
    """Why a run has no variables."""
    if run["origin"] != "measured":
        return "its files do not have them"
    return f"its server {'is starting' if run['status'] == 'running' else 'did not start'}"


def _of_one(chosen: Pair) -> str:
    """The variables that only one server has, folded: two releases differ in hundreds of them."""
    folded = []
    for name, only, values in ((chosen.base, ONLY_A, "base_values"), (chosen.other, ONLY_B, "dbms_values")):
        facts = chosen.variables_of_one(only).unique("fact").sort("fact").select("fact", values).rows()
        if facts:
            known = ", ".join(f"{fact}={' | '.join(value or '' for value in of_runs)}" for fact, of_runs in facts)
            what = f"Only {name} has: {count(len(facts), 'variable')}"
            folded.append(f"<details><summary>{html.escape(what)}</summary>{_paragraph(known, 'fact_diff')}</details>")
    return "".join(folded)


def _paragraph(text: str, *questions: str) -> str:
    return f"<p>{html.escape(text)}{sources(*questions)}</p>"


def _everywhere(chosen: Pair, values: pl.DataFrame) -> Iterator[Place]:
    for (setup, step), frame in values.group_by("setup", "step", maintain_order=True):
        of_step = pl.col("operation").is_null()
        for table in (frame.filter(of_step), frame.filter(~of_step)):  # as the tables have them
            for one in compared(table, chosen.base, chosen.other):
                yield f"{setup}, {step}", one


def _list(found: list[Place], head: str) -> str:
    sized = (item for item in found if item[1].size)
    largest = sorted(sized, key=lambda item: (_ORDER.get(item[1].metric.group, len(_ORDER)), -item[1].size))[:MOST_SAID]
    if not largest:
        return ""
    link = sources("metric_values")
    lines = "".join(f"<li>{html.escape(f'{place}: {_line(one)}')}{link}</li>" for place, one in largest)
    hidden = len(found) - len(largest)
    are = "is" if hidden == 1 else "are"
    rest = _paragraph(f"{hidden} more {are} not listed here.", "metric_values") if hidden else ""
    return f"<p>{head}</p><ul>{lines}</ul>{rest}"


def _line(one: Comparison) -> str:
    """Such as: inserts/s: A 5,000, B 2,500; B / A 0.50 [0.48, 0.53], worse."""
    text = f"{one.head}: A {side_text(one, one.a_rows)}, B {side_text(one, one.b_rows)}"
    if one.ratio is not None:
        text += f"; B / A {point_text(one.ratio)}"
        text += bounds_text(one.ratio)
    return text + (f", {one.verdict}." if one.verdict in DIFFERENT else ".")


def _is_outside(one: Comparison) -> bool:
    return max(one.b) > 0 if one.ratio is None else not WORSE <= one.ratio.value <= BETTER


def _by_chance(judged: list[Place]) -> str:
    """What chance does in a table, and what the comparisons could find."""
    known = sorted(one.detectable for _, one in judged if one.detectable is not None)
    middle = (
        f" Half of the comparisons would find a change of {change_text(median(known))} ({POWERED})." if known else ""
    )
    most = max(one.comparisons for _, one in judged)
    return f"The metrics of a table are judged together. {chance_said(most)}{middle}"


def _not_compared(chosen: Pair) -> list[str]:
    """The steps that a side did not complete, with how the sides stand."""
    lines = []
    steps = ["setup", "step_id", "step"]
    known = chosen.ask("metric_values").select(*steps, "dbms", "step_status").unique().sort(*steps[:2])
    for (setup, _, step), rows in known.group_by(*steps, maintain_order=True):
        stand = []
        for side, name in (("A", chosen.base), ("B", chosen.other)):
            statuses = rows.filter(pl.col("dbms") == name)["step_status"].sort().to_list()
            if "complete" not in statuses:
                stand.append(f"{side}: {', '.join(statuses) or 'no run'}")
        if stand:
            lines.append(f"{setup}, {step}: not compared ({'; '.join(stand)}).")
    return lines


def _reservations(chosen: Pair) -> list[str]:
    values = chosen.ask("metric_values").sort("setup", maintain_order=True)
    several = values["setup"].n_unique() > 1
    lines = [
        f"{setup}: {note}" if several else note
        for (setup,), frame in values.group_by("setup", maintain_order=True)
        for note in reservations(frame, chosen.base, chosen.other)
    ]
    lists = values.filter(pl.col("metric") == "hll", pl.col("value").is_not_null())
    if chosen.runs["flavour"].drop_nulls().n_unique() > 1 and lists["dbms"].n_unique() > 1:
        lines.append("History list lengths are not compared: flavours of servers count them differently.")
    return list(dict.fromkeys(lines))


def _named(chosen: Pair, name: str) -> str:
    """Such as: system.a (3 runs, 1 failed)."""
    statuses = chosen.runs.filter(pl.col("dbms") == name)["status"]
    counted = [f"{number} {status}" for status, number in statuses.value_counts().sort("status").rows()]
    stand = "".join(f", {text}" for text in counted if not text.endswith(" complete"))
    return f"{name} ({count(len(statuses), 'run')}{stand})"
