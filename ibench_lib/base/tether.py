"""Start a process that dies with its parent, even when the parent is killed with -9.

`tethered(argv)` wraps a command line: this file is run by path in a bare interpreter, asks the kernel for SIGKILL at
the parent's death (prctl PR_SET_PDEATHSIG), and replaces itself with the command. The request survives
exec but not a change of user, so a server run as root keeps running as root (`--user=root`) in its private sandbox.
The kernel ties it to the parent *thread* that started the process: start from a thread that lives as long as the work.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def tethered(argv: list[str]) -> list[str]:
    """The command line that runs `argv` tethered to the calling process; `argv` itself where there is no Linux.

    What a load consists of runs on Linux only. A post that is built elsewhere ends by itself.
    """
    if sys.platform != "linux":
        return argv
    return [sys.executable, "-I", "-S", os.path.abspath(__file__), str(os.getpid()), *argv]


def _main() -> None:
    parent, command = int(sys.argv[1]), sys.argv[2:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"tether: prctl failed: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:  # the parent died before the kernel was asked
        sys.exit("tether: the parent is gone")
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"tether: {command[0]}: {error.strerror}")


if __name__ == "__main__":
    _main()
