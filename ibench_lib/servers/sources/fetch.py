"""What sources that use a registry's client share."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from ibench_lib.base import programs
from ibench_lib.errors import BuildNotFound, IbenchError

_PACKAGES = {"npm": "npm", "mvn": "maven"}
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
_REPOSITORY = ".maven"


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
            f"{program} is not on this machine, and the installation needs it",
            hint=f"run apt-get install {_PACKAGES[program]}, then try again",
        )
    result = programs.run(program, [path, *arguments], folder)
    if result.returncode != 0:
        raise IbenchError(
            f"{program} failed (exit {result.returncode})",
            hint="see its output above; usually the network is unreachable",
            detail="\n".join(result.stdout.strip().splitlines()[-15:]) or None,
        )


def copy_from_maven(artifact: str, folder: Path, builds: Path) -> Path:
    """The jar of an artifact (`group:name:version`), copied into `folder` by Maven.

    Maven's plugins are kept in the folder of the builds for the next one, and out of the user's own repository.
    Raises as `run_client`.
    """
    arguments = [
        "--batch-mode",
        "--quiet",
        f"-Dmaven.repo.local={builds / _REPOSITORY}",
        _COPY,
        f"-Dartifact={artifact}",
        f"-DoutputDirectory={folder}",
    ]
    run_client("mvn", arguments, folder)
    (archive,) = folder.glob("*.jar")
    return archive


def check_sha256(path: Path, expected: str) -> None:
    """Raises IbenchError where the file is not the one that was looked at when it was added here."""
    with open(path, "rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 != expected:
        raise IbenchError(
            f"{path.name} has SHA-256 {sha256}, not {expected}",
            hint="the file is not used; the registry returned a different file than expected",
        )
