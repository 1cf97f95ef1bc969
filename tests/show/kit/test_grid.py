"""Tables before they are drawn."""

import pytest

from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.theme import Mark

NOTE = "▲ costs more, ▼ costs less."


@pytest.mark.parametrize(("mark", "is_there"), [(None, False), ("status", False), ("good", True), ("bad", True)])
def test_a_note_on_marks_stands_only_below_a_table_that_has_one(mark: Mark | None, is_there: bool) -> None:
    grid = Grid("t", "Costs", "dbms", ["us"])
    grid.rows, grid.notes = [("a", [Cell("1", mark)])], [NOTE, "Median of 3 runs. ▲ is no mark here."]
    drawn = grid.markup()
    assert (NOTE in drawn) == is_there and "Median of 3 runs. ▲" in drawn
