"""The look of all charts as plotly's JSON, written down: plotly takes long to import, and to make a figure."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ibench_lib.base.later import later
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.theme import inert

if TYPE_CHECKING:
    from plotly import colors  # type: ignore[import-untyped]
else:
    colors = later("plotly.colors")

Width = Literal["half", "full"]
"""How much of the page a chart takes."""

TITLE: dict[str, Any] = {"font": {"size": 15}, "x": 0, "xref": "paper"}

LAYOUT: dict[str, Any] = {
    "font": {"family": theme.FONT, "size": 12, "color": theme.INK},
    "paper_bgcolor": "white",
    "plot_bgcolor": "white",
    "hovermode": "x unified",
    "hoverlabel": {"namelength": -1},  # whole: plotly cuts names after 15 characters, where runs do not differ yet
    "margin": {"l": 56, "r": 16, "t": 48, "b": 44},
    "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": -0.22, "yanchor": "top", "maxheight": 0.9},
    "bargap": 0.25,
    "showlegend": True,
}

AXIS: dict[str, Any] = {"gridcolor": theme.GRID, "linecolor": theme.RULE, "zeroline": False, "automargin": True}


def look(
    title: str,
    *,
    x: str | None = None,
    y: str | None = None,
    zero: bool = False,
    width: Width = "full",
    time: str = "",
    what: str = "",
    lasts_s: float = 0.0,
) -> dict[str, Any]:
    """The layout of a chart with this title and these names of its axes.

    `time`: what charts with one crosshair have in common, such as `l.i1, cached`; `what` is what their lines show.
    `lasts_s`: for how many seconds from its x on a point holds; 0 for a sample, which is of one moment.
    """
    read = {"time": time, "what": what, "lasts_s": lasts_s} if time else {}
    of_x = {"title": {"text": x}, "rangemode": "tozero"} if x else {}
    of_y = {**({"title": {"text": y}} if y else {}), **({"rangemode": "tozero"} if zero else {})}
    return {
        "template": _template(), **LAYOUT, "title": {**TITLE, "text": inert(title)},
        "meta": {"title": title, "width": width, **read}, "height": height_of(0),
        "xaxis": {**AXIS, **of_x}, "yaxis": {**AXIS, **of_y},
    }  # fmt: skip


@cache
def _template() -> dict[str, Any]:
    """What plotly gives to every figure."""
    spec = find_spec("plotly")
    assert spec is not None and spec.origin is not None
    text = (Path(spec.origin).parent / "package_data" / "templates" / "plotly.json").read_text(encoding="utf-8")
    template: dict[str, Any] = json.loads(text)
    return template


_THEIRS = "#E5ECF6"
"""The ground of figures whose author chose no look, which plotly gives them."""


def themed(figure: dict[str, Any]) -> dict[str, Any]:
    """The JSON of a figure of somebody's own with a caption, its title, and with the shared look unless it has another.

    What its author chose stays: only plotly's own template and the colours of its lines give way. A chart of this
    library is as it was.
    """
    layout = dict(figure.get("layout", {}))
    if isinstance(layout.get("meta"), dict) and "title" in layout["meta"]:
        return figure
    title = layout.get("title")
    text = str((title.get("text") if isinstance(title, dict) else title) or "Chart")
    plain = html.unescape(re.sub(r"</?[A-Za-z][^<>]*>", " ", text))
    layout["meta"] = {"title": " ".join(plain.split()), "width": "full"}
    ground = layout.get("template", {}).get("layout", {}).get("plot_bgcolor", _THEIRS)
    if ground != _THEIRS:
        return {**figure, "layout": layout}
    colours = [theme.series(position)[0] for position in range(len(theme.LINES))]
    layout["template"] = {
        "layout": {"template": _template(), **LAYOUT, "xaxis": AXIS, "yaxis": AXIS, "colorway": colours}
    }
    ours = dict(zip(map(str.lower, colors.qualitative.Plotly), colours, strict=False))
    return {**figure, "data": _painted(figure.get("data", []), ours), "layout": layout}


def _painted(value: Any, ours: Mapping[str, str]) -> Any:
    """Plotly's JSON with other colours."""
    if isinstance(value, dict):
        return {
            key: ours.get(inner.lower(), inner) if key == "color" and isinstance(inner, str) else _painted(inner, ours)
            for key, inner in value.items()
        }
    return [_painted(inner, ours) for inner in value] if isinstance(value, list) else value


def height_of(named: int) -> int:
    """Of a chart with so many names in its legend: a legend below takes its room from the chart."""
    return 380 + 20 * max(0, named - 4)
