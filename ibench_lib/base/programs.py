"""Other programs, run to their end with what they say taken in. Standard library and `errors` only, as `debian.py`."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ibench_lib.errors import IbenchError, ServerStartDisturbed, ServerStartError

_TIMEOUT_S = 900
_OF_BINARY_S = 60


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


def ask_server_binary(
    command: Sequence[str], what: str, environment: Mapping[str, str], folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Let the binary of a server say something of itself, in English and with no variable of the user's.

    `what` is what messages call the command, `environment` what the build needs to run.

    Raises
    ------
    ServerStartError : it cannot be executed.
    ServerStartDisturbed : it does not end.
    """
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_OF_BINARY_S,
            check=False,
        )
    except OSError as error:
        raise ServerStartError(f"{what}: {error}", hint="`ibench doctor`") from error
    except subprocess.TimeoutExpired as error:
        raise ServerStartDisturbed(f"{what}: {error}") from error
