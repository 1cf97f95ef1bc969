"""What two readings of the counters say of a step."""

from __future__ import annotations

import pytest

from ibench_lib.capture.step_counters import PEAK, counted, cumulative


def device(t_s: float, name: str, **columns: int | None) -> tuple[str, dict[str, object]]:
    return "device_samples", {"t_s": t_s, "device": name, "holds_data": True, "in_flight": 3, **columns}


def test_what_counts_is_kept_by_device_and_what_is_read_at_a_moment_is_not() -> None:
    found = cumulative([device(1.0, "sda", reads=5, flushes=None), device(1.5, "sdb", reads=7)])
    assert found == {("device", "sda", None, "reads"): (1.0, 5.0), ("device", "sdb", None, "reads"): (1.5, 7.0)}


def test_a_row_has_both_readings() -> None:
    start, end = (cumulative([device(t_s, "sda", reads=reads, writes=2)]) for t_s, reads in ((1.0, 5), (4.0, 25)))
    reads, writes = counted(start, end)
    assert reads == {
        "source": "device", "name": "sda", "counter": "reads", "start_s": 1.0, "start_value": 5.0, "end_s": 4.0,
        "end_value": 25.0,
    }  # fmt: skip
    assert (writes["start_value"], writes["end_value"]) == (2.0, 2.0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"pid": 7, "cpu_user_s": 5.0}, {"pid": 8, "cpu_user_s": 9.0}),  # another process, which has used more
        ({"pid": 7, "cpu_user_s": 5.0}, {"pid": 7, "cpu_user_s": 4.0}),
        ({"pid": 7}, {"pid": 7, "cpu_user_s": 4.0}),  # not known at the start
        ({"pid": 7, "cpu_user_s": 5.0}, {"pid": 7}),
    ],
)
def test_what_is_no_difference_has_no_row(before: dict[str, float], after: dict[str, float]) -> None:
    start, end = (
        cumulative([("process_samples", {"t_s": t_s, **columns})]) for t_s, columns in ((1.0, before), (2.0, after))
    )
    assert list(counted(start, end)) == []


def test_a_peak_of_a_process_is_kept() -> None:
    start, end = (cumulative([("process_samples", {"t_s": t, "pid": 7, PEAK: 100.0 * t})]) for t in (1.0, 2.0))
    (row,) = counted(start, end)
    assert (row["source"], row["counter"], row["end_value"]) == ("process", PEAK, 200.0)
