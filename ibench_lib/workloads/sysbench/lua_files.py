"""Lua files of the user's own: read, known by their digest, and asked which options they have."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ibench_lib.base.text_file import NotReadable, read_text
from ibench_lib.base.wording import suggestion
from ibench_lib.client.external import CannotDrive
from ibench_lib.errors import ExperimentError

MOST_BYTES = 1_000_000
HELP_S = 10
"""How long a script may take to say its options."""

_OPTION_LINE = re.compile(r"^  --([a-z0-9_-]+)[=\[ ]", re.MULTILINE)
_NO_HELP = "does not implement the 'help' command"
_BAD = re.compile(r"\b(?:FATAL|ALERT|PANIC)\b:? *(.*)")


@dataclass(frozen=True)
class LuaFile:
    """A file: `name` without `.lua`, where it lies, and what is in it."""

    name: str
    path: str
    sha256: str


def read_lua(path: Path) -> LuaFile:
    """A Lua file. Raises ExperimentError."""
    try:
        return LuaFile(path.stem, str(path.absolute()), _digest(path))
    except FileNotFoundError:
        raise ExperimentError(f"workload.lua: there is no file {path}") from None
    except NotReadable as error:
        raise ExperimentError(f"workload.lua: {path}: {error}") from error


def require_unchanged(files: Iterable[LuaFile]) -> None:
    """That files are as they were when the experiment was read. Raises CannotDrive."""
    for file in files:
        try:
            now = _digest(Path(file.path))
        except (OSError, NotReadable) as error:
            raise CannotDrive(f"{file.name}.lua cannot be read: {error}") from None
        if now != file.sha256:
            raise CannotDrive(f"{file.name}.lua has changed since the experiment was started")


@cache
def options_of(program: str, script: str, bundled: str) -> frozenset[str] | None:
    """The options that a script has, with dashes, as `sysbench SCRIPT help` says; None if its help is its own.

    Raises
    ------
    CannotDrive : the script cannot be loaded.
    """
    name = os.path.basename(script)
    path = f"{os.path.dirname(script)}/?.lua;{bundled}/?.lua;;"
    try:
        done = subprocess.run(
            [program, script, "help"],
            env={**os.environ, "LUA_PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=HELP_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CannotDrive(
            f"{name} did not say its options within {HELP_S} s: does it loop outside of its functions?"
        ) from None
    except OSError as error:
        raise CannotDrive(f"{program}: {error.strerror}") from None
    said = done.stdout + done.stderr
    if _NO_HELP in said:  # as it is where a script has no options
        return frozenset()
    if done.returncode != 0 or (_BAD.search(said) and not _OPTION_LINE.search(said)):
        reason = _BAD.search(said)
        why = (reason[1] if reason else said.strip().partition("\n")[0]).replace(script, name).strip()
        raise CannotDrive(f"{name} does not load: {why[:200] or f'exit {done.returncode}'}")
    return frozenset(option.replace("_", "-") for option in _OPTION_LINE.findall(said)) or None


def require_options(script: str, known: frozenset[str] | None, given: Iterable[str]) -> None:
    """That a script has these options, if it is known which it has. Raises CannotDrive."""
    for option in given:
        if known is not None and option not in known:
            name = os.path.basename(script)
            raise CannotDrive(f"{name} has no option {option}{suggestion(option, sorted(known))}")


def _digest(path: Path) -> str:
    return hashlib.sha256(read_text(path, MOST_BYTES).encode()).hexdigest()
