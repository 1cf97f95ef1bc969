"""Which macros questions share, and a table in the place of a macro."""

from __future__ import annotations

import pytest

from ibench_lib.ask.shared import KEPT, read_kept, shared, work_out
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
