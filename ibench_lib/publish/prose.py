"""Text of authors as HTML: Markdown without raw HTML, whose links lead to http, https or into the site."""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Any
from urllib.parse import urljoin, urlsplit

import bleach  # type: ignore[import-untyped]
import mistune

_TAGS = frozenset({"a", "blockquote", "br", "code", "em", "li", "ol", "p", "pre", "strong", "ul"})
_SCHEMES = frozenset({"http", "https"})
_TAG = re.compile(r"<[^>]*>")
_HELD_TOGETHER = re.compile(r"(?<=\d) (?=(?:%|us|ms|s|min|h|KB|MB|GB|KiB|MiB|GiB)(?!\w))|(?<=\d,) (?=[\d./]+\])")
_LONE_PARAGRAPH = re.compile(r"<p>((?:(?!</?p>).)*)</p>\s*", re.DOTALL)


def prose(text: str | list[str], page: str = "") -> str:
    """Markdown as HTML; of a list each item is a bullet. What looks like HTML is text, an image its description.

    Parameters
    ----------
    page : address of the page that relative links are meant for, as seen from where the text is shown.
    """
    if isinstance(text, list):
        return "<ul>" + "".join(f"<li>{_html(item, page)}</li>" for item in text) + "</ul>" if text else ""
    return _html(text, page, keep_paragraph=True)


def plain(text: str | list[str]) -> str:
    """Markdown as plain text, without its marks and the addresses of links; a line for each item of a list."""
    items = text if isinstance(text, list) else [text]
    return "\n".join(" ".join(html.unescape(_TAG.sub("", _html(item, ""))).split()) for item in items)


def _html(text: str, page: str, *, keep_paragraph: bool = False) -> str:
    rendered = str(_markdown(page)(text.strip())).strip()
    # The renderer makes no other tag, and lets no other address through. This is the second lock.
    clean: str = bleach.clean(rendered, tags=_TAGS, attributes={"a": ["href"]}, protocols=_SCHEMES)
    alone = None if keep_paragraph else _LONE_PARAGRAPH.fullmatch(clean)
    return alone[1] if alone else clean


@cache
def _markdown(page: str) -> mistune.Markdown:
    return mistune.create_markdown(renderer=_Renderer(page), plugins=[])


class _Renderer(mistune.HTMLRenderer):
    """HTML of paragraphs, lists, quotations, code, emphasis and links. Headings are those of the notebook only."""

    def __init__(self, page: str) -> None:
        super().__init__(escape=True)
        self._page = page

    def text(self, text: str) -> str:
        # No line ends between a number and its unit, or within an interval.
        return str(super().text(_HELD_TOGETHER.sub("\N{NO-BREAK SPACE}", text)))

    def link(self, text: str, url: str, title: str | None = None) -> str:
        address = _address(url, self._page)
        return text if address is None else f'<a href="{html.escape(address)}">{text}</a>'

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return html.escape(html.unescape(text))

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        return f"<p><strong>{text}</strong></p>"

    def thematic_break(self) -> str:
        return ""


def _address(url: str, page: str) -> str | None:
    """Where a link leads; None for other schemes than http and https, and for another site without a scheme."""
    # Browsers leave out control characters and read a backslash as a slash.
    address = re.sub(r"[\x00-\x20\x7f]", "", html.unescape(url)).replace("\\", "/")
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    if parts.scheme:
        return address if parts.scheme.lower() in _SCHEMES and parts.netloc else None
    if parts.netloc or address.startswith("//") or not address:
        return None
    return urljoin(page, address) if page else address
