"""A client process is as large after eight hours as after one: nothing grows with the operations it has done."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import pytest

from ibench_lib.client import load as load_module
from ibench_lib.client.load import Load
from ibench_lib.client.recorder import SecondRecorder
from tests.fakes.counter import Counter
from tests.fakes.server import FakeServer, Script
from tests.fakes.virtual import VirtualServer, VirtualTime
from tests.measurement.harness import measure, step, virtual
from tests.measurement.roles import RSS_EVERY, Plain, _spread

pytestmark = pytest.mark.slow

EIGHT_HOURS_S = 8 * 3600
RATE = 10


@pytest.mark.long
@pytest.mark.timing  # eight hours of messages in seconds: a runner that a busy machine holds up has failed the step
def test_the_resident_size_of_a_client_process_stays_flat_for_eight_hours() -> None:
    what = step("paced", seconds=float(EIGHT_HOURS_S), rate=float(RATE))
    with FakeServer(Script()) as server:
        result = measure(server.address, what, virtual(1.0, spread=True))
    assert result.failure is None
    (client,) = result.workers
    assert [row["second"] for row in result.seconds[0]] == list(range(EIGHT_HOURS_S))
    assert sum(row["ops"] for row in result.seconds[0]) == EIGHT_HOURS_S * RATE
    sizes = [probe["result"] for probe in client.probes if probe["name"] == "rss"]
    assert len(sizes) == EIGHT_HOURS_S * RATE // RSS_EVERY
    first_hour = EIGHT_HOURS_S // 8 * RATE // RSS_EVERY
    # Less than one byte for each operation: one that is kept takes eight at the least.
    assert max(sizes) - sizes[first_hour - 1] < EIGHT_HOURS_S * RATE


@pytest.mark.long
def test_what_python_has_allocated_does_not_grow_either(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = VirtualTime()
    monkeypatch.setattr(load_module, "time", clock)
    sizes: dict[int, int] = {}

    def emit(row: dict[str, Any]) -> None:
        if row["second"] % 1800 == 1799:
            gc.collect()
            sizes[row["second"]] = tracemalloc.get_traced_memory()[0]

    server = VirtualServer(clock, Counter(1_000_000), extra_ns=_spread(1))
    load = Load(
        role=Plain(b"\x03SELECT 1"),
        connection=server,  # type: ignore[arg-type]
        recorder=SecondRecorder(0, paced=True, emit=emit, operations=("query",)),
        start_ns=0,
        statements=None,
        end_ns=EIGHT_HOURS_S * 1_000_000_000,
        tick_ns=1_000_000_000,
        coupling=None,
    )
    tracemalloc.start()
    try:
        totals = load.run()
    finally:
        tracemalloc.stop()
    assert totals["ops"] == EIGHT_HOURS_S
    assert len(sizes) == 16
    # The lag histogram fills its bins in the beginning; kept operations would be 200 kB and more.
    assert sizes[EIGHT_HOURS_S - 1] - sizes[1799] < 20_000
