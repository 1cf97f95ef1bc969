"""Being served first by the scheduler, where the system lets us: what is measured is then not others' noise."""

from __future__ import annotations

import contextlib
import ctypes
import os

_PR_SET_TIMERSLACK = 29


def may_come_first() -> bool:
    """Whether this user may ask for real-time scheduling; asks for nothing that stays."""
    policy, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, policy, parameters)
    return True


def come_first() -> None:
    """Real-time scheduling for this thread and those it starts, where allowed, and sleeps that end when they should."""
    ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
