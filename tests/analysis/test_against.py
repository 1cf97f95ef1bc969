"""Every dbms against the base."""

from __future__ import annotations

import polars as pl
import pytest

from ibench_lib.analysis.against import against_base
from tests.show.saying import frame_of

pytestmark = pytest.mark.lake


def test_all_dbms_of_a_step_tell_the_noise_and_are_judged_together() -> None:
    frame = frame_of("throughput", base=[100, 101, 102], slow=[80, 81, 82], even=[100, 102, 103], one=[50])
    found = {name: of for (*_, name), of in against_base(frame, "base", ["throughput"]).items()}
    assert {name: of.verdict for name, of in found.items()} == {"slow": "worse", "even": "same", "one": "worse"}
    assert found["slow"].comparisons == found["even"].comparisons == 2, "one run is not judged"
    assert found["one"].low is None and found["one"].p is None
    assert found["even"].detectable is not None and found["even"].is_even
    alone = against_base(frame.filter(pl.col("dbms") != "even"), "base", ["throughput"])
    assert alone["cached", "l.i1", "throughput", "slow"].comparisons == 1


def test_steps_of_less_than_a_second_are_not_among_the_comparisons() -> None:
    steps = [
        frame_of("throughput", step, base=[100, 101, 102], other=[90, 91, 92]).with_columns(duration_s=pl.lit(seconds))
        for step, seconds in (("l.i0", 0.5), ("l.i1", 30.0))
    ]
    found = against_base(pl.concat(steps), "base", ["throughput"])
    assert {of.comparisons for of in found.values()} == {1} and len(found) == 2


@pytest.mark.parametrize("base", [[0.0, 0.0, 0.0], [None, None, None]])
def test_without_a_base_there_is_no_ratio(base: list[float | None]) -> None:
    assert against_base(frame_of("throughput", base=base, other=[1, 2, 3]), "base", ["throughput"]) == {}


def test_a_zero_among_the_values_leaves_the_range() -> None:
    found = against_base(frame_of("rpq", base=[2, 2, 2], other=[0, 0, 0]), "base", ["rpq"])
    ratio = found["cached", "l.i1", "rpq", "other"]
    assert (ratio.value, ratio.low, ratio.high) == (0, 0, 0) and ratio.p is not None


def test_steps_whose_throughput_is_no_result_are_no_repeats() -> None:
    """They tell nothing of the noise of the others, are not judged with them, and have their own noise."""
    measured = [
        frame_of("throughput", step, base=[100, 101, 102], slow=[80, 81, 82], even=[100, 102, 103])
        for step in ("l.i0", "l.i1")
    ]
    before = frame_of("throughput", "l.x", base=[100, 160, 220], slow=[90, 190, 95], even=[200, 90, 100])
    measured = [frame.with_columns(compared=pl.lit(True)) for frame in measured]
    warm_up = before.with_columns(compared=pl.lit(False))
    without = against_base(pl.concat(measured), "base", ["throughput"])
    with_it = against_base(pl.concat([*measured, warm_up]), "base", ["throughput"])
    assert without and {place: of for place, of in with_it.items() if place in without} == without
    alone = against_base(warm_up, "base", ["throughput"])
    assert {place: of for place, of in with_it.items() if place not in without} == alone
    assert {of.comparisons for of in alone.values()} == {2} and not any(of.is_clear for of in alone.values())
