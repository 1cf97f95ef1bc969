"""An executed notebook as one HTML page: no remote address, one plotly.js, every heading with a stable id.

A markdown cell that begins with `## ` opens a section whose id is the cell's id. Texts that come from a post's YAML and
charts are escaped here; tables and sentences were escaped by the library code that made them.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import dataclass, field
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from nbconvert import TemplateExporter
from nbconvert.filters import markdown2html
from nbformat import NotebookNode
from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

TEMPLATES = Path(__file__).with_name("templates")
PLOTLY_MIME = "application/vnd.plotly.v1+json"

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


@dataclass(frozen=True)
class PageText:
    """What a post's YAML says: plain text, escaped by `render`."""

    title: str
    author: str
    day: date
    tldr: str | list[str]
    notes: dict[str, str | list[str]]


@dataclass
class Section:
    """One section of the page. `blocks` are finished HTML; `parts` are (id, text) of the headings within."""

    id: str
    title: str
    blocks: list[str] = field(default_factory=list)
    parts: list[tuple[str, str]] = field(default_factory=list)


def is_section(cell: NotebookNode) -> bool:
    """Whether a markdown cell opens a section: it begins with `## `, and the page shows it."""
    return cell.cell_type == "markdown" and cell.source.startswith("## ") and "remove-cell" not in _tags(cell)


def render(notebook: NotebookNode, text: PageText) -> str:
    """The page as HTML text."""
    sections = _sections(notebook, text)
    plotly_js, draw_js = get_plotlyjs(), (TEMPLATES / "post" / "draw.js").read_text(encoding="utf-8")
    # Not HTMLExporter: that one parses the finished page and writes it anew.
    exporter = TemplateExporter(  # type: ignore[no-untyped-call]
        extra_template_basedirs=[str(TEMPLATES)], template_name="post", template_file="index.html.j2"
    )
    resources = {
        "post": {
            "title": text.title,
            "author": text.author,
            "day": text.day,
            "tldr": prose(text.tldr),
            "sections": sections,
            "style": (TEMPLATES / "post" / "post.css").read_text(encoding="utf-8"),
            "scripts": [plotly_js, draw_js],
            "hashes": [_script_hash(plotly_js), _script_hash(draw_js)],
            "config": _json_for_script(CHART_CONFIG),
        }
    }
    body, _ = exporter.from_notebook_node(notebook, resources=resources)
    return str(body)


def prose(text: str | list[str]) -> str:
    """Plain text as HTML: a list becomes bullets, a blank line ends a paragraph, `code` and **bold** are marked."""
    if isinstance(text, list):
        return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in text) + "</ul>" if text else ""
    paragraphs = [part for part in re.split(r"\n\s*\n", text.strip()) if part.strip()]
    return "".join(f"<p>{_inline(part)}</p>" for part in paragraphs)


def _inline(text: str) -> str:
    escaped = html.escape(text.strip())
    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", marked)


def _tags(cell: NotebookNode) -> list[str]:
    return list(cell.metadata.get("tags", []))


def _sections(notebook: NotebookNode, text: PageText) -> list[Section]:
    sections: list[Section] = []
    charts = 0
    for cell in notebook.cells:
        if {"remove-cell", "injected-parameters"} & set(_tags(cell)):
            continue
        if is_section(cell):
            first, _, rest = cell.source.partition("\n")
            sections.append(Section(cell.id, first.removeprefix("## ").strip()))
            sections[-1].blocks.append(_markdown(rest))
            if cell.id in text.notes:
                sections[-1].blocks.append(f'<div class="note">{prose(text.notes[cell.id])}</div>')
            continue
        if not sections:
            sections.append(Section("start", ""))
        current = sections[-1]
        if cell.cell_type == "markdown":
            current.blocks.append(_markdown(cell.source))
        elif cell.cell_type == "code":
            current.blocks += _code(cell)
            for output in cell.outputs:
                if PLOTLY_MIME in output.get("data", {}):
                    charts += 1
                    current.blocks.append(_chart(output["data"][PLOTLY_MIME], charts))
                else:
                    current.blocks.append(_output(output))
    for section in sections:
        section.blocks = [block for block in section.blocks if block.strip()]
        finder = _Headings()
        finder.feed("".join(section.blocks))
        section.parts = finder.found
    return sections


def _markdown(source: str) -> str:
    rendered: str = markdown2html(source) if source.strip() else ""
    return rendered


def _code(cell: NotebookNode) -> list[str]:
    tags = _tags(cell)
    if "remove-input" in tags or not cell.source.strip():
        return []
    code = f"<pre><code>{html.escape(cell.source)}</code></pre>"
    return [f"<details><summary>Code</summary>{code}</details>" if "hide-input" in tags else code]


def _output(output: NotebookNode) -> str:
    if output.output_type == "stream":
        # What the kernel warns about is for whoever builds the post, not for its readers.
        return f"<pre>{html.escape(output.text)}</pre>" if output.name == "stdout" else ""
    data = output.get("data", {})
    if "text/html" in data:
        return _table(data["text/html"])
    if "text/plain" in data:
        return f"<pre>{html.escape(data['text/plain'])}</pre>"
    return ""


def _table(markup: str) -> str:
    """A great_tables table with its title as the table's caption, in a container of its own that scrolls."""
    found = re.search(
        r'\s*<tr class="gt_heading">\s*<td[^>]* class="gt_heading gt_title[^"]*" id="([^"]*)">(.*?)</td>\s*</tr>',
        markup,
        re.DOTALL,
    )
    if not found:
        return markup
    without = markup[: found.start()] + markup[found.end() :]
    caption = f'<caption id="{found[1]}">{found[2]}</caption>'
    labelled = re.sub(r"(<table [^>]*>)", lambda table: table[1] + caption, without, count=1)
    return f'<div class="table" role="region" aria-labelledby="{found[1]}" tabindex="0">{labelled}</div>'


def _chart(figure: dict[str, Any], number: int) -> str:
    """A chart as data for the page's own script: inert until that draws it."""
    layout = dict(figure.get("layout", {}))
    meta = layout.get("meta") or {}
    title = str(meta.get("title", f"Chart {number}"))
    width = "half" if meta.get("width") == "half" else "full"
    layout.pop("title", None)
    layout["margin"] = {**layout.get("margin", {}), "t": 28}
    content = _json_for_script({"data": figure.get("data", []), "layout": layout})
    height = int(layout.get("height") or 380)
    return (
        f'<figure class="chart {width}" id="chart-{number}"><figcaption>{html.escape(title)}</figcaption>'
        f'<div class="plot" role="img" aria-label="{html.escape(title)}" style="height:{height}px"></div>'
        f'<script type="application/json">{content}</script></figure>'
    )


def _json_for_script(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _script_hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


class _Headings(HTMLParser):
    """Collects (id, text) of h3 elements."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._open: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "h3":
            self._open = dict(attrs).get("id")
            if self._open:
                self.found.append((self._open, ""))

    def handle_data(self, data: str) -> None:
        if self._open:
            name, text = self.found[-1]
            self.found[-1] = (name, text + data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "h3":
            self._open = None
