"""The tables of an explanation."""

from __future__ import annotations

import pytest

import ibench_lib as ib
from ibench_lib.show.kit.grid import Grid
from tests.analysis.explaining import ENGINE, pair_runs, slowed
from tests.analysis.test_explain import explained
from tests.show.parsed import Parsed

pytestmark = pytest.mark.slow


def rows(table: Grid | None) -> dict[str, list[str]]:
    """Head of each row -> its cells."""
    assert table is not None
    return {head: cells for head, *cells in Parsed(table).rows}


def test_costs_are_marked_where_they_are_beyond_noise() -> None:
    found = explained(*pair_runs(ENGINE, slowed(ENGINE, "rec_get_offsets", 2), user=(8.0, 9.43)))
    costs = rows(ib.self_costs(found))
    a, b, change, share_a, share_b, part, note = costs["rec_get_offsets_func"]
    assert (a, b, share_a, share_b, part, note) == ("71.5", "143", "14.3", "25.0", "record layer", "")
    assert change.startswith("+71.5 [") and change.endswith(" more")
    assert not costs["MYSQLparse"][2].endswith((" more", " less"))
    parts = rows(ib.subsystem_costs(found))
    assert parts["all"][:2] == ["500", "572"] and parts["record layer"][2].endswith(" more")
    assert rows(ib.inclusive_costs(found))["btr_cur_optimistic_insert"][2].endswith(" more")


def test_the_rate_and_its_terms() -> None:
    found = explained(*pair_runs(None, None))
    assert rows(ib.rate_terms(found))["inserts/s"] == ["2,000/s", "2,000/s", "1.00x [1.00, 1.00]"]
    parts = rows(ib.cpu_parts(found))
    assert parts["server, kernel"][:2] == ["100", "100"]
    assert parts["everything else on the host"][3] == "by difference"
    assert ib.response_parts(found) is None and ib.self_costs(found) is None and ib.subsystem_costs(found) is None
