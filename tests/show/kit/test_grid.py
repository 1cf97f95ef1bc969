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


def test_a_rank_is_said_behind_the_figure_and_that_of_the_ratio_behind_the_ratio() -> None:
    cells = [
        Cell("900\n0.82x [0.70, 0.97]", "top", "below"),
        Cell("800\n1.00x", "bottom"),
        Cell("700\n1.20x", below="above"),
    ]
    grid = Grid("t", "Rates", "dbms", ["a", "b", "c"], rows=[("a", cells)], notes=["above, below: of the ratio."])
    drawn = grid_of(grid.data).markup()
    both = '<td data-mark="top">900 top\n<span data-mark="below">0.82x<i> [0.70, 0.97]</i> below</span></td>'
    assert both in drawn and '<td data-mark="bottom">800 bottom\n1.00x</td>' in drawn
    assert '<td>700\n<span data-mark="above">1.20x above</span></td>' in drawn and "above, below: of" in drawn
    grid.rows = [("a", [Cell("1", "top")] * 3)]
    assert "above, below" not in grid.markup()
