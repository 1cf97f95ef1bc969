"""What the client processes of these tests send, and to what. Imported by the real worker process, by name.

A worker's table says what it does, as JSON (`harness.py` writes it):

    {"kind": "plain", "burn_ms": b}                 one statement after another; each takes b ms of CPU to make
    {"kind": "virtual", "service_ms", "stall_s", "spread"}
                                                    the same on a virtual clock, against a virtual server; with `spread`
                                                    the service times vary, and resident memory is told now and then
    {"kind": "zero_cost", "busy": share}            against a backend inside the process that costs nothing and keeps
                                                    the client idle for the rest of its time
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ibench_lib.client import load
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.wire import COM_QUERY, Wire
from ibench_lib.client.role import Probe, Role
from ibench_lib.client.spec import Spec
from tests.fakes import protocol
from tests.fakes.priority import come_first
from tests.fakes.server import Script
from tests.fakes.virtual import VirtualServer, VirtualTime, real_now_ns

RSS_EVERY = 10_000
_PAGE_BYTES = 4096
_IDLE_IN_PIECES_OF_S = 0.005


class Plain(Role):
    """The same statement again and again."""

    def __init__(self, statement: bytes, burn_ms: float = 0.0) -> None:
        self._statement = statement
        self._burn_s = burn_ms / 1e3

    def next_statement(self) -> bytes:
        end = time.thread_time() + self._burn_s
        while self._burn_s and time.thread_time() < end:
            pass
        return self._statement


class TellsMemory(Plain):
    """Reports the resident size of its process every so many statements, as probes named `rss`."""

    _made = 0

    def next_statement(self) -> bytes:
        self._made += 1
        if self._made % RSS_EVERY == 0:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
            self.late_probes.append(Probe("rss", 0, 0.0, pages * _PAGE_BYTES))
        return super().next_statement()


class ZeroCostSocket:
    """Answers each command at once from inside the process; idles so that the process is busy `busy` of its time."""

    def __init__(self, busy: float) -> None:
        self._answer = protocol.result(10, deprecate_eof=False)
        self._idle_per_busy = (1 - busy) / busy
        self._begin_s, self._idled_s, self._count = time.thread_time(), 0.0, 0

    def settimeout(self, _seconds: float | None) -> None: ...

    def setsockopt(self, *_: Any) -> None: ...

    def sendall(self, _data: bytes) -> None: ...

    def recv(self, _size: int) -> bytes:
        self._count += 1
        if self._count % 64 == 0 and self._idle_per_busy:
            owed = (time.thread_time() - self._begin_s) * self._idle_per_busy - self._idled_s
            if owed > _IDLE_IN_PIECES_OF_S:
                before = time.monotonic()
                time.sleep(owed)
                self._idled_s += time.monotonic() - before
        return self._answer


def make_role(spec: Spec, connection: Connection) -> Role:
    """The role that the worker's table describes."""
    wanted = json.loads(spec.details["table"])
    if wanted["kind"] != "virtual":  # which waits for nobody, and nobody waits for it
        come_first()
    sql = b"INSERT INTO t VALUES (1)" if spec.role == "inserter" else b"SELECT v FROM t"
    statement = COM_QUERY + sql
    if wanted["kind"] == "zero_cost":
        wire = Wire(ZeroCostSocket(wanted["busy"]), deprecate_eof=False, timeout_s=spec.timeout_s)  # type: ignore[arg-type]
        connection.execute = wire.execute
    elif wanted["kind"] == "virtual":
        clock = VirtualTime(real_now_ns())
        vars(load)["time"] = clock
        stall = tuple(wanted["stall_s"]) if wanted["stall_s"] else None
        counter = Script(service_ms=wanted["service_ms"], stall_s=stall).counter()
        extra = _spread(spec.client) if wanted["spread"] else None
        connection.execute = VirtualServer(clock, counter, extra_ns=extra).execute  # type: ignore[assignment]
        if wanted["spread"]:
            return TellsMemory(statement)
    return Plain(statement, wanted.get("burn_ms", 0.0))


def _spread(seed: int) -> Iterator[int]:
    """Nanoseconds from a wide range, so that every bin that can be used is used soon."""
    numbers = random.Random(seed)
    while True:
        yield round(1_000 * 2 ** numbers.uniform(0, 16))
