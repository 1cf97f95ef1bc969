"""docs/benchmarks/: a page for each benchmark, which owns its marked sections and leaves the others as they are.

docs/performance.md sums the pages up, by hand.
"""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def page_of(benchmark: str) -> Path:
    """The page that a benchmark writes."""
    return DOCS / "benchmarks" / f"{benchmark}.md"


def write_section(name: str, text: str, page: Path | None = None, by: str | None = None) -> None:
    """Put `text` in place of section `name`, or after the last section when the page has none of that name.

    `by` is the benchmark that writes it, where it is not called as the section; `page` another page than its own.
    """
    page = page or page_of(by or name)
    begin, end = f"<!-- section {name}: written by benchmarks/{by or name}.py -->", f"<!-- end of {name} -->"
    section = f"{begin}\n{text.strip()}\n{end}\n"
    found = page.read_text(encoding="utf-8") if page.exists() else ""
    pattern = re.compile(re.escape(begin) + r".*?" + re.escape(end) + r"\n", re.DOTALL)
    new, replaced = pattern.subn(lambda _: section, found)
    page.write_text(new if replaced else (found.rstrip() + "\n\n" if found else "") + section, encoding="utf-8")
