"""Which macros questions share, and a table in the place of a macro."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from ibench_lib.ask.selection import choose
from ibench_lib.ask.shared import KEPT, ask_alone, read_kept, shared, work_out
from ibench_lib.store import reader
from ibench_lib.store.narrow import narrowed
from tests.shared import lake_of
from tests.synthetic import Run


def test_a_macro_is_shared_if_questions_use_it_more_than_once() -> None:
    assert "rated_seconds" not in shared(["steadiness"])["steadiness"]
    both = shared(["dips", "steadiness"])
    assert {"whole_seconds", "rated_seconds"} <= set(both["dips"]) & set(both["steadiness"])
    assert both["dips"] == sorted(both["dips"], key=KEPT.index), "each after those that it is made of"
    assert shared(["known_runs"]) == {"known_runs": []}


@pytest.mark.lake
def test_a_macro_gives_what_is_kept_on_one_connection_alone() -> None:
    run = Run()
    lake = lake_of(run)
    one, other = narrowed(lake, [run.run_id]), narrowed(lake, [run.run_id])
    work_out(one, "whole_seconds", "temp.kept_whole_seconds", [run.run_id], ["l.i1"])
    read_kept(one, "whole_seconds", "temp.kept_whole_seconds")
    asked = {"runs": [run.run_id], "steps": []}
    assert reader.question(one, "steadiness", **asked)["step"].to_list() == ["l.i1"]
    assert len(reader.question(other, "steadiness", **asked)) == 4


@pytest.mark.lake
def test_a_question_that_is_asked_alone_is_worked_out_in_parts_and_has_the_same_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run()
    lake, worked_out = lake_of(run), list[str]()
    asked = {"runs": [run.run_id], "steps": ["l.i1"]}

    def noting(connection: duckdb.DuckDBPyConnection, macro: str, *others: Any) -> None:
        worked_out.append(macro)
        work_out(connection, macro, *others)

    monkeypatch.setattr("ibench_lib.ask.shared.work_out", noting)
    found = ask_alone(lake, "metric_values", asked)
    assert found is not None and found.equals(reader.question(lake, "metric_values", **asked)) and len(found) > 20
    assert worked_out == list(KEPT), "it uses all of them, each after those that it is made of"
    assert ask_alone(lake, "gaps", asked) is None, "it uses only what is quicker to work out again"
    assert ask_alone(lake, "known_runs", {}) is None


@pytest.mark.lake
def test_what_cannot_be_worked_out_is_asked_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise duckdb.OutOfMemoryException("no room")

    monkeypatch.setattr("ibench_lib.ask.shared.work_out", full)
    chosen = choose(lake_of(Run()), "demo")
    assert ask_alone(chosen.lake, "steadiness", {"runs": chosen.run_ids, "steps": []}) is None
    assert len(chosen.ask("steadiness")) == 4
