"""A real server with the tables of sysbench, and the real sysbench that runs steps on it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from ibench_lib.client.driver import Connection
from ibench_lib.client.external import RunningProgram, target
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.workloads.sysbench import steps
from ibench_lib.workloads.sysbench.client import Sysbench
from ibench_lib.workloads.sysbench.options import Options, Setup
from tests.workloads.sysbench.test_options import options

DRIVER = "ibench_lib.client.mysql.connection"
SETUP = Setup(name="s", tables=2, table_size=500, seconds=2.0, warm_up=0.0)


class Place(NamedTuple):
    """A server with the tables of sysbench."""

    box: Sandbox
    address: dict[str, Any]
    connection: Connection
    driver: str = DRIVER

    def counted(self) -> Counter[str]:
        """What a server of MySQL's family has executed so far, by its own counters."""
        rows = self.connection.fetch(b"\x03SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Com\\_%'")
        return Counter({str(name or b"", "ascii"): int(value or 0) for name, value in rows})

    def drive(
        self, number: int, during: Callable[[], None] = lambda: None, *, seconds: float = 2.0, **given: Any
    ) -> tuple[RunningProgram, list[dict[str, Any]]]:
        """Run a step of sysbench: 0 prepares, 1 is the first test. `during` is called when its load begins."""
        return self.run(options(**given), number, during, seconds=seconds)

    def run(
        self, chosen: Options, number: int, during: Callable[[], None] = lambda: None, *, seconds: float = 2.0
    ) -> tuple[RunningProgram, list[dict[str, Any]]]:
        """The same with options that are made already."""
        step = steps.plan(chosen, SETUP.model_copy(update={"seconds": seconds}), 1.0)[number]
        spec = steps.spec(chosen, step, steps.workers(chosen, step)[0], number)
        rows: list[dict[str, Any]] = []
        driven = RunningProgram(Sysbench(spec, target(self.driver, self.address, "b")), spec.operations[0], rows.append)
        if driven.program.ready:
            driven.connect()
        if driven.error is None:
            thread = threading.Thread(target=during)
            thread.start()
            driven.run(time.monotonic_ns(), spec.seconds)
            thread.join()
        driven.close()
        return driven, rows
