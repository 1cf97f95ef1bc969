"""Tables of what moved in stalls."""

from __future__ import annotations

import html
import re

import pytest

import ibench_lib as ib
from ibench_lib.paths import Workspace
from tests.show.stalled import l_i1

pytestmark = pytest.mark.lake


def test_the_tables_say_what_moved(place: Workspace) -> None:
    chosen = l_i1(place)
    company, steadiness = chosen.ask("stall_company"), chosen.ask("steadiness")
    moved, still = (
        ib.stall_company_table(company.filter(dbms=dbms), steadiness=steadiness).html()
        for dbms in ("system.slow", "system.x")
    )
    assert text_rows(moved) == {"server pages written/s": ["325", "117", "2.79x", "100 to 100"]}
    assert "Not captured, or without a value in or outside the stalls: " in moved and "server redo lsn bytes" in moved
    assert "What changed in the stalls of l.i1: system.x (failed), cached" in still
    assert list(text_rows(still)) == ["nothing beyond its usual range"]


def text_rows(markup: str) -> dict[str, list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", markup, re.DOTALL)
    cells = [
        [html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)]
        for row in rows
    ]
    return {row[0]: row[1:] for row in cells if len(row) > 1}
