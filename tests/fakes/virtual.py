"""A clock that moves only when told, and a server that lives by it: hours are computed in seconds, exactly."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from tests.fakes.counter import Counter


class VirtualTime:
    """Stands for the module `time` where it is used: nobody waits, every wait moves the clock by exactly its length."""

    def __init__(self, now_ns: int = 0) -> None:
        self.now_ns = now_ns

    def monotonic_ns(self) -> int:
        return self.now_ns

    def monotonic(self) -> float:
        return self.now_ns / 1e9

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"time.{name} is not to be used where time is measured")


class VirtualServer:
    """Stands for a connection: answers when its counter says so, on the virtual clock.

    `extra_ns` gives further nanoseconds for each statement in turn.
    """

    asked_ns = 0

    def __init__(
        self, clock: VirtualTime, counter: Counter, rows: int = 1, extra_ns: Iterator[int] | None = None
    ) -> None:
        self.clock, self.counter, self.rows, self.extra_ns = clock, counter, rows, extra_ns

    def execute(self, _statement: bytes) -> int:
        if self.counter.epoch_ns is None:
            self.counter.epoch_ns = self.clock.now_ns
        self.clock.now_ns = self.counter.answer_at(self.clock.now_ns)
        if self.extra_ns is not None:
            self.clock.now_ns += next(self.extra_ns)
        return self.rows


def real_now_ns() -> int:
    """Where a virtual clock starts when others read the real one."""
    return time.monotonic_ns()
