"""Seconds with a full redo log, and the rate in them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.shared import asked
from tests.show.filled import AT_LIMIT, AT_SYNC, BELOW, FLUSHED, NOT_CAPTURED, level, run_with
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def found_of(run: Run) -> dict[str, Any]:
    return asked("checkpoint_limit", run, steps=["l.i1"]).row(0, named=True)


@pytest.mark.parametrize(("columns", "share"), [(AT_SYNC, 168 / 167), (AT_LIMIT, 0.99)], ids=["sync", "limit"])
def test_a_full_log_is_found_with_the_rates_in_it_and_outside(
    columns: dict[str, tuple[int | None, ...]], share: float
) -> None:
    found = found_of(run_with(columns))
    assert found["highest_age_share"] == pytest.approx(share)
    assert (found["sampled_seconds"], found["full_log_seconds"], found["full_from_s"]) == (12, 4, 8)
    # Two of the four seconds are a stall.
    assert found["rate_full"] == pytest.approx(found["rate_else"] / 2)


def test_flushing_for_a_checkpoint_is_counted_apart_from_a_full_log() -> None:
    found = found_of(run_with(FLUSHED))
    assert found["highest_age_share"] == pytest.approx(0.9) and found["limit_share"] == pytest.approx(0.8)
    assert (found["full_log_seconds"], found["full_from_s"], found["flushed_seconds"]) == (0, None, 4)
    full = found_of(run_with(AT_SYNC))
    assert (full["flushed_seconds"], full["limit_share"]) == (0, None)


def test_what_was_never_full_or_never_captured_has_no_such_rate() -> None:
    below = found_of(run_with(BELOW))
    assert (below["highest_age_share"], below["full_log_seconds"], below["full_from_s"]) == (0.4, 0, None)
    assert below["rate_full"] is None and below["rate_else"] > 0
    without = found_of(NOT_CAPTURED)
    names = ("highest_age_share", "sampled_seconds", "full_log_seconds", "rate_full", "rate_else")
    assert [without[name] for name in names] == [None] * len(names)
    some = found_of(run_with({**AT_SYNC, "checkpoint_age_bytes": level(168, None)}))
    assert (some["sampled_seconds"], some["full_log_seconds"], some["rate_else"]) == (4, 4, None)
