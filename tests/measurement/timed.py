"""The measurements that take a minute of real time, each a program of its own: `python -m tests.measurement.timed M1`.

Prints what was measured as one line of JSON. The clients and the fake server ask to be scheduled first.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

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


def main(name: str) -> None:
    """Run one of them."""
    what, script = STEPS[name]
    with FakeServer(script) as server:

        def on_start(start_ns: int) -> None:
            server.begin(start_ns)
            if name == "M8":
                threading.Thread(target=_stop_for_a_while, args=[server.pid, start_ns]).start()

        result = measure(server.address, what, plain(), on_start=on_start)
        print(Measured.of(result).as_json())


if __name__ == "__main__":
    main(sys.argv[1])
