"""How a family of servers writes its option files: names of files, lines, sizes, values that mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

from ibench_lib.configs.option_file import Line, parse, render

_SIZE = re.compile(r"([0-9]{1,20})([KMGTPE]?)", re.IGNORECASE)
_UNITS = {unit: 1 << (10 * power) for power, unit in enumerate(["", "K", "M", "G", "T", "P", "E"])}
_SWITCHES = {"on": "1", "true": "1", "yes": "1", "off": "0", "false": "0", "no": "0"}


class Written(NamedTuple):
    """An option to write. `note` says where it comes from; None to leave that out."""

    key: str
    value: str | None
    note: str | None = None


class Syntax(Protocol):
    """The option files of a family. `suffix` is that of its fragments and complete files, such as `.cnf`."""

    suffix: str

    def parse(self, text: str, name: str, folder: Path | None, group: str) -> list[Line]:
        """The options of a file, in order. Where files have no groups, all lines are in `group`.

        `name` is what the file is called in messages, `folder` where files that it includes must lie.

        Raises
        ------
        ConfigError : a line that the servers would refuse.
        """

    def line(self, key: str, value: str | None) -> str:
        """One option as it stands in a file."""

    def text(self, group: str, options: Iterable[Written]) -> str:
        """A file that `parse` and the servers read. An option is a line `name=value`; its note follows `#`."""

    def size(self, text: str) -> int | None:
        """The number that a size such as 80G stands for; None for what is none."""

    def canonical(self, value: str) -> str:
        """One way of writing for all values that mean the same: 1073741824 for 1G, 1 for ON."""


class MyCnf:
    """Option files of MySQL and the servers that descend from it."""

    suffix = ".cnf"

    def parse(self, text: str, name: str, folder: Path | None, group: str) -> list[Line]:
        """As `option_file.parse`: these files name their groups themselves."""
        return parse(text, name, folder)

    def line(self, key: str, value: str | None) -> str:
        """Quoted where that is needed."""
        return render(key, value)

    def text(self, group: str, options: Iterable[Written]) -> str:
        """One group."""
        lines = [f"[{group}]"]
        for key, value, note in options:
            line = render(key, value)
            lines.append(line if note is None else f"{line:<50} # {note}")
        return "\n".join(lines) + "\n"

    def size(self, text: str) -> int | None:
        """Bytes, with K to E for powers of 1024."""
        return size(text)

    def canonical(self, value: str) -> str:
        """Without regard to case, and to the order of a list."""
        text = value.strip().lower()
        text = _SWITCHES.get(text, text)
        in_bytes = size(text)
        if in_bytes is not None:
            return str(in_bytes)
        try:
            number = float(text)
        except ValueError:
            return ",".join(sorted({part.strip() for part in text.split(",")}))
        return str(int(number)) if number.is_integer() else repr(number)


MY_CNF: Syntax = MyCnf()


def size(text: str) -> int | None:
    """Bytes of a size such as 80G, None for what is none."""
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _UNITS[match[2].upper()] if match else None
