"""The acceptance table of measurement where its values are exact: real client processes that live by a virtual clock.

The client process, its loop, its recorder and what it says to the runner are the real ones; only `time` and the server
are not. So a minute takes a second and no figure depends on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ibench_lib.paths import Workspace
from ibench_lib.runner.step_rows import StepRecorder
from ibench_lib.store import reader
from ibench_lib.store.writer import RunWriter
from tests.fakes.server import FakeServer, Script
from tests.measurement.harness import Measured, measure, step, virtual
from tests.synthetic import Run, answer, manifest_of

pytestmark = [pytest.mark.lake, pytest.mark.slow]

STALL_S = [10.0, 3.0, 5.0]
BIN = 0.008  # of a value: how far a quantile, the midpoint of a bin, may be from it
MINUTE = 60.0


@pytest.fixture(scope="module")
def somewhere() -> Iterator[FakeServer]:
    """Where the client processes connect before they turn to their virtual servers."""
    with FakeServer(Script()) as server:
        yield server


@pytest.mark.measurement("M1")
def test_m1_a_paced_connection_shows_the_stalls_in_intended_time(somewhere: FakeServer) -> None:
    what = step("paced", seconds=MINUTE, rate=1000.0)
    measured = Measured.of(measure(somewhere.address, what, virtual(0.5, STALL_S)))
    assert measured.failure is None
    assert sum(measured.per_second()) == 60_000
    assert measured.quantile_ms(0.999) == pytest.approx(0.5, rel=BIN)
    assert measured.max_ms() == pytest.approx(2000.5, abs=1e-6)
    assert measured.over(1000) == 6
    for q, expected_ms in ((0.75, 750), (0.9, 1500), (0.95, 1750), (0.99, 1950)):
        assert measured.quantile_ms(q, "intended") == pytest.approx(expected_ms, rel=BIN)
    # Nothing is answered while it stalls; then two statements each millisecond until the queue is gone.
    assert measured.per_second() == [1000, 1000, 1000, 0, 0, 1999, 2000, 1001, 1000, 1000] * 6
    assert measured.client_bound is None, "the server stalled, not the client"


@pytest.mark.measurement("M3")
def test_m3_an_unpaced_connection_meets_each_stall_once_and_has_no_intended_time(somewhere: FakeServer) -> None:
    what = step("unpaced", seconds=MINUTE, query=True)
    measured = Measured.of(measure(somewhere.address, what, virtual(0.5, STALL_S)))
    assert sum(measured.per_second()) == pytest.approx(6 * 8 * 2000, abs=6)
    assert measured.quantile_ms(0.9999) == pytest.approx(0.5, rel=BIN)
    assert measured.over(1000) == 6
    assert measured.max_ms() == pytest.approx(2000.5, abs=1e-6)
    for column in ("intended_max_us", "intended_bins", "intended_counts"):
        assert set(measured.per_second(column)) == {None}


@pytest.mark.measurement("M7")
@pytest.mark.measurement("M8")
def test_m7_and_m8_a_rate_is_held_and_a_stop_is_caught_up(somewhere: FakeServer) -> None:
    what = step("paced", seconds=MINUTE, rate=500.0)
    result = measure(somewhere.address, what, virtual(0.2), virtual(0.2, [100.0, 20.0, 25.0]))
    measured = Measured.of(result)
    assert measured.per_second(worker=0) == [500] * 60
    last_due_ns = measured.start_ns + 29_999 * 2_000_000
    assert measured.totals[0]["end_ns"] - last_due_ns == 200_000, "the last deadline is where the first tick put it"
    stopped = measured.per_second(worker=1)
    assert sum(stopped) == 30_000
    assert stopped[:20] + stopped[20:25] == [500] * 20 + [0] * 5
    assert stopped[25] == 3000
    backlog = max(late or 0.0 for late in measured.per_second("intended_max_us", worker=1)) / 1e6 * 500
    assert backlog == pytest.approx(2500, abs=1)
    assert measured.client_bound is None, "the server stood still, not the client"


@pytest.mark.measurement("M10")
def test_m10_workers_merge_into_one_histogram_and_counts_add(somewhere: FakeServer, workspace: Workspace) -> None:
    what = replace(step("l.i0", statements=1000), kind="load")
    result = measure(somewhere.address, what, virtual(1.0), virtual(101.0))
    assert result.failure is None and result.start_ns is not None
    run = Run()
    writer = RunWriter(workspace.run_dir(run.run_id))
    recorder = StepRecorder(writer, result.start_ns, 0, what, 2, 0)
    recorder.started(result.workers, result.start_ns)
    for state in result.workers:
        for row in result.seconds[state.number]:
            recorder.second(state, row)
    recorder.ended(result, None)
    writer.seal(manifest_of(run))
    lake = reader.lake(workspace)
    (row,) = answer(lake, "response_time_histogram").to_dicts()
    assert (row["operation"], row["timing"], row["responses"]) == ("insert", "service", 2000)
    assert row["p99_s"] == pytest.approx(0.101, rel=BIN)
    assert row["p50_s"] == pytest.approx(0.001, rel=BIN)
    assert row["max_s"] == pytest.approx(0.101, abs=1e-9)
    assert (row["le_1ms"] + row["le_4ms"], row["le_256ms"]) == (50, 50)
    counts = reader.sql(lake, "SELECT worker, sum(ops) AS ops, sum(list_sum(service_counts)) AS n FROM ops GROUP BY 1")
    assert {(row["worker"], int(row["ops"]), int(row["n"])) for row in counts.to_dicts()} == {
        (0, 1000, 1000),
        (1, 1000, 1000),
    }
    mean = reader.sql(lake, "SELECT sum(service_sum_us) / sum(ops) AS mean_us FROM ops").item()
    assert mean == pytest.approx((1_000 + 101_000) / 2)
