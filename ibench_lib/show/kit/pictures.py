"""Charts that need no zoom as SVG and HTML: they need no script, and take their room of the page at any width.

What has categories is a list of rows, each with its bar or its dots on one axis; a heat map of texts is a table. Lines
are a panel, or a panel for each of more than `MOST_TOGETHER` results, all on the same axes.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from ibench_lib.show.kit import theme
from ibench_lib.show.kit.chart_text import ASIDE, values_of
from ibench_lib.show.kit.pieces import OnTime

MOST_POINTS = 300
"""A line of more points has more to see than fits: it needs zoom."""

MOST_TOGETHER = 3
"""Results whose lines share a panel."""

_ROW_PX, _AXIS_PX, _WIDE = 20, 18, 1000
_HIGH_PX, _PANEL_PX, _TEXT_PX = 240, 110, 14
_DASHES = {"dash": "6 4", "dot": "1 4", "dashdot": "6 4 1 4"}
_SAID = {"solid": "Solid", "dash": "Dashed", "dot": "Dotted", "dashdot": "Dashes and dots"}
_TOKENS = {pair[0]: name for name, pair in theme.COLOURS.items()}


def picture_of(figure: dict[str, Any]) -> str | None:
    """Markup of a chart (plotly's JSON) below its caption; None where it needs zoom, or is no chart of this kit."""
    layout, data = figure.get("layout", {}), figure.get("data", [])
    meta, notes = layout.get("meta"), [str(note.get("text", "")) for note in layout.get("annotations", [])]
    if not isinstance(meta, dict) or "title" not in meta or any(name[1:5] == "axis" and name[5:] for name in layout):
        return None
    if [trace.get("type") for trace in data] == ["heatmap"] and data[0].get("text") and "coloraxis" in layout:
        return _heat(data[0], layout)
    if any(trace.get("type", "scatter") not in ("scatter", "bar") for trace in data):
        return None
    below = "".join(f'<p class="key">{_text(note)}</p>' for note in notes)
    if not data:
        unit = _title(layout.get("xaxis", {}))
        return f'{below}<p class="key">{_text(unit)}</p>' if below and unit else below or None
    modes = {str(trace.get("mode", "")) for trace in data}
    if any(layout.get(f"{axis}axis", {}).get("type") == "category" for axis in "xy") or data[0].get("type") == "bar":
        return None if any("lines" in mode for mode in modes) else _rows(data, layout) + below
    # Bands of dips and names of panels belong to rates of single seconds.
    if notes or layout.get("shapes") or not all(trace.get("x") for trace in data):
        return None
    if any(len(values_of(trace.get("x"))) > MOST_POINTS for trace in data):
        return None
    return _lines(data, layout)


@dataclass(frozen=True)
class _Scale:
    """An axis: from where to where it reaches, and what it names."""

    low: float
    high: float
    log: bool
    ticks: Sequence[tuple[float, str]]

    def share(self, value: float) -> float:
        """Where a value stands, in % of the axis; what is beyond an end stands at it."""
        low, high, at = (math.log(max(end, 1e-12)) if self.log else end for end in (self.low, self.high, value))
        return min(max(100 * (at - low) / (high - low), 0.0), 100.0) if high > low else 50.0

    def shown(self) -> Iterable[tuple[float, str]]:
        """Share and text of the values that it names."""
        ends = (self.low * (1 - 1e-9), self.high * (1 + 1e-9))
        return ((self.share(value), text) for value, text in self.ticks if ends[0] <= value <= ends[1])


def _scale(axis: dict[str, Any], found: Iterable[float], *, zero: bool = False) -> _Scale:
    log = axis.get("type") == "log"
    known = [value for value in found if math.isfinite(value) and (value > 0 or not log)]
    low, high = min(known, default=1.0 if log else 0.0), max(known, default=1.0)
    if log:
        low, high = (low / 1.1, high * 1.1) if low < high else (low / 2, high * 2)
    else:
        low = 0.0 if zero or axis.get("rangemode") == "tozero" else low
        high = high if high > low else low + 1
    texts = [html.unescape(str(text)) for text in axis.get("ticktext") or ()]
    named = list(zip(map(float, axis["tickvals"]), texts, strict=True)) if texts else _ticks(low, high, log=log)
    return _Scale(low, high, log, named)


def _ticks(low: float, high: float, *, log: bool) -> list[tuple[float, str]]:
    """Round values: powers of ten, or about four at equal distances."""
    if log:
        return [(10.0**power, number(10.0**power)) for power in range(math.floor(math.log10(low)), 13)]
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * lead for lead in (1, 2, 5, 10) if power * lead >= rough)
    first = math.ceil(low / step)
    return [(step * n, number(step * n)) for n in range(first, first + 6)]


def number(value: float) -> str:
    """Such as 0.0123, 95, 1.2k, 34k, 1.5M."""
    size = abs(value)
    for power, letter in ((9, "G"), (6, "M"), (3, "k")):
        if size >= 10**power:
            scaled = value / 10**power
            return f"{scaled:.3g}{letter}" if abs(scaled) < 999.5 else f"{scaled:,.0f}{letter}"
    return f"{value:.3g}"


@dataclass
class _Row:
    label: str
    title: str = ""
    bar: float | None = None
    dots: list[tuple[float, float]] = field(default_factory=list)
    """Value and size (pixels)."""
    interval: tuple[float, float] | None = None
    colour: str = ""
    hollow: bool = False
    figure: str = ""


def _rows(data: Sequence[dict[str, Any]], layout: dict[str, Any]) -> str:
    """A group for each category, a row in it for each result; or where a category has one row, its row alone."""
    lies = _category(data, layout) == "y"
    of_category, of_value = ("y", "x") if lies else ("x", "y")
    axis = layout.get(f"{of_value}axis", {})
    groups: dict[str, dict[str, _Row]] = {}
    for name in _order(layout.get(f"{of_category}axis", {}), upwards=lies):
        groups[name] = {}
    is_bar = data[0].get("type") == "bar"
    for trace in data:
        key = str(trace.get("legendgroup") or trace.get("name") or "")
        marker, error = trace.get("marker", {}), trace.get(f"error_{of_value}") or {}
        places = values_of(trace.get(of_category))
        of_points = list(zip(places, values_of(trace.get(of_value)), strict=False))
        up, down = values_of(error.get("array")), values_of(error.get("arrayminus"))
        said = values_of(trace.get("text")) or values_of(trace.get("customdata"))
        for at, (place, value) in enumerate(of_points):
            if value is None:
                continue
            row = groups.setdefault(str(place), {}).setdefault(key, _Row(""))
            row.colour = row.colour or _paint(marker.get("color"))
            if trace.get("showlegend") is not False:
                row.label, row.figure = str(trace.get("name") or ""), number(value)
            row.hollow |= "open" in str(marker.get("symbol", ""))
            row.title = str(said[at]) if at < len(said) else row.title
            if is_bar:
                row.bar = value
            else:
                row.dots.append((value, float(marker.get("size", 8))))
            if up and error.get("visible") is not False:
                row.interval = (value - (down[at] if down else up[at]), value + up[at])
    shown = [row for rows in groups.values() for row in rows.values()]
    ends = [end for row in shown for end in (row.bar, *(row.interval or ()), *(dot for dot, _ in row.dots))]
    scale = _scale(axis, [end for end in ends if end is not None], zero=is_bar)
    single = all(len(rows) < 2 for rows in groups.values())
    lines = "".join(
        f'<line class="{kind}" x1="{at:.2f}%" x2="{at:.2f}%" y1="0" y2="{_ROW_PX}"/>'
        for at, text in scale.shown()
        for kind in ["one" if scale.log and text == "1" else "tick"]
    )
    body, unit = [], _title(axis)
    for name, rows in groups.items():
        if rows and not single:
            body.append(f'<tr class="group"><th scope="rowgroup" colspan="4">{_text(name)}</th></tr>')
        body += [_drawn(name if single else row.label, row, scale, lines, single, unit) for row in rows.values()]
    ticks = _along(_tick_texts(scale, 12), _AXIS_PX)
    axis_row = f'<tr class="axis" aria-hidden="true"><td></td>{ticks}<td></td><td></td></tr>'
    key = f'<p class="key">{_text(unit)}</p>' if unit else ""
    return (
        '<table class="ratios rows" style="width: 100%; table-layout: fixed">'
        f"{_COLUMNS}<tbody>{''.join(body)}{axis_row}</tbody></table>{key}"
    )


_COLUMNS = "".join(("<colgroup>", *(f'<col style="width: {share}%"/>' for share in (30, 46, 24, 0)), "</colgroup>"))


def _category(data: Sequence[dict[str, Any]], layout: dict[str, Any]) -> str:
    """Which axis has names."""
    if data[0].get("type") == "bar":
        return "y" if data[0].get("orientation") == "h" else "x"
    return "y" if layout.get("yaxis", {}).get("type") == "category" else "x"


def _order(axis: dict[str, Any], *, upwards: bool) -> list[str]:
    names = [str(name) for name in axis.get("categoryarray") or ()]
    return names[::-1] if upwards else names


def _drawn(label: str, row: _Row, scale: _Scale, lines: str, single: bool, unit: str) -> str:
    middle, parts = _ROW_PX // 2, [lines]
    if row.bar is not None:
        wide = scale.share(row.bar)
        parts.append(f'<rect x="0" y="3" width="{wide:.2f}%" height="{_ROW_PX - 6}" fill="{row.colour}"/>')
    if row.interval:
        low, high = (scale.share(end) for end in row.interval)
        stroke = row.colour if row.bar is None else theme.paint("ink")
        parts.append(
            f'<line class="interval" x1="{low:.2f}%" x2="{high:.2f}%" y1="{middle}" y2="{middle}" stroke="{stroke}"/>'
        )
    largest = max((size for _, size in row.dots), default=0)
    for value, size in row.dots:
        fill = theme.paint("paper") if row.hollow else row.colour
        pale = ' opacity="0.55"' if size < largest else ""
        at = f'cx="{scale.share(value):.2f}%" cy="{middle}" r="{size / 2:g}"'
        parts.append(f'<circle {at} fill="{fill}" stroke="{row.colour}"{pale}/>')
    figure = f"{row.figure} {row.label}" if single and row.label else row.figure
    whose = html.unescape(", ".join(dict.fromkeys(filter(None, (label, row.label)))))
    title = html.escape(html.unescape(row.title) or f"{whose}: {row.figure} {unit}".rstrip())
    return (
        f'<tr title="{title}"><th scope="row">{_text(label)}</th>{_along("".join(parts), _ROW_PX)}'
        f'<td class="figure">{_text(figure)}</td><td class="between"></td></tr>'
    )


def _along(shapes: str, height: int) -> str:
    svg = f'<svg width="100%" height="{height}" overflow="visible" aria-hidden="true">{shapes}</svg>'
    return f'<td class="along">{svg}</td>'


def _tick_texts(scale: _Scale, y: int, apart: float = 9.0) -> str:
    """The texts of an axis from left to right, as far as each has room."""
    texts, last = [], -math.inf
    for at, text in scale.shown():
        if at - last >= apart:
            side = "from" if at < 3 else "to" if at > 97 else ""
            texts.append(f'<text class="tick {side}" x="{at:.2f}%" y="{y}">{_text(text)}</text>')
            last = at
    return "".join(texts)


def _heat(trace: dict[str, Any], layout: dict[str, Any]) -> str:
    """A table of the texts of a heat map on the colours of good and bad; a row without cells is a heading."""
    _, (_, bad), _, (_, good), _ = layout["coloraxis"]["colorscale"]
    most = float(layout["coloraxis"]["cmax"])
    heads = [_bare(text) for text in layout["xaxis"].get("ticktext") or trace["x"]]
    body = []
    for label, texts, values, told in zip(
        layout["yaxis"].get("ticktext") or trace["y"], trace["text"], trace["z"], trace["hovertext"], strict=True
    ):
        name = html.escape(_bare(label))
        if not texts:
            body.append(f'<tr class="group"><th scope="rowgroup" colspan="{1 + len(heads)}">{name}</th></tr>')
            continue
        cells = []
        for text, value, said in zip(texts, values, told, strict=False):
            share = round(100 * min(abs(value or 0) / most, 1))
            colour = _paint(good if (value or 0) > 0 else bad)
            style = f' style="background-color: color-mix(in srgb, {colour} {share}%, transparent)"' if share else ""
            cells.append(f'<td{style} title="{_text(said)}">{_text(text)}</td>')
        body.append(f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>')
    columns = "".join(f'<th scope="col">{html.escape(head)}</th>' for head in heads)
    return (
        f'<div class="heat" tabindex="0"><table><thead><tr><td></td>{columns}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _bare(label: Any) -> str:
    """A label without the tags that plotly reads."""
    return html.unescape(re.sub(r"</?b>", "", str(label).replace("<br>", " ")))


@dataclass
class _Line:
    name: str
    points: list[tuple[float | None, float | None]]
    colour: str
    width: float
    dash: str
    opacity: float
    mode: str
    texts: list[Any]
    intervals: list[tuple[float, float]]
    said: str
    """What hovering calls it: a run, where all runs of a result have the result's name."""


def _lines(data: Sequence[dict[str, Any]], layout: dict[str, Any]) -> str:
    """Lines of the same colour and dash are those of one result; a band belongs to the line that follows it."""
    groups: dict[tuple[str, str], list[_Line]] = {}
    asides: list[_Line] = []
    for trace in data:
        line = trace.get("line", {})
        points = list(zip(values_of(trace.get("x")), values_of(trace.get("y")), strict=False))
        dash, colour = str(line.get("dash", "solid")), str(line.get("color", theme.INK))
        found = _Line(
            html.unescape(str(trace.get("name") or "")), points, _paint(colour), float(line.get("width", 2)), dash,
            float(trace.get("opacity", 1)), str(trace.get("mode", "lines")), values_of(trace.get("text")),
            _intervals(trace, points), _said(trace),
        )  # fmt: skip
        if trace.get("meta") == ASIDE:
            asides.append(found)
            continue
        # A dotted line is another figure of the same result.
        key = (colour, "solid" if dash == "dot" else dash)
        groups.setdefault(key, []).extend([*asides, found])
        asides = []
    every = [line for lines in groups.values() for line in lines]
    xs = [x for line in every for x, y in line.points if x is not None and y is not None]
    ys = [y for line in every for _, y in line.points if y is not None]
    ys += [end for line in every for interval in line.intervals for end in interval]
    if not xs:
        return '<p class="said">No value.</p>'
    of_x, of_y = _scale(layout.get("xaxis", {}), xs), _scale(layout.get("yaxis", {}), ys, zero=True)
    titles = [_name([line.name for line in lines if line.name not in ("min", "max")]) for lines in groups.values()]
    up, right = _title(layout.get("yaxis", {})), _title(layout.get("xaxis", {}))
    said = [f"Upwards: {up}." if up else "", f"To the right: {right}." if right else "", _dashes(groups.values())]
    meta, units = layout["meta"], (right, up)
    if len(groups) > MOST_TOGETHER:
        panels = [
            _panel(title, lines, of_x, of_y, _PANEL_PX, meta, units)
            for title, lines in zip(titles, groups.values(), strict=True)
        ]
        said.append("All panels have the same axes.")
        drawn = f'<div class="panels">{"".join(panels)}</div>'
    else:
        names = [
            f'<span><span class="swatch" style="background: {lines[-1].colour}"></span> {_text(title)}</span>'
            for title, lines in zip(titles, groups.values(), strict=True)
        ]
        drawn = f'<p class="names">{" ".join(names)}</p>{_panel("", every, of_x, of_y, _HIGH_PX, meta, units)}'
    return f'{drawn}<p class="key">{_text(" ".join(filter(None, said)))}</p>'


def _said(trace: dict[str, Any]) -> str:
    name, value, _ = str(trace.get("hovertemplate") or "").partition(": %{y}")
    return html.unescape(name if value else str(trace.get("name") or ""))


def _intervals(trace: dict[str, Any], points: Sequence[tuple[float | None, float | None]]) -> list[tuple[float, float]]:
    """The interval at each point; empty without them."""
    error = trace.get("error_y") or {}
    up, down = values_of(error.get("array")), values_of(error.get("arrayminus"))
    if not up or error.get("visible") is False:
        return []
    ends = zip(points, up, down or up, strict=True)
    return [((y or 0) - (low or 0), (y or 0) + (high or 0)) for (_, y), high, low in ends]


def _name(names: Sequence[str]) -> str:
    """What the names of the lines of one result have in common: its own, without the number of a run."""
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(min(names), max(names), strict=False))
    common = "".join(letter for letter, _ in alike)
    return names[0] if len(set(names)) == 1 else re.sub(r" r\d*$", "", common).rstrip(" ,(")


def _dashes(groups: Iterable[Sequence[_Line]]) -> str:
    """What dashes tell apart within one result."""
    for lines in groups:
        kinds = {line.dash: line.name.rpartition(", ")[2] for line in lines if line.name not in ("min", "max")}
        if len(kinds) > 1:
            return " ".join(f"{_SAID.get(dash, dash)}: {name}." for dash, name in kinds.items())
    return ""


def _panel(
    title: str,
    lines: Sequence[_Line],
    of_x: _Scale,
    of_y: _Scale,
    high: int,
    meta: dict[str, Any],
    units: tuple[str, str],
) -> str:
    right, up = units

    def y(value: float) -> float:
        return _TEXT_PX + (high - _TEXT_PX) * (1 - of_y.share(value) / 100)

    shapes = []
    taken: list[tuple[float, float]] = []
    for share, text in of_y.shown():
        top = _TEXT_PX + (high - _TEXT_PX) * (1 - share / 100)
        shapes.append(f'<line x1="0" x2="100%" y1="{top:.1f}" y2="{top:.1f}"/>')
        shapes.append(f'<text class="tick from" x="0" y="{top - 3:.1f}">{_text(text)}</text>')
    paths = []
    for line in lines:
        look = f'stroke="{line.colour}" stroke-width="{line.width:g}" opacity="{line.opacity:g}"'
        dash = f' stroke-dasharray="{_DASHES[line.dash]}"' if line.dash in _DASHES else ""
        title_of = f"<title>{_text(f'{line.said}, {up}' if up else line.said)}</title>"
        if path := _path(line, of_x, y):
            paths.append(
                f'<path d="{path}" fill="none" vector-effect="non-scaling-stroke" {look}{dash}>{title_of}</path>'
            )
        known = [(of_x.share(x), y(value), x, value) for x, value in line.points if x is not None and value is not None]
        for (x, _), (low, high_end) in zip(line.points, line.intervals, strict=False):
            if x is not None and low < high_end:
                at = f'x1="{of_x.share(x):.2f}%" x2="{of_x.share(x):.2f}%" y1="{y(low):.1f}" y2="{y(high_end):.1f}"'
                shapes.append(f'<line class="interval" {at} stroke="{line.colour}"/>')
        if "markers" in line.mode or len(known) == 1:
            shapes += [
                f'<circle cx="{left:.2f}%" cy="{top:.1f}" r="3" fill="{line.colour}" opacity="{line.opacity:g}">'
                f"<title>{_text(f'{line.said}: {number(value)} {up}, {number(x)} {right}')}</title></circle>"
                for left, top, x, value in known
            ]
        if "text" in line.mode:
            shapes += _texts_at(known, line.texts, taken)
    box = f'viewBox="0 0 {_WIDE} {high}" width="100%" height="{high}" preserveAspectRatio="none"'
    inner = f"<svg {box}>{''.join(paths)}</svg>"
    head = f'<div class="name">{_text(title)}</div>' if title else ""
    foot = _tick_texts(of_x, high + 13, 14)
    # Lines lie below dots, and both above the grid.
    grid = [shape for shape in shapes if not shape.startswith("<circle")]
    dots = [shape for shape in shapes if shape.startswith("<circle")]
    drawn = (
        f'<svg width="100%" height="{high + _AXIS_PX}" overflow="visible" aria-hidden="true">'
        f"{''.join(grid)}{inner}{''.join(dots)}{foot}</svg>"
    )
    if "time" in meta:
        drawn = _on_time(lines, of_x, meta).around(drawn)
    return f'<div class="panel">{head}{drawn}</div>'


def _on_time(lines: Sequence[_Line], of_x: _Scale, meta: dict[str, Any]) -> OnTime:
    """What a crosshair reads of a panel: its lines without what only frames them."""
    middle = meta["lasts_s"] / 2
    read = [
        (meta["what"], line.said, tuple((x + middle, y) for x, y in line.points if x is not None and y is not None))
        for line in lines
        if line.name not in ("min", "max")
    ]
    return OnTime(meta["time"], of_x.low, of_x.high, tuple(read))


def _path(line: _Line, of_x: _Scale, y: Any) -> str:
    """The line, with a gap at each value that is missing; empty without two points next to each other."""
    parts, moves = [], True
    for x, value in line.points:
        if x is None or value is None:
            moves = True
            continue
        parts.append(f"{'M' if moves else 'L'}{of_x.share(x) * _WIDE / 100:.1f} {y(value):.1f}")
        moves = False
    return "".join(parts) if any(part[0] == "L" for part in parts) and "lines" in line.mode else ""


def _texts_at(
    known: Sequence[tuple[float, float, float, float]], texts: Sequence[Any], taken: list[tuple[float, float]]
) -> list[str]:
    """The texts above the points, as far as none lies on another one; `taken` are the places of those of a panel."""
    found = []
    for (left, top, _, _), text in zip(known, texts, strict=False):
        if all(abs(left - x) > 5 or abs(top - y) > 12 for x, y in taken):
            taken.append((left, top))
            found.append(f'<text class="tick" x="{left:.2f}%" y="{top - 6:.1f}">{_text(text)}</text>')
    return found


def _title(axis: dict[str, Any]) -> str:
    title = axis.get("title")
    return html.unescape(str((title.get("text") if isinstance(title, dict) else title) or ""))


def _paint(colour: Any) -> str:
    """A light colour of the theme as its token, so that dark screens have the dark one."""
    return theme.paint(_TOKENS[colour]) if colour in _TOKENS else html.escape(str(colour or theme.QUIET))


def _text(text: Any) -> str:
    """Labels of charts are escaped for plotly; they are escaped once."""
    return html.escape(html.unescape(str(text)))
