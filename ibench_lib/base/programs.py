"""Other programs, run to their end with what they say taken in. Standard library and `errors` only, as `debian.py`."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from ibench_lib.errors import IbenchError

_TIMEOUT_S = 900


def run(name: str, command: Sequence[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder`; stdout holds all that it says. `name` is what a message calls it.

    Raises
    ------
    IbenchError : it does not end.
    FileNotFoundError : it is not there.
    """
    try:
        return subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise IbenchError(
            f"{name} did not finish within {_TIMEOUT_S} s", hint="check the network, then try again"
        ) from error
