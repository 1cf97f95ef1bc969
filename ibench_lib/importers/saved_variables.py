r"""Reads what somebody has saved of a server: its variables, as the server's client prints them.

Clients print two columns: parted by a tab, in a table of `|`, or each in a line of its own (`\G`). The families of
servers know the names by which such text is recognised, and which values may be kept (`SavedOutput`). A file may have
several outputs. Rows of the status of the server are counted and not read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from ibench_lib.base.later import later
from ibench_lib.base.mask import MASKED
from ibench_lib.importers.lines import LineBlocks
from ibench_lib.store.masking import IDENTITIES, PLACES

if TYPE_CHECKING:
    from ibench_lib.servers.flavours import flavour
    from ibench_lib.servers.flavours.flavour import SavedOutput
else:
    flavour = later("ibench_lib.servers.flavours.flavour")

Kind = Literal["variables", "status", "summary"]

MOST_NAMES = 5_000
"""Of one file."""

_KNOWN_NAMES = 3
"""How many known names show what text without a header is."""

_NAME = re.compile(r"[a-z][A-Za-z0-9_.]{1,63}", re.ASCII)
_OF_STATUS = re.compile(r"[A-Z][a-z][A-Za-z0-9]*(?:_\w{1,80})?", re.ASCII)
_BORDER = re.compile(r"\+-+\+-+\+")
_LIKE_A_BORDER = re.compile(r"\*{10,} {1,3}\d{1,6}\. row \*{10,}|\d{1,6} rows? in set(?:, .{1,40})?(?: \(.{1,40}\))?")
_NAMED, _VALUED = "Variable_name: ", "Value: "
_LONGEST_VALUE = 4_096
"""What is longer is masked, so that no more of it has to be in memory."""


@dataclass
class Variables:
    """The variables in a file as they may be kept, and what else there is to say of it.

    Parameters
    ----------
    server : flavour, version and what the maker says of it, as they may be kept; None if the file does not tell them.
    values : the variables of the server by name.
    of_a_session : whether a session has asked, which may have other values than the server.
    differing : names that the file has with several values; `values` does not have them.
    status_rows : how many rows of the status of the server there are.
    """

    server: tuple[str, str, str] | None = None
    values: dict[str, str] = field(default_factory=dict)
    of_a_session: bool = False
    differing: set[str] = field(default_factory=set)
    status_rows: int = 0


def recognised(beginning: str) -> tuple[SavedOutput, Kind] | None:
    """What a file is by its beginning: of which family, and whether variables, status or a summary; None if neither."""
    if not beginning:
        return None
    for saved in _all_saved():
        if beginning.startswith(saved.summary):
            return saved, "summary"
        has_header, names = _names_in(beginning, saved)
        variables, status = saved.variables.intersection(names), saved.status.intersection(names)
        if len(variables) >= _KNOWN_NAMES or len(status) >= _KNOWN_NAMES:
            return saved, "status" if len(status) > len(variables) else "variables"
        if has_header:
            return saved, "status" if names and _OF_STATUS.fullmatch(names[0]) else "variables"
    return None


def _names_in(beginning: str, saved: SavedOutput) -> tuple[bool, list[str]]:
    """Whether there is a header before the first row, and the names of the rows."""
    rows = _Rows(saved)
    lines = beginning.split("\n")[:-1]
    names = [row[0] for number, line in enumerate(lines) for row in rows.of(number, line.removesuffix("\r"))]
    return rows.has_header, names


def read_variables(blocks: LineBlocks, saved: SavedOutput) -> Variables:
    """The variables of a file. Lines that are no row of an output are lost, and so is a last line that may be cut."""
    found, raw = Variables(), dict[str, str]()
    rows = _Rows(saved)
    in_status, last = False, ""
    for first, lines in blocks:
        for number, line in enumerate(lines, start=first):
            if number == blocks.unterminated:
                blocks.lost.add([number])
                continue
            for name, value in rows.of(number, line):
                # Some names of status begin with small letters; a name that goes back begins another output.
                small = _NAME.fullmatch(name) is not None
                in_status = not small or (in_status and name.lower() > last and not rows.begins)
                last, rows.begins = name.lower(), False
                if in_status:
                    found.status_rows += 1
                elif not saved.is_variable(name) or (name not in raw and len(raw) >= MOST_NAMES):
                    blocks.lost.add([number])
                elif raw.setdefault(name, value[: _LONGEST_VALUE + 1]) != value[: _LONGEST_VALUE + 1]:
                    found.differing.add(name)
            blocks.lost.add(rows.lost)
            rows.lost.clear()
    blocks.lost.add(rows.at_the_end())
    for name in found.differing:
        del raw[name]
    found.of_a_session = not saved.of_a_session.isdisjoint(raw)
    # Many files have the same names and values: each is in memory once.
    found.values = {
        sys.intern(name): sys.intern(_kept(saved, name, value))
        for name, value in sorted(raw.items())
        if name not in saved.of_a_session
    }
    found.server = _server(saved, raw, found.values)
    return found


def _kept(saved: SavedOutput, name: str, value: str) -> str:
    """A value, or what stands for it in measured runs, too."""
    word = IDENTITIES.get(name) or PLACES.get(name)
    if value and word is not None:
        return word
    return MASKED if len(value) > _LONGEST_VALUE else saved.kept(name, value)


def _server(saved: SavedOutput, raw: dict[str, str], kept: dict[str, str]) -> tuple[str, str, str] | None:
    """Flavour, version and comment of the server, if its own words tell them."""
    words = saved.described(raw)
    known = flavour.recognise(words) if words is not None else None
    if known is None or flavour.find(known[0]).saved is not saved:
        return None
    return known[0], kept["version"], kept["version_comment"]


@lru_cache
def _all_saved() -> tuple[SavedOutput, ...]:
    """Of each family whose saved output is known."""
    return tuple(dict.fromkeys(one.saved for one in flavour.every() if one.saved is not None))


class _Rows:
    """Takes the lines of outputs apart. `lost` has numbers of lines that are none of an output.

    `begins` is set by a header; whoever reads the rows takes it back.
    """

    def __init__(self, saved: SavedOutput) -> None:
        self._header = saved.header
        self._pending: tuple[int, str] | None = None
        self.lost: list[int] = []
        self.has_header = False
        self.begins = False

    def of(self, number: int, line: str) -> Iterator[tuple[str, str]]:
        """The row in a line, if there is one: a name and a value."""
        row = self._parted(number, line)
        if row is None:
            return
        name, value = row
        if (name.lower(), value.lower()) == self._header:
            self.has_header = self.begins = True
        elif not value.isprintable() or not (_NAME.fullmatch(name) or _OF_STATUS.fullmatch(name)):
            self.lost.append(number)
        else:
            yield name, value

    def at_the_end(self) -> list[int]:
        """The line of a name that has no value behind it."""
        return [self._pending[0]] if self._pending is not None else []

    def _parted(self, number: int, line: str) -> tuple[str, str] | None:
        pending, self._pending = self._pending, None
        text = line.strip()
        if pending is not None and text.startswith(_VALUED.rstrip()):
            return pending[1], text[len(_VALUED) :].strip()
        if pending is not None:
            self.lost.append(pending[0])
        if text.startswith(_NAMED):
            self.has_header = True
            self._pending = number, text[len(_NAMED) :].strip()
        elif "\t" in line:
            name, _, value = line.partition("\t")
            if "\t" not in value:
                return name.strip(), value.strip()
            self.lost.append(number)
        elif text.startswith("| ") and text.endswith(" |"):
            name, bar, value = text[2:-2].partition(" | ")
            if bar:
                return name.strip(), value.strip()
            self.lost.append(number)
        elif text and not _BORDER.fullmatch(text) and not _LIKE_A_BORDER.fullmatch(text):
            self.lost.append(number)
        return None
