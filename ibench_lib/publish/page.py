"""An executed notebook as one HTML page: no remote address, one plotly.js, every heading with a stable id.

A markdown cell that begins with `## ` opens a section whose id is the cell's id. One with the tag `optional` is left
out if its code shows nothing. Texts that come from a post's YAML are made harmless here and in `prose`.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from html.parser import HTMLParser
from typing import Any

from nbconvert import TemplateExporter
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from ibench_lib.paths import TEMPLATES
from ibench_lib.publish.blocks import TABLES_SCOPE, Blocks, evidence_in, json_for_script, markdown
from ibench_lib.publish.charts import ChartBlocks
from ibench_lib.publish.notebook import is_section, tags
from ibench_lib.publish.plotly_js import library
from ibench_lib.publish.prose import plain, prose
from ibench_lib.show.kit.grid import style_sheet as table_style
from ibench_lib.show.kit.picture_style import picture_style
from ibench_lib.show.kit.theme import dark_colours, style_sheet

MOST_BYTES = 10 * 1000 * 1000
"""A page above this size is refused: phones give up on it."""

CHART_CONFIG = {
    "displaylogo": False,
    "responsive": True,
    # A dollar sign in a label is a dollar sign.
    "typesetMath": False,
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "showEditInChartStudio": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d", "sendChartToCloud"],
}

TLDR_WORDS = 80
"""Bullets of a tl;dr that end within so many words stand above the first picture, the others below it.

A phone of 390 pixels then shows the beginning of the picture within 1,000.
"""

_NOTHING: NotebookNode = new_notebook()  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class PageText:
    """What a post's YAML says: title and author are plain text, the others Markdown (`prose`)."""

    title: str
    author: str
    day: date
    tldr: str | list[str]
    notes: dict[str, str | list[str]]
    description: str = ""
    """What previews of links show below the title; the tl;dr if it is empty."""
    image: str = ""
    """Address of the picture in previews of links."""
    address: str = ""
    """The page's own address on the web, where it is known."""


@dataclass
class Section:
    """One section of the page. `blocks` are finished HTML; `parts` are (id, text) of the headings within.

    One that is not `wanted` is left out.
    """

    id: str
    title: str
    blocks: list[str] = field(default_factory=list)
    parts: list[tuple[str, str]] = field(default_factory=list)
    wanted: bool = True


def render(
    notebook: NotebookNode, text: PageText, most_bytes: int = MOST_BYTES, charts: ChartBlocks | None = None
) -> bytes:
    """The page. One that would be larger than `most_bytes` lets go of embedded files, and says so in their places.

    `charts` may have made some of the notebook's charts already.
    """
    charts = charts or ChartBlocks()
    content, files = _rendered(notebook, text, charts)
    over, left_out = len(content) - most_bytes, set[str]()
    for name in sorted(files, key=lambda name: -files[name]):
        if over <= 0:
            break
        over -= files[name]
        left_out.add(name)
    return _rendered(notebook, text, charts, frozenset(left_out))[0] if left_out else content


def _rendered(
    notebook: NotebookNode, text: PageText, charts: ChartBlocks, left_out: frozenset[str] = frozenset()
) -> tuple[bytes, dict[str, int]]:
    """The page without some of its embedded files; the names of the others, with their lengths."""

    def tldr(below: bool) -> tuple[str, str]:
        first, rest = parted(text.tldr) if below else (text.tldr, [])
        more = f'<section class="tldr" aria-label="tl;dr, continued">{prose(rest)}</section>' if rest else ""
        return _tldr(first), more

    maker = Blocks(evidence_in(notebook), left_out, tldr, charts)
    sections = _sections(notebook, text, maker)
    # The library of charts is most of a page: it is there once, packed, and not at all where nothing is drawn.
    plotly = library(maker.kinds) if maker.kinds else None
    scripts = [template_text("post/draw.js")]
    if maker.flames:
        scripts.append(template_text("post/flame.js"))
    if maker.over_time:
        scripts.append(template_text("post/crosshair.js"))
    post = {
        "title": text.title,
        "author": text.author,
        "day": text.day,
        "tldr": bool(text.tldr),
        "first": "" if maker.placed else _tldr(text.tldr),
        "description": text.description or plain(text.tldr).replace("\n", " "),
        "image": text.image,
        "address": text.address,
        "sections": sections,
        "style": style_sheet() + picture_style() + template_text("post/post.css"),
        "table_style": table_style(TABLES_SCOPE) if maker.tables else "",
        "plotly": plotly.packed if plotly else "",
        "scripts": scripts,
        "hashes": [script_hash(text) for text in (*([plotly.code] if plotly else []), *scripts)],
        "config": json_for_script({"plotly": CHART_CONFIG, "dark": dark_colours()}),
    }
    return fill_template("post", post).encode(), maker.files


def fill_template(name: str, values: dict[str, Any], file: str = "index.html.j2") -> str:
    """A file of `templates/<name>/` with `values` as its `resources.<name>`."""
    # Everything is in the values: a notebook would only be copied.
    body, _ = _exporter(name, file).from_notebook_node(_NOTHING, resources={name: values})
    return str(body)


@cache
def _exporter(name: str, file: str) -> TemplateExporter:
    """It keeps its template, which takes longer to compile than to fill."""
    # Not HTMLExporter, which parses the finished page and writes it again.
    return TemplateExporter(  # type: ignore[no-untyped-call]
        extra_template_basedirs=[str(TEMPLATES)], template_name=name, template_file=file
    )


def template_text(name: str) -> str:
    """A template, style sheet or script of the page, as it is stored."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


def script_hash(script: str) -> str:
    """What a page's Content-Security-Policy allows a script by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _sections(notebook: NotebookNode, text: PageText, maker: Blocks) -> list[Section]:
    sections: list[Section] = []
    for cell in notebook.cells:
        if {"remove-cell", "injected-parameters"} & set(tags(cell)):
            continue
        if is_section(cell):
            first, _, rest = cell.source.partition("\n")
            sections.append(Section(cell.id, first.removeprefix("## ").strip(), wanted="optional" not in tags(cell)))
            sections[-1].blocks.append(markdown(rest))
            if cell.id in text.notes:
                sections[-1].blocks.append(f'<div class="note">{prose(text.notes[cell.id])}</div>')
            continue
        if not sections:
            sections.append(Section("start", ""))
        maker.before_title = not sections[-1].title
        blocks = list(maker.cell(cell))
        sections[-1].blocks += blocks
        sections[-1].wanted |= cell.cell_type == "code" and any(block.strip() for block in blocks)
    sections = [section for section in sections if section.wanted]
    for section in sections:
        section.blocks = [block for block in section.blocks if block.strip()]
        finder = _Headings()
        for block in section.blocks:
            if "<h3" in block:  # to parse a chart's data would take longer than all else
                finder.feed(block)
        section.parts = finder.found
    return sections


def _tldr(text: str | list[str]) -> str:
    return f'<section id="tldr" class="tldr"><h2>tl;dr</h2>{prose(text)}</section>' if text else ""


def parted(tldr: str | list[str]) -> tuple[str | list[str], list[str]]:
    """The bullets of a tl;dr that stand above the first picture, and those below it; a text is not parted."""
    if isinstance(tldr, str):
        return tldr, []
    words, above = 0, 0
    for item in tldr:
        words += len(plain(item).split())
        if above and words > TLDR_WORDS:
            break
        above += 1
    return tldr[:above], tldr[above:]


class _Headings(HTMLParser):
    """Collects (id, text) of h3 elements, whoever wrote them: Markdown and other libraries have some, too.

    What a part is in words is left out: a table of contents has little room.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._open: str | None = None
        self._in_words = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "h3":
            self._open = dict(attrs).get("id")
            if self._open:
                self.found.append((self._open, ""))
        self._in_words = ("class", "words") in attrs

    def handle_data(self, data: str) -> None:
        if self._open and not self._in_words:
            name, text = self.found[-1]
            self.found[-1] = (name, text + data)

    def handle_endtag(self, tag: str) -> None:
        self._in_words = False
        if tag == "h3":
            self._open = None
