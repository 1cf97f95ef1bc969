"""Ask a server binary what it is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from ibench_lib.errors import ServerStartError
from ibench_lib.paths import check_name
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours import flavour


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
    """The build that a binary is, by the version that it prints.

    Raises
    ------
    ServerStartError : the binary cannot be executed, or is a server of no flavour that there is.
    """
    check_name(label, "build label")
    output = ""
    for arguments in _ways_to_ask(Path(command[-1]).name):
        answer = _ask(label, (*command, *arguments), environment or {})
        # The first word is the program's path, which may have the name of any server in it.
        recognised = flavour.recognise(answer.stdout.partition(" ")[2]) if answer.returncode == 0 else None
        if recognised is not None:
            name, version = recognised
            return Build(label, name, version, basedir, command, source, dict(environment or {}), options, template)
        output = output or (answer.stderr or answer.stdout).strip()[-2000:]
        status = answer.returncode
    library = re.search(r"(\S+\.so[.\d]*): cannot open shared object file", output)
    lacks = f" lacks {library[1]}" if library else f" --version prints no server version (exit {status})"
    raise ServerStartError(
        f"build {label}: {command[-1]}{lacks}",
        hint="install the package that contains this library" if library else "`ibench doctor` shows what is missing",
        detail=output or None,
    )


def _ways_to_ask(binary: str) -> list[tuple[str, ...]]:
    """Arguments that make a binary print its version: those of the flavours that have such a binary, or all."""
    every = flavour.every()
    likely = [one for one in every if binary in one.binaries] or every
    return list(dict.fromkeys(one.version_arguments for one in likely))


def _ask(label: str, command: tuple[str, ...], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=30,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **environment},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ServerStartError(
            f"build {label}: {command[0]} cannot be executed: {error}",
            hint="`ibench doctor` shows what is missing",
        ) from error
