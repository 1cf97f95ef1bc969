"""Sentences about LinkBench: its size, checks, drift and warm-up."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.show.parsed import Parsed
from tests.synthetic import Run, answer
from tests.workloads.linkbench.results.runs import write

pytestmark = pytest.mark.lake


def test_repeats_take_the_steps_in_orders_of_their_own_and_control_is_held_against_the_first_of_its_run(
    workspace: Workspace,
) -> None:
    write(workspace, Run("a"), {"t2": 100, "t4": 160, "control": 90})
    write(workspace, Run("a", minute=1, repeat=2), {"t4": 200, "t2": 120, "control": 100})
    summary = answer(reader.lake(workspace), "linkbench_summary")
    assert summary["step"].unique(maintain_order=True).to_list() == ["t2", "t4", "control.t2", "control.t4"]
    assert summary.filter(step="t2").select("repeat", "place").rows() == [(1, 1), (2, 2)]
    rows = {row[0]: row[1:] for row in Parsed(ib.drift_table(summary)).rows}
    assert rows["system.a r1"] == ["t2", "1,000", "900", "0.90x"]
    assert rows["system.a r2"] == ["t4", "2,000", "1,000", "0.50x"]


def test_the_first_screen_compares_no_control_step(workspace: Workspace) -> None:
    for minute, (config, rate) in enumerate((("a", 100), ("b", 50), ("a", 101), ("b", 51))):
        write(workspace, Run(config, minute=minute, repeat=1 + minute // 2), {"t2": rate, "control": rate})
    post = choose(reader.lake(workspace), "demo")
    (screen,) = ib.headline(post).items
    compared, _, ran = screen.markup.partition('class="ran"')
    assert '2 requesters<span class="code"> t2</span>, ops/s' in compared and "control" not in compared
    assert "control.t2" in ran
    rates = post.ask("step_throughput")
    assert set(rates.filter(~pl.col("compared"))["step"]) == {"control.t2"}
    assert ib.headline_statements(rates, post.bases) == ["Too few repeats to tell a difference from noise."]
    more = pl.concat([rates, rates.with_columns(repeat=pl.col("repeat") + 2)])
    said = " ".join(ib.headline_statements(more, post.bases))
    assert "t2" in said and "control" not in said


def test_the_servers_count_is_held_against_the_outcomes(lake: Any, workspace: Workspace) -> None:
    found = answer(lake, "linkbench_statements").filter(dbms="system.a", step="t2")
    assert found.select("statement", "sent", "unexplained").rows() == [
        ("SELECT", 1000, 5), ("INSERT", 1200, 0), ("UPDATE", 600, 0), ("DELETE", 200, 0), ("BEGIN", 600, 0),
        ("COMMIT", 600, 0), ("ROLLBACK", 0, 0),
    ]  # fmt: skip
    (said,) = ib.counted_statements(answer(lake, "linkbench_statements"))
    assert said.startswith("In 6 steps without repeats, the server counted exactly the statements")
    rows = {row[0]: row[1:] for row in Parsed(ib.statements_table(answer(lake, "linkbench_statements"))).rows}
    assert rows["UPDATE"][:3] == ["600", "600", "0"]
    known = pl.col("dbms").eq("system.b") & pl.col("step").eq("t4")
    unread = answer(lake, "linkbench_statements").with_columns(
        pl.when(known).then(None).otherwise(pl.col(column)).alias(column) for column in ("counted", "unexplained")
    )
    exact, others = ib.counted_statements(unread)
    assert exact.startswith("In 5 steps without repeats") and others == (
        "In 1 other step the server's counters were not read both before the first statement and after the last one, "
        "so they prove nothing: system.b r1 in t4 of cached."
    )
    (none,) = ib.counted_statements(unread.with_columns(counted=pl.lit(None, pl.Int64)))
    assert none.startswith("In 6 steps the server's counters were not read")
    (none,) = ib.counted_statements(
        unread.with_columns(counted=pl.lit(None, pl.Int64), counts_kinds=pl.lit(False)).filter(dbms="system.a")
    )
    assert none.startswith("system.a: the server does not count statements by kind, so it proves none of those")
    write(workspace, Run("c", minute=2), {"t2": 100}, wrong=3)
    said = ib.counted_statements(answer(reader.lake(workspace), "linkbench_statements"))[0]
    assert said.loud and "system.c, t2: the server counted 603 UPDATE, but the outcomes" in said


def test_what_is_said(lake: Any) -> None:
    size, verdict = ib.linkbench_statements(answer(lake, "linkbench_workload"), answer(lake, "checks"))
    assert "1,000 nodes and 4,000 links after the load" in size and "2 and 4 requesters in up to 2 processes" in size
    assert "(tables and statements of 2015, " in size, "not 2015 tables"
    assert verdict == (
        "Verdict: all 2 runs passed the checks after each step: the tables have as many rows as the acknowledged "
        "operations leave, as many links are visible as these operations leave and the counts of the checked nodes "
        "equal their links."
    )
    (drift,) = ib.drift_statements(answer(lake, "linkbench_summary"))
    assert "t2 was repeated at the end and reached 0.80 of its first rate with system.a" in drift


def test_a_drift_is_said_with_its_range_and_is_loud_if_it_is_large_in_one_run(workspace: Workspace) -> None:
    for repeat, control in ((1, 100), (2, 140), (3, 98)):
        write(workspace, Run("a", repeat=repeat, minute=repeat), {"t2": 100, "control": control})
    (drift,) = ib.drift_statements(answer(reader.lake(workspace), "linkbench_summary"))
    assert drift == (
        "Attention: cached: t2 was repeated at the end and reached 1.00 (0.98 to 1.40 in 3 runs) of its first rate "
        "with system.a."
    )


@pytest.mark.parametrize(
    ("checked", "proves"),
    [
        (1, "passed the checks after each step: the tables have as many rows as the acknowledged operations leave."),
        (0, "completed; it is not recorded which checks of the data were made."),
    ],
)
def test_the_verdict_names_only_what_was_checked(workspace: Workspace, checked: int, proves: str) -> None:
    write(workspace, Run("a"), {"t2": 100}, checked=checked)
    lake = reader.lake(workspace)
    _, verdict = ib.linkbench_statements(answer(lake, "linkbench_workload"), answer(lake, "checks"))
    assert verdict == f"Verdict: the run {proves}"


def test_a_step_that_is_not_warm_is_named() -> None:
    row = {"setup": "1x", "dbms": "system.a", "repeat": 1, "step_status": "complete", "kind": "requests"}
    tenths = [
        {**row, "step": "t2", "rates": [100.0, *[110.0] * 8, 115.0]},
        {**row, "step": "t4", "rates": [100.0] * 10},
        {**row, "step": "t8", "rates": None},
        {**row, "step": "load", "kind": "load", "rates": [100.0, *[50.0] * 9]},
    ]
    (said,) = ib.warm_statements(pl.DataFrame(tenths, strict=False))
    assert "not warmed up, or not steady" in said
    assert said.endswith("from that of the first by over 10 % (last / first): system.a r1 in t2 of 1x (1.15).")
    assert ib.warm_statements(pl.DataFrame(tenths[1:], strict=False)) == []
