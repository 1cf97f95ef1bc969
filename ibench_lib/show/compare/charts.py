"""The ratios of two dbms' metrics, with their intervals."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from ibench_lib.analysis.comparison import DIFFERENT, Comparison, Verdict, compared
from ibench_lib.analysis.verdicts import BETTER, WORSE
from ibench_lib.show.compare.comparison import side_text
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.drawing import Drawing, categories, drawing, drawn, in_the_middle
from ibench_lib.show.kit.look import look
from ibench_lib.show.kit.table_cells import CLIENT_BOUND, RUN_FAILED, factor_text
from ibench_lib.show.kit.theme import inert

_HOLLOW = ("same", "unclear", "too few runs", "noise unknown")
"""Verdicts whose dots are hollow: no difference was found, or none can be."""


@drawn
def ratio_chart(frame: pl.DataFrame, a: str, b: str, palette: str = "default") -> Drawing:
    """B / A of every metric of one step with its interval (`metric_values`), log scale."""
    known = [one for one in compared(frame, a, b) if one.verdict is not None]
    shown = [one for one in known if _value(one) > 0]
    labels = [_label(one) for one in shown]
    traces = []
    for verdicts, name in (
        (("better",), "better"),
        (("worse",), "worse"),
        (("more", "less"), "differs, no direction"),
        (("same", "unclear"), "same or unclear"),
        (("too few runs",), "two runs, too few to tell"),
        (("noise unknown",), "one run, noise unknown"),
    ):
        some = [one for one in shown if one.verdict in verdicts]
        if some:
            traces.append(_points(some, name, _colour(some[0].verdict, palette)))
    title = f"{'Response times' if frame['operation'].is_not_null().any() else 'Metrics'} of {frame['step'][0]}: B / A"
    layout = look(f"{title}, {frame['setup'][0]}")
    upright = {"xref": "x", "y0": 0, "y1": 1, "yref": "y domain"}
    layout |= {
        "hovermode": "closest",
        "legend": {**layout["legend"], "y": 1, "yanchor": "bottom"},
        "shapes": [
            {
                "type": "rect", "x0": WORSE, "x1": BETTER, "fillcolor": theme.RULE, "opacity": 0.6,
                "line": {"width": 0}, "layer": "below", **upright,
            },
            {"type": "line", "x0": 1, "x1": 1, "line": {"color": theme.QUIET, "width": 1}, **upright},
        ],
    }  # fmt: skip
    zero = ", ".join(one.label for one in known if one not in shown)
    ticks = _ticks(shown)
    said = inert(f"B / A (not drawn, because A or B is 0: {zero})" if zero else "B / A")
    across: dict[str, Any] = {"type": "log", "title": {"text": said}}
    if shown:
        across |= {"tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}
    else:
        across |= {"range": [-1, 1], "tickvals": [0.1, 1, 10], "ticktext": ["0.1", "1", "10"]}
        layout["annotations"] = [in_the_middle("no ratio: a side has no value")]
    height = 120 + 22 * max(len(labels), 3)
    return drawing(traces, layout, x=across, y=categories(labels[::-1]), height=height)


def _value(one: Comparison) -> float:
    return one.ratio.value if one.ratio is not None else 0.0


def _label(one: Comparison) -> str:
    """With the marks that its values have in the table."""
    texts = side_text(one, one.a_rows) + side_text(one, one.b_rows)
    return inert(" ".join([one.label, *(mark for mark in (RUN_FAILED, CLIENT_BOUND) if mark in texts)]))


def _points(some: list[Comparison], name: str, colour: str) -> dict[str, Any]:
    up, down, said = [], [], []
    for one in some:
        assert one.ratio is not None
        value, low, high = one.ratio.value, one.ratio.low, one.ratio.high
        text = factor_text(value)
        if low is not None and high is not None:
            text += f" [{factor_text(low)}, {factor_text(high)}]"
        said.append(
            inert(f"A {side_text(one, one.a_rows)}, B {side_text(one, one.b_rows)}; B / A {text}, {one.verdict}")
        )
        # A log axis has neither zero nor an end: there the bar goes on for a factor of ten.
        up.append(0 if high is None else 9 * value if math.isinf(high) else high - value)
        down.append(0 if low is None else 0.9 * value if low == 0 else value - low)
    return {
        "type": "scatter", "x": _digits([_value(one) for one in some]), "y": [_label(one) for one in some],
        "text": said, "hovertemplate": "%{y}: %{text}<extra></extra>",
        "error_x": {"array": _digits(up), "arrayminus": _digits(down), "thickness": 1.5, "width": 3},
        "mode": "markers",
        "marker": {"color": colour, "size": 9, "symbol": "circle-open" if some[0].verdict in _HOLLOW else "circle"},
        "name": name,
    }  # fmt: skip


def _digits(values: list[float]) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def _ticks(drawn: list[Comparison]) -> list[float]:
    """Where the axis has a line: plotly's own labels would say 5 for 0.5."""
    ends = [end for one in drawn if one.ratio for end in (one.ratio.low, one.ratio.value, one.ratio.high) if end]
    finite = [1.0, *(end for end in ends if math.isfinite(end))]
    spread = max(finite) / min(finite)
    if spread < 3:
        return [round(0.1 * tenths, 1) for tenths in range(3, 31)]
    leads = (1, 2, 3, 5, 7) if spread < 10 else (1, 2, 5) if spread < 300 else (1,)
    return [lead * 10.0**power for power in range(-9, 9) for lead in leads]


def _colour(verdict: Verdict | None, palette: str) -> str:
    colours = theme.palette(palette)
    if verdict in ("better", "worse"):
        return colours.of("good" if verdict == "better" else "bad")[1]
    return theme.INK if verdict in DIFFERENT else theme.QUIET
