"""The signals that end a run, turned into one exception, or held back for a moment."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Signals that end a run wait until this is done. For the main thread.

    They are noted by handlers, not blocked: a signal that one thread blocks goes to another one, as while capture
    runs, and Python would run its handler in the main thread all the same.
    """
    noted: list[int] = []
    previous = {
        number: signal.signal(number, lambda noted_number, _frame: noted.append(noted_number)) for number in _ENDING
    }
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        for late in dict.fromkeys(noted):
            signal.raise_signal(late)


class Patience:
    """What the first Ctrl-C asks for while an experiment runs: end after this cell. A second one ends at once."""

    def __init__(self, told: Callable[[], None]) -> None:
        self.asked_to_stop = False
        self._told = told

    def first_time(self) -> bool:
        """Whether this Ctrl-C is the first one, and may wait."""
        if self.asked_to_stop:
            return False
        self.asked_to_stop = True
        self._told()
        return True


@contextmanager
def signals_as_interrupts(patience: Patience | None = None) -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt once; further ones are ignored while the run is wound up.

    With `patience` the first SIGINT only asks it.
    """

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGINT and patience is not None and patience.first_time():
            return
        for other in _ENDING:
            signal.signal(other, signal.SIG_IGN)
        raise KeyboardInterrupt

    previous = {number: signal.signal(number, interrupt) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
