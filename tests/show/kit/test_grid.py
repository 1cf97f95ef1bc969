"""Tables before they are drawn."""

import pytest

from ibench_lib.show.kit.grid import Cell, Grid, grid_of
from ibench_lib.show.kit.theme import Mark

NOTE = "worse, better: than the base."


@pytest.mark.parametrize(("mark", "is_there"), [(None, False), ("status", False), ("good", True), ("bad", True)])
def test_a_note_on_marks_stands_only_below_a_table_that_has_one(mark: Mark | None, is_there: bool) -> None:
    grid = Grid("t", "Costs", "dbms", ["us"])
    grid.rows, grid.notes = [("a", [Cell("1", mark)])], [NOTE, "Median of 3 runs. Worse: no mark here."]
    drawn = grid.markup()
    assert (NOTE in drawn) == is_there and "Median of 3 runs. Worse" in drawn


def test_a_mark_is_said_by_the_word_of_its_table_behind_the_interval() -> None:
    grid = Grid("t", "Rates", "dbms", ["inserts/s"], rows=[("a", [Cell("900\n0.82x [0.70, 0.97]", "bad")])])
    assert '<td data-mark="bad">900\n0.82x<i> [0.70, 0.97]</i> worse</td>' in grid.markup()
    grid.words = {"bad": "slower"}
    assert "</i> slower</td>" in grid_of(grid.data).markup()
    grid.words = {}
    assert "</i></td>" in grid.markup(), "where the text says it itself"
