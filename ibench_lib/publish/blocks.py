"""Cells of an executed notebook as blocks of a page: prose, code, tables and charts.

Charts are escaped here; tables and sentences were escaped by the library code that made them.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from nbconvert.filters import markdown2html
from nbformat import NotebookNode

from ibench_lib.base.later import later
from ibench_lib.publish.notebook import evidence, tags
from ibench_lib.show.kit.chart_text import CHART_MIME, PLOTLY_MIME, describe
from ibench_lib.show.kit.grid import GRID_MIME, Grid, grid_of
from ibench_lib.show.kit.html_ids import html_id
from ibench_lib.show.kit.look import themed
from ibench_lib.show.kit.pictures import picture_of
from ibench_lib.show.kit.pieces import (
    ANSWER,
    FLAME_GRAPH,
    TLDR,
    TLDR_REST,
    Html,
    Picture,
    Place,
    RateOverTime,
    SavedFile,
    Sentence,
    html_of,
)

if TYPE_CHECKING:
    import numpy as np
else:
    np = later("numpy")

TABLES_SCOPE = "#content .table"
"""Every table of a page has the same style, which stands once in the page and is scoped by this selector."""

SHEET_PX = 900
"""A chart higher than this does not fit on a sheet of paper, and is not kept in one piece."""

_NOTES = 120
"""Notes of a table that are longer than so many characters are folded."""
_SENTENCE = re.compile(r"(?<=[.]) (?=[A-Z\[†‡≥])")
_LONG = 60
"""A sentence of so many characters stands once in a page; further ones link to it."""
_LABEL = 40
_EVEN = 1e-6
_COMPACT: dict[str, Any] = {"separators": (",", ":"), "allow_nan": False}


def _without_tldr(below: bool) -> tuple[str, str]:
    """Nothing above the first picture, and nothing below it."""
    return "", ""


@dataclass
class Blocks:
    """Makes blocks, and remembers what a page has once: ids of charts, style of tables, long sentences.

    `kinds` are the types of traces of the charts that need zoom. `evidence` are the names of the answers whose SQL and
    data the page has, `left_out` names the files that it has no room for. The first screen `before_title` that has a
    place for the author's tl;dr gets it (`placed`): `tldr` makes what stands above its picture, and if there is a place
    below that, what stands there.
    """

    evidence: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    tldr: Callable[[bool], tuple[str, str]] = _without_tldr
    before_title: bool = False
    placed: bool = False
    flames: bool = False
    kinds: set[str] = field(default_factory=set)
    over_time: int = 0
    """Those that a crosshair goes over."""
    tables: int = 0
    files: dict[str, int] = field(default_factory=dict)
    """Those whose data is in the page, with the length of their links."""
    _titles: list[str] = field(default_factory=list)
    """Of the tables and pictures of the last cell, as markup."""
    _ids: dict[str, int] = field(default_factory=dict)
    _said: dict[str, str] = field(default_factory=dict)

    def cell(self, cell: NotebookNode) -> Iterator[str]:
        """The blocks of one cell, in order."""
        if cell.cell_type == "markdown":
            yield markdown(cell.source)
        elif cell.cell_type == "code":
            yield from _code(cell)
            self._titles.clear()
            outputs = [self._output(output) for output in cell.outputs]
            yield from self._folded(outputs) if "folded" in tags(cell) else outputs
            yield self._sources(cell)

    def _sources(self, cell: NotebookNode) -> str:
        """Links to what the tables and charts of a cell were made from."""
        answers = (name for output in cell.outputs for name in output.get("metadata", {}).get(ANSWER, ()))
        names = [html.escape(name) for name in dict.fromkeys(answers) if name in self.evidence]
        links = [
            f'<a href="#evidence.{name}">{"" if place else "SQL and data: "}{name}</a>'
            for place, name in enumerate(names)
        ]
        return f'<p class="source">{", ".join(links)}</p>' if links else ""

    def _output(self, output: NotebookNode) -> str:
        if output.output_type == "stream":
            # Warnings of the kernel are for the author of the post, not for its readers.
            return f"<pre>{html.escape(output.text)}</pre>" if output.name == "stdout" else ""
        data = output.get("data", {})
        if figure := data.get(PLOTLY_MIME) or data.get(CHART_MIME):
            return self._chart(figure)
        if GRID_MIME in data:
            return self._table(grid_of(data[GRID_MIME]))
        if "text/html" in data:
            return self._html(html_of(data))
        return f"<pre>{html.escape(data['text/plain'])}</pre>" if "text/plain" in data else ""

    def _table(self, grid: Grid) -> Markup:
        """A table in a container of its own that scrolls. Long notes are folded below it."""
        self.tables += 1
        self._titles.append(Markup.escape(grid.title))
        notes = [self._said_once(note) for note in grid.shown_notes]
        folded = Markup()
        if sum(map(len, grid.shown_notes)) > _NOTES:
            paragraphs = Markup().join(Markup('<p class="of-table"{}>{}</p>').format(*note) for note in notes)
            head = '<details class="notes"><summary>How to read this table</summary>{}</details>'
            folded, notes = Markup(head).format(paragraphs), []
        table = grid.markup([Markup("<span{}>{}</span>").format(*note) for note in notes])
        scrolling = '<div class="table" role="region" aria-labelledby="{}" tabindex="0">{}</div>{}'
        return Markup(scrolling).format(grid.title_id, table, folded)

    def _said_once(self, text: str) -> tuple[Markup, Markup]:
        """The id of a text, as an attribute, if links may lead to it; the text, with a link to what was said before."""
        place, parts, new, linked = self._unique("said"), list[str | Markup](), list[str](), False
        for sentence in _SENTENCE.split(text):
            before = self._said.get(sentence)
            if before is None:
                parts.append(sentence)
                new += [sentence] if len(sentence) >= _LONG else []
            elif not linked:
                cut = sentence[: sentence.rfind(" ", 0, _LABEL)].rstrip(",;:")
                # In quotes: it is the beginning of what stands there, not a sentence of its own.
                parts.append(Markup('<a href="#{}">As above: “{} …”</a>').format(before, cut))
                linked = True
        self._said.update(dict.fromkeys(new, place))
        anchor = Markup(' id="{}"').format(place) if new else Markup()
        return anchor, Markup(" ").join(parts)

    def _html(self, shown: Html) -> str:
        """What was said before is linked to, and what a page has in the places of a first screen is there."""
        parts = []
        if TLDR in shown.pieces and self.before_title and not self.placed:
            self.placed = True
            above, below = self.tldr(TLDR_REST in shown.pieces)
        else:
            above = below = ""
        for piece in shown.pieces:
            if isinstance(piece, Sentence) and piece.element == "li":
                parts.append(piece.drawn(*self._said_once(piece.text)))
            elif isinstance(piece, SavedFile):
                parts.append(self._file(piece))
            elif isinstance(piece, Place):
                self.flames |= piece == FLAME_GRAPH
                parts.append({TLDR: above, TLDR_REST: below}.get(piece, ""))
            else:
                self._titles += [html.escape(piece.caption)] if isinstance(piece, Picture) else []
                self.over_time += isinstance(piece, RateOverTime)
                parts.append(piece if isinstance(piece, str) else piece.markup)
        return "".join(parts)

    def _file(self, file: SavedFile) -> str:
        if file.says in self.left_out:
            sentence = f"{html.escape(file.says)}: left out because it would make the page too large."
            return f'<span class="said">{sentence}</span>'
        self.files[file.says] = len(file.markup)
        return file.markup

    def _chart(self, figure: dict[str, Any]) -> str:
        """A chart as a picture; one that needs zoom as data for the page's own script: inert until that draws it."""
        picture, figure = picture_of(figure), themed(figure)
        layout = dict(figure["layout"])
        meta, title = layout["meta"], str(layout["meta"]["title"])
        self._titles.append(html.escape(title))
        name = self._unique(f"chart.{html_id(title)}")
        width = "half" if meta.get("width") == "half" else "full"
        time = f' data-time="{html.escape(str(meta["time"]))}"' if meta.get("time") else ""
        self.over_time += bool(time)
        if picture:
            return (
                f'<figure class="picture {width}" id="{name}"{time}><figcaption>{html.escape(title)}</figcaption>'
                f'<div role="group" aria-label="{html.escape(title)}" aria-describedby="{name}.text">{picture}</div>'
                f'<p class="alt" id="{name}.text">{html.escape(describe(figure))}</p></figure>'
            )
        self.kinds |= {str(trace.get("type", "scatter")) for trace in figure.get("data", [])} or {"scatter"}
        layout.pop("title", None)
        layout["margin"] = {**layout.get("margin", {}), "t": 28}
        data = [_evenly_spaced(trace, layout) for trace in figure.get("data", [])]
        content = packed(json.dumps({"data": data, "layout": layout}, **_COMPACT))
        height = int(layout.get("height") or 380)
        kind = f"{width} tall" if height > SHEET_PX else width
        return (
            f'<figure class="chart {kind}" id="{name}"{time}><figcaption>{html.escape(title)}</figcaption>'
            f'<div class="plot" role="group" aria-label="{html.escape(title)}" aria-describedby="{name}.text" '
            f'style="height:{height}px"></div><p class="alt" id="{name}.text">{html.escape(describe(figure))}</p>'
            f'<script type="application/gzip">{content}</script></figure>'
        )

    def _folded(self, outputs: list[str]) -> Iterator[str]:
        """What readers look up but do not read, behind the titles of its tables and charts; else as it is."""
        if not self._titles:
            yield from outputs
            return
        more = f" and {len(self._titles) - 1} more" if len(self._titles) > 1 else ""
        yield f'<details class="fold"><summary>{self._titles[0]}{more}</summary>'
        yield from outputs
        yield "</details>"

    def _unique(self, name: str) -> str:
        self._ids[name] = self._ids.get(name, 0) + 1
        return name if self._ids[name] == 1 else f"{name}-{self._ids[name]}"


def evidence_in(notebook: NotebookNode) -> frozenset[str]:
    """Names of the answers whose SQL and data are somewhere in a notebook's outputs."""
    return frozenset(evidence(notebook, "questions"))


def markdown(source: str) -> str:
    """Markdown of a notebook as HTML."""
    rendered: str = markdown2html(source) if source.strip() else ""
    return rendered


def json_for_script(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, **_COMPACT)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


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


def _code(cell: NotebookNode) -> Iterator[str]:
    if "remove-input" not in tags(cell) and cell.source.strip():
        code = f"<pre><code>{html.escape(cell.source)}</code></pre>"
        yield f"<details><summary>Code</summary>{code}</details>" if "hide-input" in tags(cell) else code
