"""What a server build is: a basedir with a server binary in it, however it got there."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ibench_lib.errors import ServerStartError
from ibench_lib.paths import check_name

Flavour = Literal["mysql", "percona", "mariadb"]


@dataclass(frozen=True)
class Build:
    """One server build.

    `command` starts the server binary: normally one path; for a build that brings its own libc, the dynamic loader
    and its arguments come first. `environment` is added to the server's environment (LD_LIBRARY_PATH for a build
    unpacked without root), `options` are server options that this build needs wherever it is started. `version` is the
    dotted version as the binary prints it, such as 10.11.19-MariaDB. `template` is an initialised data directory that
    came with the build.
    """

    label: str
    flavour: Flavour
    version: str
    basedir: Path
    command: tuple[str, ...]
    source: str
    environment: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    template: Path | None = None

    @property
    def release(self) -> tuple[int, int, int]:
        """(10, 11, 19) of 10.11.19-MariaDB."""
        return release_of(self.version)


def release_of(version: str) -> tuple[int, int, int]:
    """(10, 11, 19) of 10.11.19-MariaDB."""
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    assert match, version
    return int(match[1]), int(match[2]), int(match[3])


def flavour_in(words: str) -> Flavour:
    """The flavour that a server's own words tell: its `--version` line, or version and version comment."""
    said = words.lower()
    return "mariadb" if "mariadb" in said else "percona" if "percona" in said else "mysql"


def identify(
    label: str,
    basedir: Path,
    command: tuple[str, ...],
    *,
    source: str,
    environment: dict[str, str] | None = None,
    options: tuple[str, ...] = (),
    template: Path | None = None,
) -> Build:
    """Ask the binary itself what it is (`--version`).

    Raises
    ------
    ServerStartError : the binary cannot be executed or is no MySQL-family server.
    """
    check_name(label, "build label")
    try:
        answer = subprocess.run(
            [*command, "--no-defaults", "--version"],
            capture_output=True,
            text=True,
            timeout=30,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **(environment or {})},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerStartError(
            f"build {label}: {command[-1]} cannot be executed: {error}",
            hint="`ibench doctor` shows what is missing",
        ) from error
    match = re.search(r"Ver (\d+\.\d+\.\d+\S*)", answer.stdout)
    if answer.returncode != 0 or not match:
        library = re.search(r"(\S+\.so[.\d]*): cannot open shared object file", answer.stderr)
        lacks = f" lacks {library[1]}" if library else f" --version prints no server version (exit {answer.returncode})"
        raise ServerStartError(
            f"build {label}: {command[-1]}{lacks}",
            hint="install the package that contains this library"
            if library
            else "`ibench doctor` shows what is missing",
            detail=(answer.stderr or answer.stdout).strip()[-2000:] or None,
        )
    return Build(
        label, flavour_in(answer.stdout), match[1], basedir, command, source, dict(environment or {}), options, template
    )
