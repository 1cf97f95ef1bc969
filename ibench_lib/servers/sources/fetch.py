"""What sources that use a registry's client share."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from ibench_lib.errors import BuildNotFound, IbenchError

_TIMEOUT_S = 900
_PACKAGES = {"npm": "npm", "mvn": "maven"}


def run_client(program: str, arguments: list[str], folder: Path) -> None:
    """Run a registry's client in `folder`, with the user's own settings for it.

    Raises
    ------
    BuildNotFound : the client is not on this machine.
    IbenchError : it refuses; `detail` is the end of what it said.
    """
    path = shutil.which(program)
    if path is None:
        raise BuildNotFound(
            f"{program} is not on this machine, and this build comes by it",
            hint=f"apt-get install {_PACKAGES[program]}, then again",
        )
    try:
        result = subprocess.run(
            [path, *arguments],
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
            f"{program} did not finish within {_TIMEOUT_S} s", hint="look at the network, then again"
        ) from error
    if result.returncode != 0:
        raise IbenchError(
            f"{program} failed (exit {result.returncode})",
            hint="its words are above; the usual cause is no network",
            detail="\n".join(result.stdout.strip().splitlines()[-15:]) or None,
        )


def check_sha256(path: Path, expected: str) -> None:
    """Raises IbenchError where the file is not the one that was looked at when this build was added."""
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise IbenchError(
            f"{path.name} has SHA-256 {found}, not {expected}",
            hint="it is not used; the registry gave another file than the one this build is known by",
        )
