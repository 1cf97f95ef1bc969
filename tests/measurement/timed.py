"""The measurements that take a minute of real time, each a program of its own: `python -m tests.measurement.timed M1`.

Prints what was measured as one line of JSON. The clients and the fake server ask to be scheduled first.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from dataclasses import replace

from tests.fakes.priority import come_first
from tests.fakes.server import FakeServer, Script
from tests.measurement.harness import Measured, measure, plain, step

SECONDS = 60.0
STALL_S = (10.0, 3.0, 5.0)
STOPPED_S, CONTINUED_S = 20.0, 25.0

STEPS = {
    "M1": (step("paced", seconds=SECONDS, rate=1000.0), Script(service_ms=0.5, stall_s=STALL_S)),
    "M3": (step("unpaced", seconds=SECONDS, query=True), Script(service_ms=0.5, stall_s=STALL_S)),
    "M7": (step("paced", seconds=SECONDS, rate=500.0), Script(service_ms=0.2)),
    "M8": (step("paced", seconds=SECONDS, rate=500.0), Script(service_ms=0.2)),
}


def _stop_for_a_while(pid: int, start_ns: int) -> None:
    for after_s, number in ((STOPPED_S, signal.SIGSTOP), (CONTINUED_S, signal.SIGCONT)):
        time.sleep(max(0.0, (start_ns - time.monotonic_ns()) / 1e9 + after_s))
        os.kill(pid, number)


class Witness(threading.Thread):
    """Sleeps for 2 ms again and again: `late_ms` is how late it woke. What delays it delays the clients as well."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.late_ms: list[float] = []
        self.over = threading.Event()

    def run(self) -> None:
        come_first()
        while not self.over.is_set():
            due_ns = time.monotonic_ns() + 2_000_000
            time.sleep(0.002)
            self.late_ms.append((time.monotonic_ns() - due_ns) / 1e6)


def main(name: str) -> None:
    """Run one of them."""
    what, script = STEPS[name]
    with FakeServer(script) as server:

        def on_start(start_ns: int) -> None:
            server.begin(start_ns)
            if name == "M8":
                threading.Thread(target=_stop_for_a_while, args=[server.pid, start_ns]).start()

        witness = Witness()
        witness.start()
        result = measure(server.address, what, plain(), on_start=on_start)
        witness.over.set()
        witness.join()
        late_ms = sorted(witness.late_ms)
        quantiles = [late_ms[int(q * len(late_ms))] for q in (0.99, 0.999)]
        print(replace(Measured.of(result), machine_late_ms=quantiles).as_json())


if __name__ == "__main__":
    main(sys.argv[1])
