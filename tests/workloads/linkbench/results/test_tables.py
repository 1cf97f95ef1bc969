"""Tables of LinkBench, and the answers that they print."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.analysis.against import against_base
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.workloads.linkbench.inputs import MIX, OPERATIONS
from tests.show.parsed import Parsed
from tests.synthetic import Run, answer
from tests.workloads.linkbench.results.runs import write

pytestmark = pytest.mark.lake


def test_statements_are_totals_of_the_runs_that_the_server_counted(workspace: Workspace) -> None:
    for repeat, rate in ((1, 100), (2, 150), (3, 50)):
        write(workspace, Run("a", repeat=repeat, minute=repeat), {"t2": rate}, wrong=repeat)
    frame = answer(reader.lake(workspace), "linkbench_statements")
    table = Parsed(ib.statements_table(frame))
    (updates,) = [row for row in table.rows if row[0] == "UPDATE"]
    assert updates[1:] == ["1,800", "1,806", "6"], "2 * 3 * (100 + 150 + 50); all runs together"
    assert "3 of 3 of system.a." in " ".join(cell for row in table.rows for cell in row)
    unknown = frame.with_columns(
        pl.when(pl.col("repeat") == 2).then(None).otherwise(pl.col(column)).alias(column)
        for column in ("counted", "unexplained")
    )
    table = Parsed(ib.statements_table(unknown))
    (updates,) = [row for row in table.rows if row[0] == "UPDATE"]
    assert updates[1:] == ["900", "904", "4"]
    assert "2 of 3 of system.a (not captured: r2)." in " ".join(cell for row in table.rows for cell in row)


def test_rates_percentiles_and_fairness(lake: Any) -> None:
    summary = answer(lake, "linkbench_summary").filter(dbms="system.a")
    assert summary.select("step", "requesters", "ops_per_s", "least", "most").rows() == [
        ("t2", 2, 1000.0, 1000.0, 1000.0), ("t4", 4, 1600.0, 800.0, 800.0), ("control.t2", 2, 800.0, 800.0, 800.0),
    ]  # fmt: skip
    found = answer(lake, "linkbench_operations").filter(dbms="system.a", step="t2")
    assert found["operation"].to_list() == list(OPERATIONS)
    first = found.row(0, named=True)
    assert (first["done"], first["share"], first["rows_per_op"]) == (200, 10.0, 2.0)
    assert (first["mean_s"], first["max_s"]) == pytest.approx((500e-6, 600e-6))
    assert first["p25_s"] == first["p50_s"] == first["p99_s"] == pytest.approx(500e-6, rel=0.01)
    assert first["p999_s"] is None


def test_steps_that_repeat_different_ones_are_no_repeats_of_each_other(workspace: Workspace) -> None:
    """Two runs of a repeat t2 at the end, and one t4: a figure of control is never the median of all three."""
    for config in ("a", "b"):
        for repeat in (1, 2, 3):
            first, second = ("t2", "t4") if repeat < 3 else ("t4", "t2")
            rates = {first: 100, second: 160, "control": 1000 if repeat == 3 else 100 + repeat}
            write(workspace, Run(config, repeat=repeat, minute=10 * repeat + (config == "b")), rates)
    lake = reader.lake(workspace)
    rates = answer(lake, "step_throughput").filter(dbms="system.a", kind="control")
    assert sorted(rates.select("step", "repeat").rows()) == [("control.t2", 1), ("control.t2", 2), ("control.t4", 3)]
    table = Parsed(ib.requesters_table(answer(lake, "linkbench_summary"), "system.a"))
    heads = next(row for row in table.rows if "control.t2" in row)
    (base,) = [row for row in table.rows if row[0].startswith("system.a") and len(row) == len(heads)]
    assert base[heads.index("control.t2")].startswith("1,010") and base[heads.index("control.t4")].startswith("10,000")
    ratios = against_base(answer(lake, "linkbench_summary"), "system.a", ["ops_per_s"])
    assert ratios["cached", "control.t4", "ops_per_s", "system.b"].low is None, "one run of each: no interval"
    checks = answer(lake, "checks")
    assert not checks.select("step", "rule").is_duplicated().any(), "a row for each step and check, whatever the order"


def test_outcomes_and_the_mix_that_was_wanted(lake: Any) -> None:
    outcomes = answer(lake, "linkbench_outcomes").filter(step="t4")
    rows = {row[0]: row[1:] for row in Parsed(ib.outcomes_table(outcomes)).rows}
    assert rows["update_link: shown"] == ["100.00", "100.00"] and rows["get_links_list: 1"] == ["100.00", "100.00"]
    operations = answer(lake, "linkbench_operations").filter(dbms="system.a", step="t2")
    assert operations["wanted"].to_list() == pytest.approx(list(MIX.values()))


def test_a_percentile_of_too_few_responses_is_not_said_to_be_not_captured(workspace: Workspace) -> None:
    write(workspace, Run("a"), {"t2": 600})
    write(workspace, Run("a", repeat=2, minute=1), {"t2": 200})
    table = Parsed(ib.linkbench_operations_table(answer(reader.lake(workspace), "linkbench_operations")))
    (row,) = [row for row in table.rows if row[0] == "add_link"]
    assert row[10] == "0.50 (1 of 2 with too few responses)"
