"""Cells as blocks of a page: tables without what says nothing, and long sentences once."""

from __future__ import annotations

import json
import re
from typing import Any

from markupsafe import Markup
from nbformat.v4 import new_code_cell, new_output

from ibench_lib.publish.blocks import Blocks
from ibench_lib.show.kit.grid import GRID_MIME, Cell, Grid
from ibench_lib.show.kit.pieces import Html, Sentence

HOSTILE = ' headers="a" id="b" <td id="c">'


def block(**data: Any) -> str:
    output = new_output("display_data", data=data)  # type: ignore[no-untyped-call]
    cell = new_code_cell("x", outputs=[output])  # type: ignore[no-untyped-call]
    return "".join(Blocks().cell(cell))


def table() -> Grid:
    grid = Grid("t", "Rates", "dbms", ["median", "share"], spanners=[("rates", [0, 1])])
    grid.rows = [(f"{name} {HOSTILE}", [Cell("1,234", "good"), Cell("5 %")]) for name in ("a", "b")]
    return grid


def test_a_table_has_its_text_marks_and_scopes_and_no_ids_in_its_cells() -> None:
    lean = block(**{GRID_MIME: json.loads(json.dumps(table().data))})
    of_cells = re.findall(r"<t[hd]\b[^>]*>", lean)
    assert len(of_cells) == 2 + 2 + 2 * 3, "the title is no cell"
    assert not any(" headers=" in cell or " id=" in cell for cell in of_cells)
    assert sum('scope="row"' in cell for cell in of_cells) == 2 and 'scope="colgroup"' in lean
    assert lean.count("<td>") == 2 and lean.count('<td data-mark="good">') == 2
    assert f"a {Markup.escape(HOSTILE)}</th>" in lean
    assert 'rowspan="2"' in lean, "the head of the rows stands next to two rows of heads"


CHANCE = "If all configurations are equal, chance produces a difference in at most 6 % of cases."
BOUND = "‡ a, run: limited by the clients: client 1 terminal used 97 % of a core."


def noted(*notes: str) -> dict[str, Any]:
    grid = Grid("t", "Rates", "dbms", ["median"])
    grid.rows, grid.notes = [("a", [Cell("1")])], list(notes)
    return {GRID_MIME: grid.data}


def test_a_long_sentence_stands_once_in_a_page_and_is_linked_to_from_then_on() -> None:
    outputs = [
        Html("<ul>", Sentence(f"a is faster. {CHANCE}", '<a href="#evidence.x">x</a>'), "</ul>").bundle,
        noted(f"Up to 12 comparisons. {CHANCE}", BOUND, "Median of 3 runs."),
        noted(f"Up to 14 comparisons. {CHANCE}", BOUND, BOUND.replace("97", "98"), "Median of 3 runs."),
    ]
    made = [new_output("display_data", data=one) for one in outputs]  # type: ignore[no-untyped-call]
    page = "".join(Blocks().cell(new_code_cell("x", outputs=made)))  # type: ignore[no-untyped-call]
    assert page.count(CHANCE) == page.count(BOUND) == page.count(BOUND.replace("97", "98")) == 1
    links = re.findall(r'<a href="#(said[^"]*)">As above: “([^<]*) …”</a>', page)
    assert [text for _, text in links] == [
        CHANCE[: len(text)] if text[0] == "I" else BOUND[: len(text)] for _, text in links
    ]
    assert len(links) == 3
    for place, text in links:
        (said,) = re.findall(rf'<(?:li|span|p)[^>]* id="{place}">([^<]*)', page)
        assert text in said
    assert "Up to 12 comparisons" in page and "Up to 14 comparisons" in page and page.count("Median of 3 runs.") == 2
