"""Rates from release to release, relative to the oldest one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from ibench_lib.analysis.history import RATE, Build, Chart, History, Line, steps_in
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.drawing import Drawing, categories, drawing, drawn, in_the_middle
from ibench_lib.show.kit.look import look
from ibench_lib.show.kit.theme import inert

_SYMBOLS = {
    ("level", "better"): "triangle-up", ("level", "worse"): "triangle-down",
    ("other", "better"): "triangle-up-open", ("other", "worse"): "triangle-down-open",
}  # fmt: skip

_LEAST_SPAN = 0.1

_ENDS = ("arrayminus", "array")
"""What plotly calls the lengths of an interval below and above."""


@answers("release_points", "No rate to show.", by="chart")
@drawn
def release_chart(frame: pl.DataFrame, history: History) -> Drawing:
    """The rate of each step relative to the oldest release of one chart, with intervals (`release_points`).

    In the order of dates each release line has lines of its own: their colour is that of the step, their dashes are
    those of the release line. A triangle marks the release at which a change was found: filled if the change lasts,
    open if only these builds are known to differ.
    """
    traces: list[dict[str, Any]] = []
    chart, steps = history.chart(frame["chart"][0]), steps_in(frame)
    measured = frame.filter((pl.col("column") == RATE) & pl.col("value").is_not_null())
    for position, step in enumerate(steps):
        known = set(measured.filter(pl.col("step") == step)["build"])
        if chart.base.name in known:
            traces += [_step(history, chart, line, step, position) for line in chart.lines]
    traces = [trace for trace in traces if trace["x"]]
    title = f"Rates relative to {chart.base.text}: {chart.label}"
    layout = look(title, y=f"rate / rate of {inert(chart.base.text)}")
    layout["legend"] = {**layout["legend"], "y": -0.45}  # below names, which stand upright where there is little room
    across = {"x0": 0, "x1": 1, "xref": "x domain", "y0": 1, "y1": 1, "yref": "y"}
    layout["shapes"] = [{"type": "line", "line": {"color": theme.QUIET, "width": 1}, **across}]
    if not traces:
        layout["annotations"] = [in_the_middle("no step was measured with the oldest release")]
    names = categories(_tick(history, build) for build in chart.builds)
    return drawing(traces, layout, x=names, y={"range": _range(traces)})


def _tick(history: History, build: Build) -> str:
    """A build below the chart, with its date where that is the order."""
    date = f"<br>{build.dated.text}" if history.order == "date" and build.dated else ""
    return f"{inert(build.text)}{date}"


def _range(traces: Sequence[dict[str, Any]]) -> list[float]:
    """From the lowest interval to the highest, but so much that noise of a percent does not fill the chart.

    Intervals that know nothing are cut: at half of the lowest ratio, and at twice the highest.
    """
    bars = [(*ends,) for one in traces for ends in zip(one["y"], *(one["error_y"][end] for end in _ENDS), strict=True)]
    ratios = [1.0, *(y for y, _, _ in bars)]
    lows, highs = [y - down for y, down, _ in bars], [y + up for y, _, up in bars]
    low, high = max(min([1.0, *lows]), min(ratios) / 2), min(max([1.0, *highs]), 2 * max(ratios))
    room = 0.03 * (high - low)
    return [min(1 - _LEAST_SPAN, low - room), max(1 + _LEAST_SPAN, high + room)]


def _step(history: History, chart: Chart, line: Line, step: str, position: int) -> dict[str, Any]:
    colour, dash = theme.series(position)
    name = step
    if line.release_line:
        name, dash = f"{step}, {line.release_line}", theme.DASHES[chart.lines.index(line) % len(theme.DASHES)]
    changes = {one.after: one for one in history.found(line.label, step, RATE)}
    x, y, up, down, symbols, said = [], [], [], [], [], []
    for build in line.builds:
        found = history.to_first.get((chart.label, step, RATE, build.name))
        if found is None and build is not chart.base:
            continue
        value, low, high = (1.0, 1.0, 1.0) if found is None else (found.value, found.low, found.high)
        x.append(_tick(history, build))
        y.append(float(f"{value:.4g}"))
        up.append(0.0 if high is None else float(f"{high - value:.4g}"))
        down.append(0.0 if low is None else float(f"{value - low:.4g}"))
        change = changes.get(build.name)
        kind = "level" if change is not None and change.verdict == "level" else "other"
        symbols.append(_SYMBOLS.get((kind, change.direction or ""), "diamond") if change is not None else "circle")
        said.append(inert(_said(build, value, low, high, change.verdict if change is not None else None)))
    sizes = [11 if symbol != "circle" else 6 for symbol in symbols]
    return {
        "type": "scatter", "x": x, "y": y, "text": said, "name": inert(name), "mode": "lines+markers",
        "hovertemplate": "%{text}<extra>" + inert(name) + "</extra>",
        "line": {"color": colour, "dash": dash, "width": 1.5},
        "marker": {"size": sizes, "symbol": symbols, "color": colour},
        "error_y": {"array": up, "arrayminus": down, "thickness": 1, "width": 3, "color": colour},
    }  # fmt: skip


def _said(build: Build, value: float, low: float | None, high: float | None, verdict: str | None) -> str:
    interval = "" if low is None or high is None or low == high else f" [{low:.2f}, {high:.2f}]"
    change = {None: "", "level": ", a lasting change"}.get(verdict, ", differs")
    return f"{build.text}: {value:.2f}{interval}{change}"
