"""The options that a build of the MySQL family knows and their defaults, asked from the server binary itself."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ibench_lib.base.programs import ask_server_binary
from ibench_lib.base.scratch import PREFIX, scratch_directory
from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.errors import ServerStartError

if TYPE_CHECKING:
    from ibench_lib.servers.build import Build

_TABLE = re.compile(r"^Variables \(--variable-name=value\).*?\n-+ -+\n(.*?)\n\n", re.DOTALL | re.MULTILINE)
_OPTION = re.compile(r"^ {1,4}(?:-\S, )?--([a-z][a-z0-9_-]*)", re.MULTILINE | re.IGNORECASE)
_REFUSED_VALUE = re.compile(r"Error while setting value '(.*?)' to '(.*?)'")
_UNSET = "(No default value)"


def load_options(plugins: Sequence[str]) -> list[str]:
    """Server options that load plugins at start."""
    return [f"--plugin-load-add={plugin}" for plugin in plugins]


def plugin_folders(build: Build) -> list[Path]:
    """Where a build may have its plugins."""
    named = [option.partition("=")[2] for option in build.options if option.startswith("--plugin-dir=")]
    usual = ("lib/plugin", "lib/mysql/plugin", "lib64/mysql/plugin")
    return [Path(folder) for folder in named] or [build.basedir / folder for folder in usual]


def pinned_options(build: Build) -> list[str]:
    """Options that come after an option file and undo what it says of plugins, whatever it calls them."""
    folders = plugin_folders(build)
    folder = next((folder for folder in folders if folder.is_dir()), folders[0])
    return [f"--plugin-dir={folder}", "--plugin-load="]


def known_options(build: Build, plugins: Sequence[str] = ()) -> KnownOptions:
    """What `--verbose --help` lists with these plugins loaded. No data directory is touched.

    Raises
    ------
    ServerStartError : the server does not say.
    """
    options = (*build.options, *load_options(plugins))
    return _known(build.command, build.basedir, options, tuple(build.environment.items()), build.label)


def refusal(build: Build, my_cnf: str, plugins: Sequence[str] = ()) -> str | None:
    """The server's own message if it refuses a my.cnf; None if it accepts it. No data directory is touched."""
    options = (*pinned_options(build), *build.options, *load_options(plugins))
    return _refused(build.command, build.basedir, options, tuple(build.environment.items()), my_cnf)


@cache  # all repeats of a cell ask the same question
def _refused(
    command: tuple[str, ...],
    basedir: Path,
    options: tuple[str, ...],
    environment: tuple[tuple[str, str], ...],
    my_cnf: str,
) -> str | None:
    with scratch_directory(f"{PREFIX}options-") as scratch:
        path = scratch / "my.cnf"
        path.write_text(my_cnf, encoding="utf-8")
        result = _help(command, f"--defaults-file={path}", basedir, options, dict(environment), scratch)
    # InnoDB's values are looked at by a part of the server whose refusal does not end --help.
    values = [f"{_normal(name)} cannot be {value!r}" for value, name in _REFUSED_VALUE.findall(result.stderr)]
    if values:
        return "; ".join(dict.fromkeys(values))
    if result.returncode == 0:
        return None
    lines = [line for line in result.stderr.splitlines() if "[ERROR]" in line] or result.stderr.splitlines()
    messages = [re.sub(r"^.*\[ERROR\](?: \[[^]]*\])*\s*", "", line) for line in lines]
    return "; ".join(line for line in messages if line and line != "Aborting") or "it does not give a reason"


@cache
def _known(
    command: tuple[str, ...],
    basedir: Path,
    options: tuple[str, ...],
    environment: tuple[tuple[str, str], ...],
    label: str,
) -> KnownOptions:
    with scratch_directory(f"{PREFIX}options-") as scratch:
        result = _help(command, "--no-defaults", basedir, options, dict(environment), scratch)
    table = _TABLE.search(result.stdout)
    if result.returncode != 0 or table is None:
        raise ServerStartError(
            f"build {label}: {command[-1]} --verbose --help lists no variables (exit {result.returncode})",
            hint="`ibench servers check` shows more",
            detail=result.stderr.strip()[-2000:] or None,
        )
    defaults, names = {}, {_normal(name) for name in _OPTION.findall(result.stdout[: table.start()])}
    for line in table[1].splitlines():
        name, _, value = line.partition(" ")
        names.add(_normal(name))
        if value.strip() != _UNSET:
            defaults[_normal(name)] = value.strip()
    return KnownOptions(frozenset(names), defaults)


def _normal(name: str) -> str:
    return name.replace("-", "_").lower()


def _help(
    command: tuple[str, ...],
    defaults: str,
    basedir: Path,
    options: tuple[str, ...],
    environment: dict[str, str],
    scratch: Path,
) -> subprocess.CompletedProcess[str]:
    where = [f"--basedir={basedir}", f"--datadir={scratch}", f"--tmpdir={scratch}"]
    asked = [*command, defaults, *where, *options, "--verbose", "--help"]
    return ask_server_binary(asked, f"{command[-1]} --verbose --help", environment, scratch)
