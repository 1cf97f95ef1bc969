from resource import RUSAGE_SELF, getrusage
from typing import Any

import pytest

from ibench_lib.client.driver import CHANGED, DEADLOCK, LOCK_TIMEOUT, RETRY_REASONS
from ibench_lib.client.load import totals
from ibench_lib.client.mysql.wire import refused
from ibench_lib.client.recorder import SECOND_NS, SecondRecorder
from ibench_lib.schema import OPS


def recorder(paced: bool = False, start_ns: int = 1_000) -> tuple[SecondRecorder, list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    return SecondRecorder(start_ns, paced=paced, emit=rows.append, operations=("insert",)), rows


def test_an_operation_counts_in_the_second_in_which_it_ended() -> None:
    recording, rows = recorder()
    recording.first.record(0, 0, 1_000 + SECOND_NS - 10, 1_000 + SECOND_NS + 5, rows=100)
    recording.finish(1_000 + SECOND_NS + 6)
    assert [(row["second"], row["ops"], row["rows"]) for row in rows] == [(0, 0, 0), (1, 1, 100)]
    assert rows[0]["service_max_us"] is None
    assert rows[1]["service_max_us"] == 0.015


def test_a_stall_of_three_seconds_is_three_rows_of_zeros_not_a_gap() -> None:
    recording, rows = recorder(start_ns=0)
    recording.first.record(0, 0, 0, 1_000_000, 1)
    recording.first.record(0, 0, 1_000_000, 4 * SECOND_NS + 1, 1)
    recording.finish(4 * SECOND_NS + 2)
    assert [(row["second"], row["ops"]) for row in rows] == [(0, 1), (1, 0), (2, 0), (3, 0), (4, 1)]
    assert rows[4]["service_max_us"] > 3_990_000


def test_what_is_in_flight_over_several_seconds_is_in_each_of_them() -> None:
    recording, rows = recorder(start_ns=0)
    half = SECOND_NS // 2
    flying: list[tuple[int, int]] = []  # sent, and answered or never
    recording.in_flight = lambda: [(recording.first, sent) for sent, _ in flying]
    for sent, answered in ((0, half), (half, half + 3 * SECOND_NS)):
        flying[:] = [(sent, answered)]
        recording.first.record(0, 0, sent, answered, 1)
    flying[:] = [(4 * SECOND_NS, 0)]
    recording.finish(5 * SECOND_NS + half)
    assert [(row["ops"], row["in_flight_us"]) for row in rows] == [
        (1, 1e6), (0, 1e6), (0, 1e6), (1, 0.5e6), (0, 1e6), (0, 0.5e6),
    ]  # fmt: skip


def test_unpaced_operations_have_no_intended_latency() -> None:
    recording, rows = recorder(start_ns=0)
    recording.first.record(123, 0, 0, 1_000_000, 1)
    recording.finish(2_000_000)
    assert rows[0]["intended_max_us"] is None
    assert rows[0]["intended_bins"] is None and rows[0]["intended_counts"] is None


def test_paced_operations_have_service_and_intended_latency() -> None:
    recording, rows = recorder(paced=True, start_ns=0)
    recording.first.record(1_000_000, 0, 3_000_000, 4_000_000, 1)
    recording.finish(5_000_000)
    assert rows[0]["service_max_us"] == 1_000
    assert rows[0]["intended_max_us"] == 3_000
    assert sum(rows[0]["intended_counts"]) == 1


def test_repeats_are_counted_by_their_reason() -> None:
    recording, rows = recorder(start_ns=0)
    for number, reason in enumerate((DEADLOCK, DEADLOCK, LOCK_TIMEOUT, CHANGED, DEADLOCK, CHANGED)):
        recording.first.record_retry(number * SECOND_NS // 2, reason)
    recording.finish(3 * SECOND_NS)
    names = ("retries", "deadlocks", "lock_timeouts", "changed")
    assert [tuple(row[name] for name in names) for row in rows] == [(2, 2, 0, 0), (2, 0, 1, 1), (2, 1, 0, 1)]
    assert recording.totals()["retries"] == 6


def test_all_reasons_to_repeat_an_operation_have_a_column_and_an_error_of_mysql() -> None:
    reasons = {code: refused(code, "").retry_reason for code in range(10_000)}
    assert {code: reason for code, reason in reasons.items() if reason} == {
        1020: CHANGED, 1205: LOCK_TIMEOUT, 1213: DEADLOCK,
    }  # fmt: skip
    assert set(RETRY_REASONS) == {CHANGED, LOCK_TIMEOUT, DEADLOCK} <= {column.name for column in OPS.columns}


def test_totals_are_the_sums_of_the_seconds() -> None:
    recording, rows = recorder(start_ns=0)
    for number in range(2_500):
        recording.first.record(0, 0, number * 1_000_000, number * 1_000_000 + 500_000, rows=50)
        if number % 2:
            recording.first.record_retry(number * 1_000_000 + 500_000, DEADLOCK)
    recording.first.record_error(2_600_000_000)
    recording.first.record_unknown(3_100_000_000)
    recording.finish(3_200_000_000)
    names = ("ops", "rows", "errors", "retries", "unknown")
    assert recording.totals() == {name: sum(row[name] for row in rows) for name in names}
    assert [row["ops"] for row in rows] == [1000, 1000, 500, 0]
    assert [row["errors"] for row in rows] == [0, 0, 1, 0]
    assert [row["unknown"] for row in rows] == [0, 0, 0, 1]
    assert sum(sum(row["service_counts"]) for row in rows) == 2_500


def test_an_end_on_the_edge_of_a_second_adds_no_empty_row() -> None:
    recording, rows = recorder(start_ns=0)
    recording.first.record(0, 0, 0, SECOND_NS // 2, 1)
    recording.finish(SECOND_NS)
    assert [row["second"] for row in rows] == [0]


def test_the_median_that_client_lags_are_held_against_is_of_all_operations() -> None:
    """The operation that is listed first is rare and slow: by its own median, nothing would hold it up."""
    recording = SecondRecorder(0, paced=False, emit=lambda row: None, operations=("add", "get"))
    now_ns = 0
    for operation, took_us in (("add", 1240), *((("get", 410),) * 9)):
        for _ in range(20):
            recording.of(operation).record(0, 0, now_ns, now_ns + 1000 * took_us, 1)
            recording.of(operation).record_lag(153_000)
            now_ns += 1000 * took_us
    found = totals(recording, [], getrusage(RUSAGE_SELF), 0, now_ns, "complete", None)
    assert found["service_p50_us"] == pytest.approx(410, rel=0.02)
    assert found["client_lag_p99_us"] == pytest.approx(153, rel=0.02)
