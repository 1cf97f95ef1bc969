"""Seconds of a program that counts exactly."""

from typing import Any

import pytest

from ibench_lib.client.intervals import CountedSeconds, IntervalCount, Unreadable


def event(start_s: float, end_s: float, count: int, **more: Any) -> IntervalCount:
    return IntervalCount(operation="event", start_s=start_s, end_s=end_s, count=count, **more)


def made(*readings: IntervalCount, arrived_s: float = 100.0) -> tuple[CountedSeconds, list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    seconds = CountedSeconds(rows.append)
    for reading in readings:
        seconds.add([reading], arrived_s)
    seconds.finish()
    return seconds, rows


def test_an_interval_belongs_whole_to_the_second_of_its_middle() -> None:
    seconds, rows = made(event(0.0, 1.003, 7), event(1.003, 1.998, 9), event(1.998, 3.001, 4), event(3.001, 3.05, 2))
    assert [(row["second"], row["ops"]) for row in rows] == [(0, 7), (1, 9), (2, 4), (3, 2)]
    assert (seconds.ops, seconds.end_s, seconds.long_s) == (22, 3.05, [])


def test_what_ends_in_the_same_second_is_one_row() -> None:
    most = event(0.0, 0.9, 7, errors=1, retries=0, bins={3: 7})
    _, rows = made(most, event(0.9, 0.95, 2, errors=0, retries=2, bins={3: 1, 5: 1}))
    (row,) = rows
    assert (row["ops"], row["errors"], row["retries"]) == (9, 1, 2)
    assert (row["service_bins"], row["service_counts"]) == ([3, 5], [8, 1])


def test_operations_have_rows_of_their_own_and_what_one_lacks_is_named() -> None:
    rows: list[dict[str, Any]] = []
    seconds = CountedSeconds(rows.append)
    read = IntervalCount(operation="read", start_s=0.0, end_s=1.0, count=30)
    seconds.add([event(0.0, 1.0, 3, errors=0, retries=1, bins={2: 3}, intended=True), read], 1.0)
    seconds.finish()
    by_name = {row["operation"]: row for row in rows}
    assert (by_name["event"]["intended_bins"], by_name["event"]["intended_counts"]) == ([2], [3])
    assert by_name["event"]["service_bins"] is None, "only the time since it was due is known"
    assert by_name["read"]["ops"] == 30 and by_name["read"]["errors"] is by_name["read"]["service_bins"] is None
    assert seconds.lacks >= {"errors", "retries", "bins"} and seconds.ops == 33 and seconds.retries == 1


def test_a_program_that_stood_still_has_all_of_it_in_the_last_second() -> None:
    seconds, rows = made(event(0.0, 1.0, 5), event(1.0, 4.2, 6), event(4.2, 5.0, 1))
    assert [(row["second"], row["ops"]) for row in rows] == [(0, 5), (4, 7)]
    assert seconds.long_s == [pytest.approx(3.2)]


def test_what_is_said_of_a_whole_run_has_no_second() -> None:
    seconds, rows = made(event(0.0, 12.5, 4000, by_second=False))
    assert rows == [] and (seconds.ops, seconds.end_s) == (4000, 12.5)


@pytest.mark.parametrize(
    ("reading", "why"),
    [
        (event(2.0, 3.0, -1), "a count of event is impossible"),
        (event(2.0, 3.0, 1 << 60), "a count of event is impossible"),
        (event(2.0, 3.0, 1, bins={4: -1}), "a count of event is impossible"),
        (event(3.0, 2.0, 1), "its interval is from 3 s to 2 s"),
        (event(2.0, 9.0, 1), "but it has run for 3.0 s"),
        (event(float("nan"), 3.0, 1), "its interval is from nan s"),
        (event(0.0, 1.0, 1), "its time does not go forward: 1 s comes after 2.9 s"),
    ],
)
def test_what_cannot_be_is_refused_and_what_came_before_is_kept(reading: IntervalCount, why: str) -> None:
    seconds, rows = made(event(1.0, 2.0, 20))
    with pytest.raises(Unreadable, match=why):
        seconds.add([event(2.0, 2.9, 5), reading], 3.0)
    seconds.finish()
    assert seconds.ops == sum(row["ops"] for row in rows) == 25
