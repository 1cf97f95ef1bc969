"""plotly.js for a page: its part for charts with two axes if this environment has it, else all of it.

The part takes a third of the room. Python's plotly brings only the whole library; `make plotly` gets the part from npm.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from plotly.offline import get_plotlyjs, get_plotlyjs_version  # type: ignore[import-untyped]

from ibench_lib.publish.charts import packed

VERSION = "4.1.1"
SHA256 = "79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a"
"""Of the part. Readers' browsers run it: no other file gets into a page."""

KINDS = frozenset(
    {"bar", "box", "contour", "heatmap", "histogram", "histogram2d", "histogram2dcontour", "image", "pie", "scatter"}
    | {"scatterternary", "violin"}
)
"""The types of traces that the part can draw."""


@dataclass(frozen=True)
class Library:
    """`code` is JavaScript; `packed` is the same as a page has it."""

    code: str
    packed: str


def part_path() -> Path:
    """Where the part lies if this environment has it."""
    return Path(sys.prefix) / "share" / "ibench" / f"plotly.js-{VERSION}" / "plotly-cartesian.min.js"


def library(kinds: Set[str]) -> Library:
    """What draws traces of these types, as plotly names them (`scatter`). It is packed once in a process."""
    return (_part(part_path()) if kinds <= KINDS else None) or _whole()


@cache
def _whole() -> Library:
    code = get_plotlyjs()
    return Library(code, packed(code))


@cache
def _part(path: Path) -> Library | None:
    """None if it is not there, is another file, or is of another version than the plotly that makes the charts."""
    if get_plotlyjs_version() != VERSION:
        return None
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(content).hexdigest() != SHA256:
        return None
    code = content.decode()
    return Library(code, packed(code))
