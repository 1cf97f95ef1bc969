"""Start a process that dies with its parent, even when the parent is killed with -9.

`tethered(argv)` wraps a command line: this file is run by path in a bare interpreter, asks the kernel for a signal at
the parent's death (prctl PR_SET_PDEATHSIG), and replaces itself with the command. The request survives exec but not a
change of user. So a process that is to have another user gets it first, and a server of ours that starts as root must
not change its user by itself (`--user=root`).
The kernel ties it to the parent *thread* that started the process: start from a thread that lives as long as the work.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import warnings  # noqa: F401  (execvp imports it, which another user may not be able to)
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1
_SAME_USER = "-"


def tethered(argv: Sequence[str], user: tuple[int, int] | None = None, death_signal: int = signal.SIGKILL) -> list[str]:
    """The command line that runs `argv` tethered to the calling process; `argv` itself where there is no Linux.

    `user` has the user's and the group's number that the process gets, which takes root; None to keep ours.
    `death_signal` is what it is sent when its parent dies.
    What a load consists of runs on Linux only. A post that is built elsewhere ends by itself.
    """
    if sys.platform != "linux":
        return list(argv)
    who = _SAME_USER if user is None else f"{user[0]}:{user[1]}"
    ours = [sys.executable, "-I", "-S", os.path.abspath(__file__), str(os.getpid()), who, str(int(death_signal))]
    return [*ours, *argv]


def _main() -> None:
    parent, who, death_signal, command = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    libc = ctypes.CDLL(None, use_errno=True)
    if who != _SAME_USER:
        user, group = map(int, who.split(":"))
        try:
            os.setgroups([])
            os.setgid(group)
            os.setuid(user)
        except OSError as error:
            sys.exit(f"tether: cannot become user {user}: {error.strerror}")
    if death_signal not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(death_signal, signal.SIG_DFL)  # it may be ignored here, as SIGQUIT is behind a shell's `&`
    if libc.prctl(_PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
        sys.exit(f"tether: prctl failed: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:  # the parent died before the kernel was asked
        sys.exit("tether: the parent is gone")
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"tether: {command[0]}: {error.strerror}")


if __name__ == "__main__":
    _main()
