"""A chart in words, for whoever cannot see it: its kind, its axes, and from where to where each line goes."""

from __future__ import annotations

import base64
import html
import sys
from array import array
from collections.abc import Iterable
from itertools import chain
from typing import Any

from ibench_lib.base.wording import capital, count

_KINDS = {"scatter": "line", "bar": "bar", "heatmap": "heat map", "histogram": "bar", "box": "box"}
_TYPES = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "f4": "f", "f8": "d"}
MOST_LINES = 12
PLOTLY_MIME = "application/vnd.plotly.v1+json"
"""What a chart is among the forms of an output."""
CHART_MIME = "application/vnd.ibench.chart+json"
"""The same of a chart that is a picture, which JupyterLab then shows as HTML, as a page does."""
ASIDE = "aside"
"""`meta` of a trace that only frames others, such as a band: it is not put into words."""
UNIT = "unit"
"""`meta` of a heat map whose `customdata` are the values that its colours stand for: their unit."""


def describe(figure: dict[str, Any]) -> str:
    """One paragraph of plain text on a plotly figure in its JSON form."""
    traces = [trace for trace in figure.get("data", []) if trace.get("meta") != ASIDE]
    layout = figure.get("layout", {})
    if not traces and (notes := [_plain(note["text"]) for note in layout.get("annotations", []) if note.get("text")]):
        return f"Empty chart: {'; '.join(notes)}."
    kinds = list(dict.fromkeys(_KINDS.get(trace.get("type", "scatter"), "other") for trace in traces))
    sentences = [f"{capital(' and '.join(kinds) or 'empty')} chart."]
    for axis, name in (("x", "horizontally"), ("y", "vertically")):
        titles = dict.fromkeys(_plain(title) for title in _axis_titles(layout, axis))
        if titles:
            sentences.append(f"{capital(name)}: {', '.join(titles)}.")
    lines = [line for trace in traces for line in _lines(trace) if line]
    sentences += lines[:MOST_LINES]
    if len(lines) > MOST_LINES:
        sentences.append(f"And {len(lines) - MOST_LINES} more.")
    return " ".join(sentences)


def _axis_titles(layout: dict[str, Any], axis: str) -> Iterable[str]:
    for name, value in layout.items():
        if name.startswith(f"{axis}axis") and isinstance(value, dict):
            title = value.get("title")
            text = title.get("text") if isinstance(title, dict) else title
            if text:
                yield str(text)


def _lines(trace: dict[str, Any]) -> Iterable[str]:
    """A line of a chart is one in words, a heat map has one for each of its rows."""
    name = _plain(trace.get("name") or "")
    if trace.get("type") != "heatmap":
        y = values_of(trace.get("y"))
        lies = any(isinstance(value, str) for value in y)  # names from top to bottom, numbers from left to right
        return [_line(name, values_of(trace.get("x")) if lies else y)]
    meta, rows = trace.get("meta"), trace.get("customdata")
    if isinstance(meta, dict) and isinstance(rows, list):
        labels = map(_plain, values_of(trace.get("y")))
        # A row without cells is a heading.
        return [_line(f"{name}, {label}", row, meta[UNIT]) for label, row in zip(labels, rows, strict=True) if row]
    # What a colour stands for is not known: its number is the scale's, not the reader's.
    rows = f"{len(trace.get('z') or [])} rows, shown by colour only"
    return [f"{name}: {rows}." if name else f"{rows}."]


def _line(name: str, found: Iterable[Any], unit: str = "") -> str:
    """A sentence on a line, such as `system.cy10a: 312 points, from 0.5 to 30,100`."""
    values = [value for value in found if isinstance(value, int | float)]
    if not values:
        return f"{name}: no value." if name else ""
    low, high = _number(min(values)), _number(max(values))
    what = (f"{low}" if low == high else f"from {low} to {high}") + (f" {unit}" if unit else "")
    points = count(len(values), "point")
    return f"{name}: {points}, {what}." if name else f"{capital(points)}, {what}."


def values_of(found: Any) -> list[Any]:
    """The values of an array of plotly's JSON, which may be base64 of numbers; None where a value is missing."""
    if isinstance(found, dict) and "bdata" in found:
        numbers = array(_TYPES.get(str(found.get("dtype")), "d"))
        numbers.frombytes(base64.b64decode(found["bdata"]))
        if sys.byteorder == "big":
            numbers.byteswap()
        return [value if value == value else None for value in numbers]
    if isinstance(found, list | tuple):
        return list(chain.from_iterable(value if isinstance(value, list) else [value] for value in found))
    return []


def _plain(text: Any) -> str:
    """Labels are escaped for plotly, which reads HTML."""
    return html.unescape(str(text))


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
