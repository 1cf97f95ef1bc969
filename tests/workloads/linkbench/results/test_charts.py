"""Charts of LinkBench: throughput and response times by requesters."""

from __future__ import annotations

from typing import Any

import pytest

import ibench_lib as ib
from ibench_lib.workloads.linkbench.inputs import OPERATIONS
from tests.show.parsed import Parsed
from tests.synthetic import answer

pytestmark = pytest.mark.lake


def test_tables_and_chart_show_every_dbms(lake: Any) -> None:
    summary = answer(lake, "linkbench_summary")
    rows = {row[0]: row for row in Parsed(ib.requesters_table(summary, base="system.a")).rows}
    assert rows["system.a (base)"][1] == "1,000 top" and rows["system.b"][1].endswith(" bottom\n0.50x below")
    plain = {row[0]: row for row in Parsed(ib.requesters_table(summary, base="system.a", ranks=False)).rows}
    assert plain["system.b"][1].endswith("\n0.50x")
    fair = {row[0]: row for row in Parsed(ib.requester_fairness_table(summary.filter(step="t4"))).rows}
    assert fair["system.b"][1:5] == ["4", "400", "400", "400"]
    operations = answer(lake, "linkbench_operations").filter(dbms="system.b", step="t4")
    names = [row[0] for row in Parsed(ib.linkbench_operations_table(operations)).rows if len(row) > 1]
    assert names[-len(OPERATIONS) :] == list(OPERATIONS)
    both = Parsed(ib.linkbench_operations_table(answer(lake, "linkbench_operations").filter(step="t4")))
    heads = [row[0] for row in both.rows if row and row[0].startswith("add_link: ")]
    assert heads == ["add_link: system.a", "add_link: system.b"], "next to each other"
    chart = ib.requesters_chart(summary)
    assert [(line.name, list(line.x), list(line.y)) for line in chart.data] == [
        ("system.a", [2, 4], [1000.0, 1600.0]),
        ("system.b", [2, 4], [500.0, 800.0]),
    ]
    chart = ib.response_by_throughput_chart(summary)
    assert [(line.name, list(line.x), list(line.text)) for line in chart.data][:2] == [
        ("system.a, p99", [1000, 1600], ["2", "4"]),
        ("system.a, median", [1000, 1600], ["2", "4"]),
    ]
    assert list(chart.data[0].y) == pytest.approx([0.5, 0.5], rel=0.01)
