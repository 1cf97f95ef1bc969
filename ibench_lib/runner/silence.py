"""How long the clients of a step got no answer, and whose process was seen to be stopped meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Self

from ibench_lib.base.process_state import is_stopped
from ibench_lib.base.wording import count, joined

if TYPE_CHECKING:
    from ibench_lib.runner.worker_state import WorkerState

SILENT_S = 3
"""So many whole seconds without an answer are worth a word."""

_RUNNER_PAUSE_S = 2.0
_LOOK_AFTER_S = 1.0
_LOOK_AT_CLOCK_S = 0.5


def silent_s(state: WorkerState, elapsed_s: float) -> int:
    """For how many whole seconds a client has certainly got no answer, `elapsed_s` after the start of the load.

    A client reports a second when it is over. So an answer may have come in the second after the last one reported.
    """
    return max(0, int(elapsed_s - state.latest_answer - 2))


@dataclass
class Watch:
    """Looks, whenever it is called, who stands still while a step measures.

    `server_pid` gives the process of the server; None if it is on another host, or not known.

    Attributes
    ----------
    stopped : the names of those whose process was seen to be stopped, each with the seconds of the step from the first
        to the last time.
    paused : when this process itself did nothing for a while: the second, and for how many seconds.
    """

    server_pid: Callable[[], int | None]
    stopped: dict[str, list[float]] = field(default_factory=dict)
    paused: list[tuple[float, float]] = field(default_factory=list)
    _looked_ns: int | None = None

    def look(self, states: Sequence[WorkerState], start_ns: int) -> None:
        """`start_ns` is the start of the load (CLOCK_MONOTONIC)."""
        now_ns = time.monotonic_ns()
        before_ns, self._looked_ns = self._looked_ns or now_ns, now_ns
        if (pause_s := (now_ns - before_ns) / 1e9) > _RUNNER_PAUSE_S:
            self.paused.append(((before_ns - start_ns) / 1e9, pause_s))
        elapsed_s = (now_ns - start_ns) / 1e9
        silent = [
            state
            for state in states
            if state.stage not in ("done", "failed") and silent_s(state, elapsed_s) >= _LOOK_AFTER_S
        ]
        for state in silent:
            self._note(state.name, state.process.pid, elapsed_s)
        if silent:
            self._note("the server", self.server_pid(), elapsed_s)

    def _note(self, name: str, pid: int | None, elapsed_s: float) -> None:
        if pid is not None and is_stopped(pid):
            self.stopped.setdefault(name, [elapsed_s, elapsed_s])[1] = elapsed_s


class Standstill:
    """Notices, while it is entered, when this process does nothing for SILENT_S: also where it waits for a server.

    A thread looks at the clock twice a second.
    """

    def __init__(self) -> None:
        self._lock, self._over = threading.Lock(), threading.Event()
        self._looked_ns, self._longest_s = time.monotonic_ns(), 0.0
        self._thread = threading.Thread(target=self._watch, name="standstill", daemon=True)

    def __enter__(self) -> Self:
        self._looked_ns = time.monotonic_ns()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def longest_s(self) -> float:
        """Seconds of the longest standstill since the last call; 0 if there was none."""
        self._look()
        with self._lock:
            longest_s, self._longest_s = self._longest_s, 0.0
        return longest_s

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_AT_CLOCK_S):
            self._look()

    def _look(self) -> None:
        with self._lock:
            now_ns = time.monotonic_ns()
            if (pause_s := (now_ns - self._looked_ns) / 1e9) >= SILENT_S:
                self._longest_s = max(self._longest_s, pause_s)
            self._looked_ns = now_ns


def stood_still(pause_s: float, when: str) -> str:
    """What to say of a standstill of this process."""
    return f"the runner stood still for {pause_s:.0f} s, {when}: it was stopped, or the machine was too busy"


def warnings(step: str, kind: str, states: Sequence[WorkerState], watch: Watch) -> list[str]:
    """What to say of a step about its longest time without an answer, and about who stood still; most often nothing.

    Seconds without an answer count where answers come in most of the other seconds. They are not looked for in steps
    of the kind `index`, whose few statements may take as long as they like.
    """
    sentences = []
    whole = min((state.reported for state in states), default=0)
    everybody: set[int] = set().union(*(state.answered for state in states))
    gap = None if kind == "index" else longest_gap(everybody, whole)
    if gap is not None:
        sentences.append(f"step {step}: no answer to any client for {_seconds(*gap)}{_because(watch.stopped, gap)}")
    gaps = {state.name: longest_gap(state.answered, state.reported) for state in states}
    least = 0 if gap is None else _length(gap)
    alone = {name: own for name, own in gaps.items() if own is not None and _length(own) > least}
    if alone and kind != "index":
        name, own = max(alone.items(), key=lambda item: _length(item[1]))
        more = f"; shorter or equal gaps of {count(len(alone) - 1, 'other client')}" if len(alone) > 1 else ""
        sentences.append(f"step {step}: no answer to {name} for {_seconds(*own)}{_because(watch.stopped, own)}{more}")
    if watch.paused:
        begin_s, pause_s = max(watch.paused, key=lambda pause: pause[1])
        sentences.append(f"step {step}: {stood_still(pause_s, f'from second {max(0.0, begin_s):.0f} on')}")
    return sentences


def longest_gap(answered: Collection[int], whole: int) -> tuple[int, int] | None:
    """The first and the last second of the longest gap among the first `whole` seconds of a step.

    None if it is shorter than SILENT_S, or if it is nothing unusual: answers came in less than half of the others.
    """
    there = sorted(second for second in set(answered) if second < whole)
    edges = [-1, *there, whole]
    longest = max(pairwise(edges), key=lambda pair: pair[1] - pair[0])
    first, last = longest[0] + 1, longest[1] - 1
    others = whole - (last - first + 1)
    if last - first + 1 < SILENT_S or len(there) < max(2, others / 2):
        return None
    return first, last


def _length(gap: tuple[int, int]) -> int:
    return gap[1] - gap[0] + 1


def _seconds(first: int, last: int) -> str:
    return f"{last - first + 1} s, in seconds {first} to {last}"


def _because(stopped: dict[str, list[float]], gap: tuple[int, int]) -> str:
    """Whose process was seen to be stopped in a gap."""
    names = [name for name, (begin_s, end_s) in stopped.items() if begin_s < gap[1] + 2 and end_s > gap[0]]
    if not names:
        return ""
    return f"; the process of {joined(names)} was stopped meanwhile"
