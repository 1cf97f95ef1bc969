"""docs/performance.md: each benchmark owns one marked section of it and leaves the others as they are."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"


def write_section(name: str, text: str, page: Path = PAGE, by: str | None = None) -> None:
    """Put `text` in place of section `name`, or after the last section when the page has none of that name.

    `by` is the benchmark that writes it, where it is not called as the section.
    """
    begin, end = f"<!-- section {name}: written by benchmarks/{by or name}.py -->", f"<!-- end of {name} -->"
    section = f"{begin}\n{text.strip()}\n{end}\n"
    found = page.read_text(encoding="utf-8") if page.exists() else ""
    pattern = re.compile(re.escape(begin) + r".*?" + re.escape(end) + r"\n", re.DOTALL)
    new, replaced = pattern.subn(lambda _: section, found)
    page.write_text(new if replaced else (found.rstrip() + "\n\n" if found else "") + section, encoding="utf-8")
