"""How a test waits: for what it needs to see, with a limit so generous that only a defect can reach it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 120.0
Found = TypeVar("Found")


def until(condition: Callable[[], Found], what: str, within_s: float = PATIENCE_S, every_s: float = 0.01) -> Found:
    """Wait until `condition` gives something true, and return that.

    Parameters
    ----------
    condition : is called again and again, at least twice.
    what : names what is waited for; the failure says that it never came.
    within_s : seconds until the wait fails. No test is correct because of this number.
    every_s : seconds between two calls.
    """
    deadline = time.monotonic() + within_s
    while not (found := condition()):
        if time.monotonic() > deadline:
            if found := condition():  # this process may have slept through its limit
                return found
            raise AssertionError(f"not within {within_s:g} s: {what}")
        time.sleep(every_s)
    return found
