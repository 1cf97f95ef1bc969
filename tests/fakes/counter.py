"""When a server that does one thing at a time answers: arithmetic for the fake server and the virtual one."""

from __future__ import annotations

from dataclasses import dataclass

SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class Stall:
    """No work is done in [from, to) of every period, counted from an epoch."""

    period_ns: int
    from_ns: int
    to_ns: int


class Counter:
    """A counter with one clerk: each statement is `service_ns` of work, and no work is done while it is stalled.

    A statement that arrives within half a service time of the last answer counts as having waited for it. So a client
    in a hurry gets exactly one answer per service time, whatever its own turnaround costs, and the waiting times of a
    queue come out as computed on paper.
    """

    def __init__(self, service_ns: int, stall: Stall | None = None, epoch_ns: int | None = None) -> None:
        self.service_ns = service_ns
        self.stall = stall
        self.epoch_ns = epoch_ns
        self._answered_ns = 0

    def answer_at(self, arrival_ns: int) -> int:
        """When the statement that arrives now is answered."""
        waited = 0 <= arrival_ns - self._answered_ns <= self.service_ns // 2
        begin = self._answered_ns if waited or arrival_ns < self._answered_ns else arrival_ns
        self._answered_ns = self._work(begin)
        return self._answered_ns

    def _work(self, begin_ns: int) -> int:
        """End of one service time of work that begins then. A service time is shorter than the time between stalls."""
        if self.stall is None or self.epoch_ns is None or begin_ns < self.epoch_ns:
            return begin_ns + self.service_ns
        period = begin_ns - (begin_ns - self.epoch_ns) % self.stall.period_ns
        stall_begin, stall_end = period + self.stall.from_ns, period + self.stall.to_ns
        if stall_begin <= begin_ns < stall_end:
            begin_ns = stall_end
        end_ns = begin_ns + self.service_ns
        if begin_ns < stall_begin < end_ns:
            end_ns += self.stall.to_ns - self.stall.from_ns
        return end_ns
