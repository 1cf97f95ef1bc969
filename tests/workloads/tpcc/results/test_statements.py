"""Sentences about TPC-C: what paces it, its checks, waves and response times."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.workloads.tpcc.workload import WORKLOAD
from tests.places import ROOT
from tests.show.parsed import Parsed
from tests.synthetic import BIN_2_S, Run, answer
from tests.workloads.tpcc.results.runs import KIND, said_of, square, write
from tests.workloads.tpcc.warehouse import options, setup

pytestmark = pytest.mark.lake


def test_a_rate_that_falls_for_good_is_no_wave_and_is_said(workspace: Workspace) -> None:
    write(workspace, Run("steady"), [100] * 60)
    write(workspace, Run("steady", repeat=2, minute=1), [100] * 60)
    for repeat, low in ((1, 40), (2, 50)):
        write(workspace, Run("full", repeat=repeat, minute=1 + repeat), [100] * 20 + [low] * 40)
    for repeat, low in ((1, 40), (2, 95)):
        write(workspace, Run("once", repeat=repeat, minute=4 + repeat), [100] * 20 + [low] * 40)
    waves, fell = ib.wave_statements(answer(reader.lake(workspace), "tpcc_stability"))
    assert waves == "cached, run: the rate of transactions had no wave."
    assert fell == (
        "Attention: cached, run: the rate was lower in the last third than in the first, "
        "with system.full (0.40x to 0.50x)."
    )


def test_time_in_waves_is_the_median_that_the_table_has(workspace: Workspace) -> None:
    for repeat, low_for in ((1, 0), (2, 1), (3, 4)):
        write(workspace, Run("a", repeat=repeat, minute=repeat), square(100, 30, 12, low_for, 66, first=6))
    frame = answer(reader.lake(workspace), "tpcc_stability")
    (rows,) = [row for row in Parsed(ib.waves_table(frame)).rows if row[0] == "system.a"]
    (said,) = ib.wave_statements(frame)
    assert "system.a (waves in 2 of 3 runs, 5 each, " in said and rows[6] == "7.6"
    assert said.endswith(f", {rows[6]} % of the time in the median run).")


def test_what_is_said(workspace: Workspace) -> None:
    write(workspace, Run("a"), [100] * 60)
    write(workspace, Run("b", minute=1), square(60, 20, 12, 4, 66, first=6), repeats={"deadlocks": 2})
    lake = reader.lake(workspace)
    first, *_, verdict = said_of(lake)
    assert first.startswith("cached: 2 warehouses, 8 terminals in 1 process (profile standard, repeatable read")
    assert verdict == (
        "Verdict: all 2 runs passed these checks after the run: all consistency conditions of TPC-C "
        "that were checked (C1 to C12) and the ledger of acknowledged transactions."
    )
    summary = answer(lake, "tpcc_summary")
    (said,) = ib.notpm_statements(summary, "system.a")
    other = summary.filter(dbms="system.b")["notpm"][0]
    assert said == f"cached: system.a ran 6,000 new orders per minute (NOTPM), the other one {other:,.0f}."
    late = pl.when(dbms="system.b").then(pl.lit("busy"))
    third = pl.concat([summary, summary.filter(dbms="system.b").with_columns(dbms=pl.lit("system.c"), notpm=900.0)])
    (said,) = ib.notpm_statements(third.with_columns(client_bound=late), "system.a")
    assert said.endswith(f", the 2 others 900 to {other:,.0f} (system.b: limited by the clients).")
    (waves,) = ib.wave_statements(answer(lake, "tpcc_stability"))
    assert "recovered: system.b (" in waves and "67 % deep, about 12 s apart" in waves and "system.a" not in waves
    repeated = ib.transaction_statements(answer(lake, "tpcc_types"))
    assert any("system.b (2 deadlocks in " in text for text in repeated)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "as fast as possible, without thinking"),
        ({"rate": 1500.0}, "1,500 transactions/s"),
        ({"think_time": 0.1}, "keying and think times 0.1 times those of TPC-C"),
    ],
)
def test_a_page_says_what_paces_the_terminals(workspace: Workspace, more: dict[str, Any], said: str) -> None:
    write(workspace, Run(), [100] * 10, more=more)
    first, *_ = said_of(reader.lake(workspace))
    assert f", {said}); " in first


def test_only_terminals_whose_decks_are_known_are_said_to_have_them() -> None:
    shares = "new order (10), payment (10), order status (1), delivery (1) and stock level (1)"
    deck = f"shuffled deck of 23 transactions: {shares}"
    ours = {"setup": "ours", "profile": "standard", "weights": [10, 10, 1, 1, 1], "deviations": "[]"}
    drawn = {**ours, "setup": "drawn", "profile": "sysbench_tpcc", "deviations": '[{"what": "types", "here": "drawn"}]'}
    imported = {**ours, "setup": "c16", "profile": "tpcc_mysql", "weights": None}

    def said(*rows: dict[str, Any]) -> list[str]:
        return ib.deck_statements(pl.DataFrame(rows, schema_overrides={"weights": pl.List(pl.Int64)}))

    assert said(ours) == [f"Each terminal is a connection, and goes through a {deck}."]
    assert said(ours, imported) == [f"ours: each terminal is a connection, and goes through a {deck}."]
    assert said(imported) == []
    (first, second) = said(ours, drawn)
    assert "deck" in first and second.startswith("drawn: ") and "deck" not in second
    (weighed,) = said({**ours, "weights": [2, 1, 1, 1, 1]})
    assert "deck of 6 transactions: new order (2)" in weighed


def test_a_notebook_says_nothing_of_decks_by_itself() -> None:
    assert "deck" not in (ROOT / "notebooks/tpcc.ipynb").read_text().replace("ib.deck_statements", "")


@pytest.mark.parametrize(
    ("checked", "said"),
    [
        (["C1", "C2", "C3", "rows"], "checked (C1 to C3) and the number of rows of each table."),
        (["C1", "C5", "C6", "ledger"], "checked (C1 and C5 to C6) and the ledger of acknowledged transactions."),
        ([], "Verdict: the run completed; it is not recorded which checks of the data were made."),
    ],
)
def test_the_verdict_names_the_checks_that_were_made(workspace: Workspace, checked: list[str], said: str) -> None:
    write(workspace, Run(), [100] * 10, checked=checked)
    *_, verdict = said_of(reader.lake(workspace))
    assert said in verdict


@pytest.mark.parametrize(
    ("sets", "said"), [(1, "(C1 to C12, C4 to C12 of 10 drawn warehouses only)"), (2, "(C1 to C12)")]
)
def test_the_verdict_says_what_was_checked_of_drawn_warehouses_only(workspace: Workspace, sets: int, said: str) -> None:
    """As the workload describes itself: 21 warehouses in one set, or 10 in each of two."""
    size = setup(sets=sets, warehouses=21 if sets == 1 else 10)
    described = WORKLOAD.describe(options(), size, WORKLOAD.steps(options(), size, 1.0))
    more = {name: described[name] for name in ("drawn_conditions", "drawn_warehouses")}
    write(workspace, Run(), [100] * 10, more=more)
    *_, verdict = said_of(reader.lake(workspace))
    assert said in verdict


def test_a_run_from_a_snapshot_has_the_checks_of_the_load_in_the_run_that_loaded(workspace: Workspace) -> None:
    write(workspace, Run("a"), [100] * 10, step_id=1, loaded=["C1", "C11"], checked=["C1", "ledger"])
    write(workspace, Run("b", minute=1), [100] * 10, step_id=1, checked=["C1", "ledger"])
    *_, verdict = said_of(reader.lake(workspace))
    passed = "passed these checks after the run, as did the loaded tables before it (C11 after the load only): "
    assert f"{passed}the consistency conditions of TPC-C" in verdict
    lake = reader.lake(workspace)
    of_run = answer(lake, "checks").filter(step="run")
    *_, of_the_run = ib.tpcc_statements(answer(lake, "tpcc_workload"), of_run)
    assert "passed these checks after the run: " in of_the_run, "a page of the step run knows nothing of the load"
    assert verdict.endswith("that were checked (C1 and C11) and the ledger of acknowledged transactions.")
    write(workspace, Run("old", minute=2), [100] * 10, step_id=1, checked=[])
    *_, verdict = said_of(reader.lake(workspace))
    assert verdict == "Verdict: all 3 runs completed; it is not recorded which checks of the data were made."


def test_intended_times_of_paced_terminals_are_shown_and_judged(workspace: Workspace) -> None:
    write(workspace, Run("a"), [100] * 30, intended=BIN_2_S)
    write(workspace, Run("b", minute=1), [100] * 30)
    types = answer(reader.lake(workspace), "tpcc_types")
    of_a = types.filter(dbms="system.a", operation="payment").row(0, named=True)
    assert of_a["p90_s"] == pytest.approx(0.0005, rel=0.01)
    assert of_a["intended_p90_s"] == of_a["intended_p99_s"] == pytest.approx(2.06, rel=0.01)
    assert types.filter(dbms="system.b")["intended_p90_s"].null_count() == 5
    paced = Parsed(ib.transaction_types_table(types.filter(dbms="system.a")))
    (payment,) = (row for row in paced.rows if row[0] == "payment")
    assert payment[3:10] == ["0.5", "0.5", "0.5", "0.5", "0.5", "2,056.2", "2,056.2"]
    (plain,) = (
        row for row in Parsed(ib.transaction_types_table(types.filter(dbms="system.b"))).rows if row[0] == "payment"
    )
    assert len(plain) == len(payment) - 2
    strict = types.with_columns(limit_s=pl.lit(1.0))
    assert any("system.a (new order, payment" in text for text in ib.transaction_statements(strict))
    assert any("and stock level in 1 of 1 run)" in text for text in ib.transaction_statements(strict))
    assert not any("system.b (" in text for text in ib.transaction_statements(strict))


def test_a_type_over_its_limit_is_said_with_how_many_runs_have_it() -> None:
    def said(*p90_s: float) -> list[str]:
        rows = [
            {"setup": "s", "dbms": "a", "dbms_position": 1, "repeat": n, "run_id": f"r{n}", "run_status": "complete",
             "step_id": 1, "step": KIND, "step_status": "complete", "operation": kind, "p90_s": value,
             "intended_p90_s": None, "limit_s": 5, "done": 1, "deadlocks": 0, "lock_timeouts": 0, "changed": 0}
            for n, value in enumerate(p90_s, start=1) for kind in ("new_order", "payment")
        ]  # fmt: skip
        frame = pl.DataFrame(rows, schema_overrides={"intended_p90_s": pl.Float64})
        return [text for text in ib.transaction_statements(frame) if "over the limit" in text]

    assert said(4.0, 4.9, 0.1) == []
    assert said(10.4, 3.4, 0.1)[0].endswith("p90 is over the limit of TPC-C: a (new order and payment in 1 of 3 runs).")
    assert "in 3 of 3 runs" in said(10.4, 6.0, 5.1)[0]


def test_what_was_due_and_never_sent_is_counted(workspace: Workspace) -> None:
    """23 transactions a second are sent for ten new orders, of 30 that are due."""
    planned = {"resolved_steps": [{"name": KIND, "kind": KIND, "seconds": 10.0}]}
    write(workspace, Run("a"), [10] * 10, more=planned, intended=BIN_2_S, target=30.0)
    write(workspace, Run("b", minute=1), [10] * 10, more=planned, intended=BIN_2_S, target=23.0)
    found = dict(answer(reader.lake(workspace), "tpcc_types").select("dbms", "unsent_share").unique().iter_rows())
    assert found == {"system.a": pytest.approx(1 - 23 / 30), "system.b": 0.0}
