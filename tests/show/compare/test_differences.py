"""The list of what differs between two dbms."""

from __future__ import annotations

import re
from typing import Any

import pytest

import ibench_lib as ib
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.ask.pairs import of_step, pair_of, repeated, said
from tests.show.parsed import Parsed
from tests.show.saying import made_of
from tests.synthetic import Run, begin_run, end_run, three_configurations, write_runs

pytestmark = pytest.mark.lake


@pytest.mark.long
@pytest.mark.slow
def test_without_two_dbms_there_is_a_sentence() -> None:
    pair = pair_of()
    assert (pair.base, pair.other) == ("", "")
    assert said(ib.differences(pair)) == ["There is no run yet, so there is nothing to compare."] == [pair.nothing("x")]
    assert ib.left_out(pair).markup == ""
    pair = pair_of(Run())
    only = "There is only one dbms here, system.cy10a, so there is nothing to compare it with."
    assert said(ib.differences(pair)) == [only] == [pair.nothing("No option differs.")]
    assert pair.metrics().is_empty() and pair.responses().is_empty()
    io = Run("io", minute=1, setup="io_bound")
    pair = pair_of(Run(), io)
    assert pair.nothing("Nothing differs.") == "The two dbms have no common setup, so there is nothing to compare."
    assert pair_of(Run(), io, Run("b", minute=2), b="system.b").nothing("Nothing differs.") == "Nothing differs."


@pytest.mark.slow
def test_one_run_a_side_says_that_the_noise_is_unknown() -> None:
    pair = pair_of(*three_configurations())
    table = Parsed(ib.metrics_side_by_side(pair.metrics().filter(step="qr100"), pair.base, pair.other))
    assert table.of("queries/s") == ["1,000", "500", "0.50", "one run", "noise unknown", ""]
    assert any("the noise is unknown, so there is no verdict" in row[0] for row in table.rows)
    lines = said(ib.differences(pair))
    assert lines[0] == "A is system.cy10a (1 run); B is system.cy10ap1 (1 run)."
    assert "a side has only one run: the noise is unknown, and nothing there counts as a difference" in lines[1]
    assert lines[2] == "The ratios furthest from 1, which may be noise:"
    assert lines[3] == "cached, qr100: queries/s: A 1,000, B 500; B / A 0.50."
    assert "cached, qr100: get_min (s): A 0.00200, B 0.500; B / A 250." in lines
    assert not any(re.search("better|worse|differ clearly", line) for line in lines)


@pytest.mark.long
@pytest.mark.slow
def test_a_step_that_a_side_did_not_complete_is_a_word_in_the_table_and_a_sentence(workspace: Workspace) -> None:
    failed = Run("x", minute=1, status="failed", failed_step="l.i1", error="lost", steps=("l.i0", "l.x", "l.i1"))
    live = Run("live", minute=2, status="running", steps=("l.i0",))
    pair = pair_of(Run(), failed)
    frame = pair.metrics()
    table = Parsed(ib.metrics_side_by_side(frame.filter(step="l.i1"), pair.base, pair.other))
    assert table.of("inserts/s") == ["5,000", "failed", "", "", "", ""]
    table = Parsed(ib.metrics_side_by_side(frame.filter(step="l.i0"), pair.base, pair.other))
    assert table.of("inserts/s") == ["2,000", "2,000 †", "1.00", "one run", "noise unknown", ""]
    figure = ib.ratio_chart(frame.filter(step="l.i0"), pair.base, pair.other)
    assert "inserts/s †" in figure.data[0].y
    lines = said(ib.differences(pair))
    assert lines[0] == "A is system.cy10a (1 run); B is system.x (1 run, 1 failed)."
    assert lines[-3:] == [
        "† of a run that did not complete.",
        "cached, l.i1: not compared (B: failed).",
        "cached, qr100: not compared (B: not run).",
    ]
    write_runs(workspace, Run(), failed)
    writer = begin_run(workspace, live, sealed=())
    pair = ib.pair(ib.choose(reader.lake(workspace), "demo"), "system.x", "system.live")
    table = Parsed(ib.metrics_side_by_side(pair.metrics().filter(step="l.i1"), pair.base, pair.other))
    assert table.of("all") == ["failed", "not begun", "", "", "", ""]
    lines = said(ib.differences(pair))
    assert "cached, l.i1: not compared (A: failed; B: not begun)." in lines
    first_two = ib.pair(ib.choose(reader.lake(workspace), "demo"))
    assert said(ib.differences(first_two))[-1] == "Also selected, but not compared: system.live (running)."
    end_run(writer, live)


@pytest.mark.slow
def test_a_missed_target_and_a_limit_of_the_clients_stand_below_the_table() -> None:
    slow = Run("b", minute=1, background_rows=900, client_bound="a querier used 97 % of a core")
    pair = pair_of(Run(), slow)
    table = Parsed(ib.metrics_side_by_side(pair.metrics().filter(step="qr100"), pair.base, pair.other))
    notes = " ".join(row[0] for row in table.rows)
    assert "B, qr100: 1 of 1 run missed a target rate." in notes and "A, qr100" not in notes
    assert "limited by the clients: a querier used 97 % of a core" in notes
    assert table.of("queries/s")[1] == "1,000 ‡"
    lines = said(ib.differences(pair))
    assert "B, qr100: 1 of 1 run missed a target rate." in lines
    assert "‡ system.b, qr100: limited by the clients: a querier used 97 % of a core." in lines


@pytest.mark.long
@pytest.mark.slow
def test_the_list_names_rates_first_and_what_chance_would_do() -> None:
    runs = repeated("a", "b", l_i1_s=20, queries=4000, history_list=(10, 20, 300, 5))
    pair = pair_of(*runs)
    lines = said(ib.differences(pair))
    assert lines[0] == "A is system.a (3 runs); B is system.b (3 runs)."
    judged = [one for step in ("l.i0", "l.x", "l.i1", "qr100") for one in of_step(pair, step).values() if one.verdict]
    beyond = [one for one in judged if one.verdict in ("better", "worse", "more", "less")]
    assert [(one.label, one.verdict) for one in beyond] == [
        ("inserts/s", "worse"), ("deletes/s", "worse"), ("rate p50", "worse"), ("rate p99", "worse"),
        ("history list length", "better"),
        ("queries/s", "worse"), ("rate p50", "worse"), ("rate p99", "worse"), ("client CPU/op", "worse"),
    ]  # fmt: skip
    assert lines[1].startswith(f"9 of {len(judged)} comparisons differ clearly: ")
    assert "The metrics of a table are judged together." in lines[1] and "(Benjamini and Hochberg)" in lines[1]
    assert "Half of the comparisons would find a change of 6 % (about 80 % power)." in lines[1]
    assert lines[3:] == [
        "cached, l.i1: inserts/s: A 5,000, B 2,500; B / A 0.50 [0.50, 0.50], worse.",
        "cached, l.i1: deletes/s: A 5,000, B 2,500; B / A 0.50 [0.50, 0.50], worse.",
        "cached, qr100: queries/s: A 1,000, B 800; B / A 0.80 [0.80, 0.80], worse.",
        "cached, l.i1: history list length: A 30,000, B 300; B / A 1/100 [1/100, 1/99.8], better.",
        "cached, l.i1: rate p50: A 5,000, B 2,500; B / A 0.50 [0.50, 0.50], worse.",
        "cached, l.i1: rate p99: A 5,000, B 2,500; B / A 0.50 [0.50, 0.50], worse.",
        "cached, qr100: client CPU/op (us): A 600.0, B 750.0; B / A 1.25 [1.25, 1.25], worse.",
        "cached, qr100: rate p50: A 1,000, B 800; B / A 0.80 [0.80, 0.80], worse.",
        "cached, qr100: rate p99: A 1,000, B 800; B / A 0.80 [0.80, 0.80], worse.",
    ]


def test_history_lists_of_two_flavours_are_not_compared(workspace: Workspace) -> None:
    def flavours(manifest: dict[str, Any]) -> None:
        manifest["server"]["flavour"] = {"a": "mysql", "b": "mariadb"}[manifest["cell"]["config"]]

    made_of(workspace, Run("a"), Run("b", minute=1, history_list=(10, 20, 300, 5)), change=flavours)
    pair = ib.pair(ib.choose(reader.lake(workspace), "demo"))
    assert "hll" not in set(pair.metrics()["metric"])
    line = "History list lengths are not compared: flavours of servers count them differently."
    assert line in said(ib.differences(pair))
    alike = pair_of(Run("a"), Run("b", minute=1, history_list=(10, 20, 300, 5)))
    assert "hll" in set(alike.metrics()["metric"]) and line not in said(ib.differences(alike))


def test_a_server_without_a_history_list_has_none_that_could_be_counted_differently(workspace: Workspace) -> None:
    none = (None,) * 4
    runs = (Run("a", flavour="mysql"), Run("b", flavour="postgres", minute=1, history_list=none))  # type: ignore[arg-type]
    made_of(workspace, *runs)
    pair = ib.pair(ib.choose(reader.lake(workspace), "demo"))
    assert "History list" not in " ".join(said(ib.differences(pair)))
