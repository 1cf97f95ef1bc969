"""The options that a build of PostgreSQL knows, their defaults, and whether it accepts an option file."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ibench_lib.base.programs import ask_server_binary
from ibench_lib.base.scratch import PREFIX, scratch_directory
from ibench_lib.configs.meaning import KnownOptions
from ibench_lib.errors import ServerStartError

if TYPE_CHECKING:
    from ibench_lib.servers.build import Build

_SAMPLE = "postgresql.conf.sample"
_DEFAULT = re.compile(r"#?([a-z_]+) = ('[^']*'|[^\s#']+)")
_LEVEL = re.compile(r"^.*?(?:LOG|FATAL|ERROR|WARNING):\s+")
_PLACE = re.compile(r' in file "[^"]*"(?: line \d+)?')


def known_options(build: Build) -> KnownOptions:
    """What `--describe-config` lists, with the defaults that the build's sample file says.

    Raises
    ------
    ServerStartError : the server does not say.
    """
    return _known(build.command, build.basedir, tuple(build.environment.items()), build.label)


def refusal(build: Build, text: str) -> str | None:
    """The server's own message if it refuses an option file; None if it accepts it."""
    return _refused(build.command, tuple(build.environment.items()), text)


@cache
def _known(
    command: tuple[str, ...], basedir: Path, environment: tuple[tuple[str, str], ...], label: str
) -> KnownOptions:
    result = ask_server_binary([*command, "--describe-config"], command[0], dict(environment))
    names = {line.partition("\t")[0].lower() for line in result.stdout.splitlines() if "\t" in line}
    if result.returncode != 0 or not names:
        raise ServerStartError(
            f"build {label}: {command[-1]} --describe-config lists no options (exit {result.returncode})",
            hint="`ibench servers check` shows more",
            detail=result.stderr.strip()[-2000:] or None,
        )
    sample = _sample(basedir)
    text = sample.read_text(encoding="utf-8", errors="replace") if sample is not None else ""
    lines = (match for match in map(_DEFAULT.match, text.splitlines()) if match)
    defaults = {match[1]: match[2].strip("'") for match in lines if match[1] in names}
    return KnownOptions(frozenset(names), defaults)


@cache  # all repeats of a cell ask the same question
def _refused(command: tuple[str, ...], environment: tuple[tuple[str, str], ...], text: str) -> str | None:
    with scratch_directory(f"{PREFIX}options-") as scratch:
        # It reads both before it answers any question, and refuses a line of a file as it would at its start.
        (scratch / "postgresql.conf").write_text(text, encoding="utf-8")
        (scratch / "postgresql.auto.conf").touch()
        # -C comes first: then it may be asked by root.
        result = ask_server_binary(
            [*command, "-C", "shared_buffers", "-D", str(scratch)], command[0], dict(environment)
        )
    if result.returncode == 0:
        return None
    said = [_PLACE.sub("", _LEVEL.sub("", line)) for line in result.stderr.splitlines() if line.strip()]
    return "; ".join(line for line in said if "contains errors" not in line) or "it does not give a reason"


def _sample(basedir: Path) -> Path | None:
    """The file that explains every option; distributions keep it apart from the programs."""
    series = basedir.name
    shares = [basedir / "share", basedir / "share" / "postgresql", *(
        above / "share" / "postgresql" / series for above in basedir.parents
    )]  # fmt: skip
    return next((share / _SAMPLE for share in shares if (share / _SAMPLE).is_file()), None)
