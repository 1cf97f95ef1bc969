"""Cells of an executed notebook as blocks of a page: prose, code, tables and charts.

Charts are escaped here; tables and sentences were escaped by the library code that made them.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from nbconvert.filters import markdown2html
from nbformat import NotebookNode

from ibench_lib.ask.provenance import ANSWER
from ibench_lib.publish.notebook import tags
from ibench_lib.show.kit.chart_text import PLOTLY_MIME, describe
from ibench_lib.show.kit.html_ids import html_id
from ibench_lib.show.kit.theme import COLOURS

TABLES_SCOPE = "#content .table"
"""Every table of a page has the same style, which stands once in the page and is scoped by this selector."""

SHEET_PX = 900
"""A chart higher than this does not fit on a sheet of paper, and is not kept in one piece."""

_NEEDLESS = re.compile(r' (?:headers="[^"]*"|(?:row|col)span="1"|data-quarto-[a-z-]+="false")')
_NUMBER_CELL = re.compile(r'(<td[^>]*?) class="gt_row gt_right"')
_OF_NUMBERS = re.compile(r"\.(gt_row|gt_right)(?= \{)")
_CELL_ID = re.compile(r'(<t[hd]\b[^>]*?) id="[^"]*"')
_MARKED = re.compile(r'style="background-color: var\(--([a-z-]+)\); color: var\(--\1-ink\);"')
_INDENT = re.compile(r">\s+<(/?(?:t[hdr]|tbody|thead)\b)")
_BETWEEN = re.compile(r"(?<=[\dx])(\s?(?:\[[^\]<]{3,40}\]|\([^)<]{1,20} to [^)<]{1,20}\)))(?=[ ▲▼✕†‡]*</td>)")
"""An interval or a range behind a figure, at the end of a cell."""
_NOTE = re.compile(r'<td class="gt_sourcenote"[^>]*><span class="gt_from_md">([^<]+)</span>')
_NOTES = 120
"""Notes of a table that are longer than so many characters are folded."""
_SAID = re.compile(
    r'(<li(?: class="[^"]*")?|<p class="of-table"|<td class="gt_sourcenote"[^>]*><span class="gt_from_md")>([^<]+)'
)
_SENTENCE = re.compile(r"(?<=[.]) (?=[A-Z\[†‡≥▲▼])")
_LONG = 60
"""A sentence of so many characters stands once in a page; further ones link to it."""
_LABEL = 40
_EVEN = 1e-6
_COMPACT: dict[str, Any] = {"separators": (",", ":"), "allow_nan": False}
_PAINT = re.compile(r"var\(--([a-z0-9-]+),#[0-9a-f]{6}\)")
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_TITLE = re.compile(
    r'\s*<tr class="gt_heading">\s*<td[^>]* class="gt_heading gt_title[^"]*" id="([^"]*)">(.*?)</td>\s*</tr>', re.DOTALL
)


@dataclass
class Blocks:
    """Makes blocks, and remembers what a page has once: number and ids of charts, style of tables, long sentences.

    `evidence` are the names of the answers whose SQL and data the page has.
    """

    evidence: frozenset[str] = frozenset()
    styles: dict[str, None] = field(default_factory=dict)
    charts: int = 0
    _ids: dict[str, int] = field(default_factory=dict)
    _said: dict[str, str] = field(default_factory=dict)

    def cell(self, cell: NotebookNode) -> Iterator[str]:
        """The blocks of one cell, in order."""
        if cell.cell_type == "markdown":
            yield markdown(cell.source)
        elif cell.cell_type == "code":
            yield from _code(cell)
            outputs = [self._output(output) for output in cell.outputs]
            yield from _folded(outputs) if "folded" in tags(cell) else outputs
            yield self._sources(cell)

    def _sources(self, cell: NotebookNode) -> str:
        """Links to what the tables and charts of a cell were made from."""
        found = (name for output in cell.outputs for name in output.get("metadata", {}).get(ANSWER, ()))
        names = [html.escape(name) for name in dict.fromkeys(found) if name in self.evidence]
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
        if PLOTLY_MIME in data:
            return self._chart(data[PLOTLY_MIME])
        if "text/html" in data:
            return _SAID.sub(self._once, self._table(_painted(data["text/html"])))
        return f"<pre>{html.escape(data['text/plain'])}</pre>" if "text/plain" in data else ""

    def _table(self, markup: str) -> str:
        """A great_tables table with its title as the table's caption, in a container of its own that scrolls."""
        title = _TITLE.search(markup)
        if not title:
            return markup
        style = _STYLE.search(markup)
        if style:
            own = re.findall(r"#table-[\w-]+", style[1])
            of_numbers = _OF_NUMBERS.sub(r":is(.\1, .gt_table td:not([class]))", style[1])
            of_numbers = _in_tokens(of_numbers)
            self.styles[re.sub(r"#table-[\w-]+", TABLES_SCOPE, of_numbers) if own else of_numbers] = None
        without = _lean(_STYLE.sub("", markup[: title.start()] + markup[title.end() :]))
        caption = f'<caption id="{title[1]}">{title[2]}</caption>'
        labelled = re.sub(r"(<table [^>]*>)", lambda table: table[1] + caption, without, count=1)
        labelled = _BETWEEN.sub(r"<i>\1</i>", labelled)
        notes = _NOTE.findall(labelled)
        if sum(map(len, notes)) > _NOTES:
            labelled = re.sub(r"<tfoot>.*?</tfoot>", "", labelled, flags=re.DOTALL)
            said = "".join(f'<p class="of-table">{note}</p>' for note in notes)
            folded = f'<details class="notes"><summary>How to read this table</summary>{said}</details>'
        else:
            folded = ""
        return f'<div class="table" role="region" aria-labelledby="{title[1]}" tabindex="0">{labelled}</div>{folded}'

    def _once(self, found: re.Match[str]) -> str:
        """A generated sentence or the note of a table: what the page has said before is a link to it."""
        place, parts, linked = self._unique("said"), list[str](), False
        for sentence in _SENTENCE.split(found[2]):
            before = self._said.get(sentence)
            if before is None:
                parts.append(sentence)
            elif not linked:
                cut = sentence[: sentence.rfind(" ", 0, _LABEL)]
                # In quotes: it is the beginning of what stands there, not a sentence of its own.
                parts.append(f'<a href="#{before}">As above: “{cut.rstrip(",;:")} …”</a>')
                linked = True
        new = [sentence for sentence in parts if len(sentence) >= _LONG and not sentence.startswith("<a ")]
        self._said.update(dict.fromkeys(new, place))
        anchor = f' id="{place}"' if new else ""
        return f"{found[1]}{anchor}>{' '.join(parts)}"

    def _chart(self, figure: dict[str, Any]) -> str:
        """A chart as data for the page's own script: inert until that draws it."""
        self.charts += 1
        layout = dict(figure.get("layout", {}))
        meta = layout.get("meta") or {}
        title = str(meta.get("title", "Chart"))
        name = self._unique(f"chart.{html_id(title)}")
        width = "half" if meta.get("width") == "half" else "full"
        layout.pop("title", None)
        layout["margin"] = {**layout.get("margin", {}), "t": 28}
        data = [_evenly_spaced(trace, layout) for trace in figure.get("data", [])]
        content = packed(json.dumps({"data": data, "layout": layout}, **_COMPACT))
        height = int(layout.get("height") or 380)
        kind = f"{width} tall" if height > SHEET_PX else width
        return (
            f'<figure class="chart {kind}" id="{name}"><figcaption>{html.escape(title)}</figcaption>'
            f'<div class="plot" role="group" aria-label="{html.escape(title)}" aria-describedby="{name}.text" '
            f'style="height:{height}px"></div><p class="alt" id="{name}.text">{html.escape(describe(figure))}</p>'
            f'<script type="application/gzip">{content}</script></figure>'
        )

    def _unique(self, name: str) -> str:
        self._ids[name] = self._ids.get(name, 0) + 1
        return name if self._ids[name] == 1 else f"{name}-{self._ids[name]}"


def evidence_in(notebook: NotebookNode) -> frozenset[str]:
    """Names of the answers whose SQL and data are somewhere in a notebook's outputs."""
    return frozenset(questions_in(notebook))


def questions_in(notebook: NotebookNode) -> list[str]:
    """The same, in the order in which they were asked."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    texts = (output.get("data", {}).get("text/html", "") for output in outputs)
    return [name for text in texts for name in re.findall(r'<details class="question" id="evidence\.([^"]+)">', text)]


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


def _lean(markup: str) -> str:
    """A table of great_tables without what says nothing: nine tenths of a cell are its `headers`.

    Each header has a scope, which tells the same. A cell without a class is a number's, as the page's style knows. In
    the text of a cell, quotation marks are escaped.
    """
    without = _NUMBER_CELL.sub(r"\1", _MARKED.sub(r'data-mark="\1"', _NEEDLESS.sub("", markup)))
    return _INDENT.sub(r"><\1", _CELL_ID.sub(r"\1", without))


def _painted(markup: str) -> str:
    """HTML of the library without the light colours next to its tokens: a page knows those."""
    return _PAINT.sub(r"var(--\1)", markup)


def _in_tokens(style: str) -> str:
    """A style sheet of great_tables with tokens in place of the light colours that it was made with."""
    style = style.replace("background-color: #FFFFFF;", "")  # it would cover the shadow at the edge of a table
    for name in ("paper", "ink", "quiet", "rule"):
        style = re.sub(COLOURS[name][0], f"var(--{name})", style, flags=re.IGNORECASE)
    # Its own greys are those of lines.
    return re.sub("#(?:d3d3d3|a8a8a8)", "var(--rule)", style, flags=re.IGNORECASE)


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


def _folded(outputs: list[str]) -> Iterator[str]:
    """What readers look up but do not read, behind the titles of its tables and charts; a lone sentence as it is."""
    titles = re.findall(r"<(?:caption|figcaption)[^>]*>(.*?)</", "".join(outputs), re.DOTALL)
    if not titles:
        yield from outputs
        return
    more = f" and {len(titles) - 1} more" if len(titles) > 1 else ""
    yield f'<details class="fold"><summary>{titles[0]}{more}</summary>'
    yield from outputs
    yield "</details>"


def _code(cell: NotebookNode) -> Iterator[str]:
    if "remove-input" not in tags(cell) and cell.source.strip():
        code = f"<pre><code>{html.escape(cell.source)}</code></pre>"
        yield f"<details><summary>Code</summary>{code}</details>" if "hide-input" in tags(cell) else code
