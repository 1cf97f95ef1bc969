"""Cells of an executed notebook as blocks of a page: prose, code, tables and charts (`publish.charts`).

Tables and sentences were escaped by the library code that made them.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup
from nbconvert.filters import markdown2html
from nbformat import NotebookNode

from ibench_lib.publish.charts import COMPACT, ChartBlocks, figure_in
from ibench_lib.publish.notebook import shown, tags
from ibench_lib.show.kit.grid import GRID_MIME, Grid, grid_of
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

TABLES_SCOPE = "#content .table"
"""Every table of a page has the same style, which stands once in the page and is scoped by this selector."""

_NOTES = 120
"""Notes of a table that are longer than so many characters are folded."""
_SENTENCE = re.compile(r"(?<=[.]) (?=[A-Z\[†‡≥])")
_LONG = 60
"""A sentence of so many characters stands once in a page; further ones link to it."""
_LABEL = 40


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
    charts: ChartBlocks = field(default_factory=ChartBlocks)
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
        if figure := figure_in(output):
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
        block = self.charts.of(figure)
        self._titles.append(block.title)
        self.over_time += block.over_time
        self.kinds |= block.kinds
        return block.markup(self._unique(block.id))

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
    return frozenset(shown(notebook, "questions"))


def markdown(source: str) -> str:
    """Markdown of a notebook as HTML."""
    rendered: str = markdown2html(source) if source.strip() else ""
    return rendered


def json_for_script(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, **COMPACT)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _code(cell: NotebookNode) -> Iterator[str]:
    if "remove-input" not in tags(cell) and cell.source.strip():
        code = f"<pre><code>{html.escape(cell.source)}</code></pre>"
        yield f"<details><summary>Code</summary>{code}</details>" if "hide-input" in tags(cell) else code
