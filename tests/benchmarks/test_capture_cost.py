"""What capture costs: the benchmark's arithmetic, and the figures of its last run that its page shows."""

import re

import pytest

from benchmarks import capture_cost, performance_page
from ibench_lib.base.collector_report import CollectorReport


def rows_of(section: str) -> list[dict[str, str]]:
    """The first table of a section, by the names of its columns."""
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    head = next(number for number, line in enumerate(lines) if line[0] == "step")
    body = [line for line in lines[head + 1 :] if len(line) == len(lines[head])]
    return [dict(zip(lines[head], line, strict=True)) for line in body]


def percent(text: str) -> float:
    return float(text.rstrip("%")) / 100


@pytest.mark.measurement("M17")
def test_the_loss_is_the_median_of_pairs_with_its_noise() -> None:
    pairs = [(990.0, 1000.0), (980.0, 1000.0), (1010.0, 1000.0), (900.0, 1000.0), (985.0, 1000.0)]
    facts = {"usable_cpus": 2, "cpu_model": "Some CPU"}
    (row,) = rows_of(capture_cost.report({"write": pairs}, [], "mariadb 10.11", facts))
    assert (row["pairs"], row["median loss"], row["reached"]) == ("5", "1.5%", "cannot tell")
    low, high = map(percent, row["95 % interval"].split(" to "))
    assert low < 0.015 < high
    assert low < capture_cost.GOAL < high
    (missed,) = rows_of(capture_cost.report({"write": [(970.0, 1000.0)] * 5}, [], "mariadb 10.11", facts))
    assert (missed["median loss"], missed["reached"]) == ("3.0%", "no")


@pytest.mark.measurement("M17")
def test_the_last_run_of_the_benchmark_lost_less_than_its_goal() -> None:
    page = performance_page.page_of("capture_cost").read_text(encoding="utf-8")
    found = re.search(r"<!-- section capture_cost.*?<!-- end of capture_cost", page, re.DOTALL)
    assert found is not None
    rows = rows_of(found[0])
    assert len(rows) == 2, "a write step and a query step"
    for row in rows:
        low, high = map(percent, row["95 % interval"].split(" to "))
        assert int(row["pairs"]) >= 5
        assert low <= percent(row["median loss"]) <= high
        assert percent(row["median loss"]) < capture_cost.GOAL


def test_a_collector_costs_at_most_the_time_of_its_samples() -> None:
    found = CollectorReport(name="threads", every_s=1, samples=40, missed=0, cpu_s=0.02, busy_s=0.1)
    text = capture_cost.report(
        {"write": [(990.0, 1000.0)] * 5}, [found], "mariadb", {"usable_cpus": 2, "cpu_model": "x"}
    )
    assert "| threads | 1 s | 0.10% | 5.0 | 0.25% |" in text, "half of the samples were taken"


def test_waits_have_no_goal() -> None:
    pairs = [(700.0, 1000.0), (800.0, 1000.0), (900.0, 1000.0)]
    text = capture_cost.waits_report({"write": pairs}, "mysql-9.7", "mysql 9.7.4", {"usable_cpus": 2, "cpu_model": "x"})
    assert "--waits --build mysql-9.7`: one mysql 9.7.4, 2 cores" in text
    (row,) = rows_of(text)
    assert (row["median loss"], row["without, /s"], row["with, /s"]) == ("20.0%", "1,000", "800")
    assert "reached" not in row
