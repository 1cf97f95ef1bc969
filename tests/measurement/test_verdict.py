"""M16: a backend that costs nothing gives the client's ceiling; near it, a step is bound by its clients and says so."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from ibench_lib.runner.step_rows import client_bound
from tests.fakes.server import FakeServer, Script
from tests.measurement.harness import Measured, measure, plain, step, zero_cost

pytestmark = pytest.mark.timing

SECONDS = 1.5


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(Script(service_ms=2.0)) as running:
        yield running


def queried(server: FakeServer, role: dict[str, Any], seconds: float = SECONDS) -> Measured:
    what = step("unpaced", seconds=seconds, query=True)
    measured = Measured.of(measure(server.address, what, role))
    assert measured.failure is None
    return measured


def operations_per_s(measured: Measured) -> float:
    totals = measured.totals[0]
    return float(totals["ops"] / ((totals["end_ns"] - measured.start_ns) / 1e9))


def paced(server: FakeServer, rate: float, role: dict[str, Any]) -> Measured:
    what = step("paced", seconds=SECONDS, rate=rate)
    return Measured.of(measure(server.address, what, role))


@pytest.mark.measurement("M16")
def test_m16_at_its_ceiling_a_querier_is_client_bound_and_the_reason_names_it(server: FakeServer) -> None:
    measured = queried(server, zero_cost())
    assert measured.client_bound is not None
    assert "client 1 querier" in measured.client_bound and "of a core" in measured.client_bound


@pytest.mark.long
@pytest.mark.measurement("M16")
def test_m16_the_verdict_falls_at_seventy_percent_of_the_ceiling(server: FakeServer) -> None:
    for _ in range(30):  # what else runs on the machine takes from one of the three: until it leaves a turn alone
        turn = {share: queried(server, zero_cost(share), 0.5) for share in (1.0, 0.85, 0.5)}
        reached = {share: operations_per_s(one) / operations_per_s(turn[1.0]) for share, one in turn.items()}
        if all(part == pytest.approx(share, abs=0.08) for share, part in reached.items()):
            break
    assert reached[0.5] < 0.7 < reached[0.85], "in no turn were the clients near the shares of the ceiling set for them"
    assert turn[0.85].client_bound is not None
    assert turn[0.5].client_bound is None


@pytest.mark.measurement("M16")
def test_m16_a_querier_of_a_server_that_takes_its_time_is_not_client_bound(server: FakeServer) -> None:
    measured = queried(server, plain())
    assert measured.client_bound is None
    assert sum(measured.per_second()) <= SECONDS * 500 + 1


def test_a_paced_client_that_cannot_make_its_statements_in_time_is_client_bound_by_its_lag(server: FakeServer) -> None:
    # 3.5 ms of CPU for each statement, 2 ms of waiting, one due every 5 ms: late, though idle a third of the time.
    measured = paced(server, 200.0, plain(burn_ms=3.5))
    assert measured.client_bound is not None
    assert "client 1 inserter" in measured.client_bound and "late" in measured.client_bound


def test_a_paced_client_behind_a_slow_server_is_late_but_not_by_its_own_doing(server: FakeServer) -> None:
    measured = paced(server, 1000.0, plain())  # the server can do 500 a second
    assert measured.max_ms("intended") > 500
    assert measured.client_bound is None


@pytest.mark.measurement("M16")
@pytest.mark.parametrize(("median_us", "bound"), [(None, False), (100.0, True), (1e6, False)])
def test_m16_lag_is_held_against_the_median_of_all_operations_if_there_is_one(
    median_us: float | None, bound: bool
) -> None:
    """A process that did nothing has no median."""
    totals = {
        "cpu_user_s": 0.1, "cpu_system_s": 0.1, "end_ns": 2_000_000_000, "ops": 500, "client_lag_p99_us": 50.0,
        "service_p50_us": median_us,
    }  # fmt: skip
    spec = SimpleNamespace(drives=False, tick_ns=None, connections=8)
    state = SimpleNamespace(name="client 1 terminal", totals=totals, spec=spec)
    found = client_bound(SimpleNamespace(workers=[state], start_ns=0))  # type: ignore[arg-type]
    assert (found is not None) == bound
