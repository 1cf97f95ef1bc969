"""Which page a benchmark writes, and that the summary leads to all of them."""

import re

from benchmarks.performance_page import DOCS, page_of


def test_the_summary_fits_on_a_screen_and_leads_to_the_page_of_every_benchmark() -> None:
    summary = (DOCS / "performance.md").read_text(encoding="utf-8")
    assert len(summary.split()) <= 500 and len(summary.splitlines()) <= 40
    linked = re.findall(r"\]\((benchmarks/\w+\.md)\)", summary)
    assert sorted(linked) == sorted(f"benchmarks/{page.name}" for page in (DOCS / "benchmarks").glob("*.md"))


def test_a_page_has_the_sections_of_its_benchmark_only() -> None:
    for page in (DOCS / "benchmarks").glob("*.md"):
        writers = re.findall(r"<!-- section \S+: written by benchmarks/(\w+)\.py -->", page.read_text(encoding="utf-8"))
        assert writers and {page_of(writer) for writer in writers} == {page}, page.name
