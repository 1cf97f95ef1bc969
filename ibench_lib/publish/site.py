"""The posts of data/posts as a site: index.html lists and filters them, feed.xml (Atom) announces them.

Both are made from the records next to the pages, and each is replaced in one step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit
from xml.etree import ElementTree

from ibench_lib.base.durable import write_atomically
from ibench_lib.base.later import later
from ibench_lib.errors import PostUnreadable, UsageError
from ibench_lib.paths import FAILED_NOTEBOOK, SITE_FEED, SITE_INDEX, Workspace, check_slug
from ibench_lib.publish.prose import plain, prose
from ibench_lib.publish.record import PAGE_NAME, PostRecord, read_record
from ibench_lib.show.kit.theme import style_sheet

if TYPE_CHECKING:
    from ibench_lib.publish import page
else:
    page = later("ibench_lib.publish.page")  # whoever only needs the address of a site does not wait for it

TITLE = "Database benchmarks"

SITE_URL = "IBENCH_SITE_URL"
"""The environment variable that says where data/posts will be found on the web."""

_ATOM = "http://www.w3.org/2005/Atom"
_LOCAL = "localhost"
_TITLES_IN_DESCRIPTION = 3
# What XML 1.0 has no way to write.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Site:
    """What was made, and what lies in data/posts that is no post."""

    index: Path
    feed: Path
    posts: list[PostRecord]
    problems: list[str]


def site_address(url: str | None) -> str | None:
    """The address of a site with a slash at its end; None for none.

    Raises
    ------
    UsageError : it is not one of http or https.
    """
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise UsageError(
            f"--url or {SITE_URL} {url!r:.80} is not the address of a site", hint="such as https://example.org/bench/"
        )
    return url if url.endswith("/") else f"{url}/"


def build_site(workspace: Workspace, url: str | None = None, titles: Mapping[str, str] | None = None) -> Site:
    """Write index.html and feed.xml of data/posts.

    Parameters
    ----------
    url : where data/posts will be found on the web. Without it links in the feed are relative.
    titles : of workloads, by their names; a workload without a title has its name.

    Raises
    ------
    UsageError : the URL is none of http or https.
    """
    base = site_address(url)
    posts, problems = read_posts(workspace)
    workspace.posts.mkdir(parents=True, exist_ok=True)
    made = Site(workspace.posts / SITE_INDEX, workspace.posts / SITE_FEED, posts, problems)
    write_atomically(made.feed, feed(posts, base))
    write_atomically(made.index, index(posts, titles or {}))
    return made


def read_posts(workspace: Workspace) -> tuple[list[PostRecord], list[str]]:
    """(posts, the latest first; what is no post and why)."""
    posts: list[PostRecord] = []
    problems: list[str] = []
    for entry in sorted(workspace.posts.iterdir()) if workspace.posts.is_dir() else []:
        if entry.name.startswith(".") or entry.name in (SITE_INDEX, SITE_FEED):
            continue
        if entry.name.endswith(FAILED_NOTEBOOK):
            slug = entry.name.removesuffix(FAILED_NOTEBOOK)
            problems.append(
                f"{entry.name}: the latest build of {slug} failed; an earlier one is listed if there is one"
            )
        elif entry.is_symlink() or not entry.is_dir():
            problems.append(f"{entry.name}: not a directory")
        else:
            try:
                check_slug(entry.name)
                posts.append(read_record(entry))
            except (PostUnreadable, UsageError) as error:
                problems.append(error.what)
    return sorted(posts, key=lambda post: (post.date, post.slug), reverse=True), problems


def index(posts: list[PostRecord], titles: Mapping[str, str]) -> bytes:
    """The list of posts as an HTML page that needs no network; filters need JavaScript, the list does not."""
    script = page.template_text("site/filter.js")
    shown = [
        {
            "slug": post.slug,
            "href": f"{quote(post.slug)}/{PAGE_NAME}",
            "title": post.title,
            "author": post.author,
            "day": post.date,
            "notebook": post.notebook,
            "workloads": ", ".join(titles.get(name, name) for name in post.workloads) or "no run",
            "experiments": ", ".join(post.experiments),
            "servers": _servers(post),
            "not_complete": post.runs_not_complete,
            "runs": len(post.runs),
            "megabytes": post.bytes / 1e6,
            "tldr": prose(post.tldr, f"{quote(post.slug)}/{PAGE_NAME}"),
        }
        for post in posts
    ]
    values: dict[str, Any] = {
        "title": TITLE,
        "description": "; ".join(post.title for post in posts[:_TITLES_IN_DESCRIPTION]),
        "posts": shown,
        "servers": sorted({name for post in posts for name in _servers(post)}),
        "notebooks": sorted({post.notebook for post in posts}),
        "style": style_sheet() + page.template_text("post/post.css") + page.template_text("site/site.css"),
        "script": script,
        "hash": page.script_hash(script),
    }
    return page.fill_template("site", values).encode()


def feed(posts: list[PostRecord], base: str | None) -> bytes:
    """The posts as an Atom feed (RFC 4287).

    An entry's id is a tag: URI (RFC 4151) of the site's host, the post's date and slug: it stays when a post is built
    again, and when the site moves to another folder of its host.
    """
    host = (urlsplit(base).hostname if base else None) or _LOCAL
    root = _element(None, "feed")
    _element(root, "title", TITLE)
    _element(root, "id", f"tag:{host},2026:posts")
    _element(root, "updated", _stamp(max((post.updated for post in posts), default=datetime(2026, 1, 1, tzinfo=UTC))))
    _element(root, "link", rel="alternate", type="text/html", href=_link(base, SITE_INDEX))
    if base:
        _element(root, "link", rel="self", type="application/atom+xml", href=_link(base, SITE_FEED))
    if not all(post.author for post in posts):  # an entry without an author has that of the feed, which must then be
        _element(_element(root, "author"), "name", TITLE)
    _element(root, "generator", "ibench")
    for post in posts:
        entry = _element(root, "entry")
        _element(entry, "title", post.title)
        _element(entry, "id", f"tag:{host},{post.date.isoformat()}:{post.slug}")
        _element(entry, "published", f"{post.date.isoformat()}T00:00:00Z")
        _element(entry, "updated", _stamp(post.updated))
        if post.author:
            _element(_element(entry, "author"), "name", post.author)
        _element(entry, "link", rel="alternate", type="text/html", href=_link(base, f"{quote(post.slug)}/{PAGE_NAME}"))
        _element(entry, "category", term=post.notebook)
        _element(entry, "summary", plain(post.tldr) or post.title)
    ElementTree.indent(root)
    text: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'.encode()


def _servers(post: PostRecord) -> list[str]:
    return post.servers or post.builds


def _element(parent: ElementTree.Element | None, name: str, text: str | None = None, **attributes: str) -> Any:
    given = {key: _NO_XML.sub("\ufffd", value) for key, value in attributes.items()}
    made = (
        ElementTree.Element(name, {"xmlns": _ATOM, **given})
        if parent is None
        else ElementTree.SubElement(parent, name, given)
    )
    made.text = None if text is None else _NO_XML.sub("\ufffd", text)
    return made


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _link(base: str | None, path: str) -> str:
    return urljoin(base, path) if base else path
