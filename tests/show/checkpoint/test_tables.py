"""The table of redo logs that were full."""

from __future__ import annotations

import pytest

import ibench_lib as ib
from tests.shared import asked
from tests.show.filled import AT_SYNC, BELOW, FLUSHED, NOT_CAPTURED, run_with
from tests.show.parsed import Parsed

pytestmark = pytest.mark.lake


def test_what_there_was_none_of_is_told_from_what_was_not_captured() -> None:
    runs = [run_with(AT_SYNC), run_with(BELOW, "low"), NOT_CAPTURED]
    table = Parsed(ib.checkpoint_table(asked("checkpoint_limit", *runs, steps=["l.i1"])))
    assert table.of("system.full") == ["-", "101", "0", "33", "8", "2,500", "5,000", "0.50"]
    assert table.of("system.low") == ["-", "40", "0", "0", "none", "none", "4,167", "none"]
    assert table.of("system.none") == ["-"] * 8
    assert Parsed(ib.checkpoint_table(asked("checkpoint_limit", run_with(FLUSHED), steps=["l.i1"]))).of(
        "system.full"
    ) == ["80", "90", "33", "0", "none", "none", "4,167", "none"]
