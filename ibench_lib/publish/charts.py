"""Charts of a notebook as blocks of a page: a picture, or, where zoom helps, data for the page's own script."""

from __future__ import annotations

import base64
import gzip
import html
import json
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbformat import NotebookNode

from ibench_lib.base.later import later
from ibench_lib.show.kit.chart_text import CHART_MIME, PLOTLY_MIME, describe
from ibench_lib.show.kit.html_ids import html_id
from ibench_lib.show.kit.look import themed
from ibench_lib.show.kit.pictures import picture_of

if TYPE_CHECKING:
    import numpy as np
else:
    np = later("numpy")

COMPACT: dict[str, Any] = {"separators": (",", ":"), "allow_nan": False}
"""How JSON stands in a page."""

SHEET_PX = 900
"""A chart higher than this does not fit on a sheet of paper, and is not kept in one piece."""

_EVEN = 1e-6


@dataclass(frozen=True)
class ChartBlock:
    """A chart as HTML that still lacks its id: `id` is one that another chart of the page may have, too.

    `title` and `words`, what the chart shows, are markup, as is `inner`: a picture, or packed data. Such data
    has `kinds`, the types of its traces, and a `height` in pixels; a picture has neither.
    """

    title: str
    id: str
    words: str
    inner: str
    classes: str
    time: str
    height: int | None
    kinds: frozenset[str]

    @property
    def over_time(self) -> bool:
        """Whether a crosshair goes over it."""
        return bool(self.time)

    def markup(self, name: str) -> str:
        """The block, with an id that is unique in its page."""
        time = f' data-time="{self.time}"' if self.time else ""
        said = f'role="group" aria-label="{self.title}" aria-describedby="{name}.text"'
        head = f'<figure class="{self.classes}" id="{name}"{time}><figcaption>{self.title}</figcaption>'
        words = f'<p class="alt" id="{name}.text">{self.words}</p>'
        if self.height is None:
            return f"{head}<div {said}>{self.inner}</div>{words}</figure>"
        plot = f'<div class="plot" {said} style="height:{self.height}px"></div>'
        return f'{head}{plot}{words}<script type="application/gzip">{self.inner}</script></figure>'


@dataclass
class ChartBlocks:
    """Makes each chart of a notebook once: when its page is written, or `ahead`, while other cells still run."""

    _made: dict[int, tuple[dict[str, Any], ChartBlock]] = field(default_factory=dict)
    """By the identity of a figure, which stays as long as it is kept here."""

    def of(self, figure: dict[str, Any]) -> ChartBlock:
        """The block of this very figure."""
        if id(figure) not in self._made:
            self._made[id(figure)] = figure, chart_block(figure)
        return self._made[id(figure)][1]

    def ahead(self, cell: NotebookNode) -> None:
        """Make the charts of a cell that has run."""
        for output in cell.get("outputs", []):
            figure = figure_in(output)
            with suppress(Exception):  # whoever writes the page learns why
                if figure:
                    self.of(figure)


def figure_in(output: NotebookNode) -> dict[str, Any] | None:
    """The chart that an output shows, as plotly's JSON."""
    data = output.get("data", {})
    figure: dict[str, Any] | None = data.get(PLOTLY_MIME) or data.get(CHART_MIME)
    return figure


def chart_block(figure: dict[str, Any]) -> ChartBlock:
    """A chart as a picture; one that needs zoom as data for the page's own script: inert until that draws it."""
    picture, figure = picture_of(figure), themed(figure)
    layout = dict(figure["layout"])
    meta, title = layout["meta"], str(layout["meta"]["title"])
    width = "half" if meta.get("width") == "half" else "full"
    height, kinds, traces = None, frozenset[str](), figure.get("data", [])
    if picture:
        inner, classes = str(picture), f"picture {width}"
    else:
        kinds = frozenset(str(trace.get("type", "scatter")) for trace in traces) or frozenset({"scatter"})
        height = int(layout.get("height") or 380)
        layout.pop("title", None)
        layout["margin"] = {**layout.get("margin", {}), "t": 28}
        data = [_evenly_spaced(trace, layout) for trace in traces]
        inner = packed(json.dumps({"data": data, "layout": layout}, **COMPACT))
        classes = f"chart {width} tall" if height > SHEET_PX else f"chart {width}"
    return ChartBlock(
        title=html.escape(title),
        id=f"chart.{html_id(title)}",
        words=html.escape(describe(figure)),
        inner=inner,
        classes=classes,
        time=html.escape(str(meta.get("time") or "")),
        height=height,
        kinds=kinds,
    )


def packed(text: str) -> str:
    """A text for the page's script to unpack: a third or less of its length, and nothing in it can end an element."""
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def _evenly_spaced(trace: dict[str, Any], layout: dict[str, Any]) -> dict[str, Any]:
    """The same line; if its points are evenly spaced, with the first and the distance in place of each.

    On a logarithmic axis plotly would add the distance to the logarithm, and the x of a bar may be its length.
    """
    x, axis = trace.get("x"), layout.get(f"xaxis{trace.get('xaxis', 'x')[1:]}") or {}
    if trace.get("type") != "scatter" or axis.get("type", "linear") != "linear":
        return trace
    if not isinstance(x, list) or len(x) < 3:
        return trace
    values = np.array(x)
    step = (values[-1] - values[0]) / (len(x) - 1) if values.dtype.kind in "if" else None
    if step is None or (abs(values - values[0] - np.arange(len(x)) * step) > _EVEN * abs(step)).any():
        return trace
    return {**{key: value for key, value in trace.items() if key != "x"}, "x0": x[0], "dx": float(step)}
