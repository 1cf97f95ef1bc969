"""Keeps an inserter and a deleter within a few statements of each other.

Two kernel counters (eventfd in semaphore mode) stand for the original client's two queues of 8 statements. The inserter
takes a credit before each statement and gives the deleter a token after it; the deleter takes a token, deletes, and
gives the credit back. So the inserter is at most `WINDOW` statements ahead and the deleter never is.
"""

from __future__ import annotations

import os
import select
import time
from dataclasses import dataclass

WINDOW = 8


@dataclass(frozen=True)
class Coupling:
    """One side of the pair: what it takes before a statement and what it gives after it."""

    take_fd: int
    give_fd: int

    def take(self, deadline_ns: int | None) -> bool:
        """Wait for the other side. False when the deadline (CLOCK_MONOTONIC) came first."""
        while True:
            try:
                os.eventfd_read(self.take_fd)
                return True
            except BlockingIOError:
                pass
            timeout_ms: float | None = None
            if deadline_ns is not None:
                timeout_ms = max(0.0, (deadline_ns - time.monotonic_ns()) / 1e6)
            poll = select.poll()
            poll.register(self.take_fd, select.POLLIN)
            if not poll.poll(timeout_ms) and deadline_ns is not None and time.monotonic_ns() >= deadline_ns:
                return False

    def give(self) -> None:
        """Let the other side go on."""
        os.eventfd_write(self.give_fd, 1)


def make_pair() -> tuple[Coupling, Coupling]:
    """(inserter's side, deleter's side). The descriptors are the caller's to pass on and to close."""
    flags = os.EFD_SEMAPHORE | os.EFD_NONBLOCK | os.EFD_CLOEXEC
    credits, tokens = os.eventfd(WINDOW, flags), os.eventfd(0, flags)
    return Coupling(take_fd=credits, give_fd=tokens), Coupling(take_fd=tokens, give_fd=credits)
