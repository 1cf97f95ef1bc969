"""Text that an importer reads: lines that are accounted for, and numbers that are plain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ibench_lib.errors import UsageError

_DECIMAL = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_MOST = 1e15
_MOST_S = 1e9
_LONGEST_LINE = 1 << 20
_NAMED = 5


@dataclass
class Lost:
    """How many lines of a file were not understood, and the first of their numbers. Its memory has a bound."""

    count: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, numbers: Iterable[int]) -> None:
        """Count lines, in any order."""
        for number in numbers:
            self.count += 1
            if len(self.first) < _NAMED or number < self.first[-1]:
                self.first = sorted([*self.first, number])[:_NAMED]


class Lines:
    """The lines of a file, numbered from 1. A line that is not blank and not `used` counts as not understood."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self._lines = text.split("\n")
        self._used: set[int] = set()

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Number and text of each line, without the end of the line."""
        for number, line in enumerate(self._lines, start=1):
            yield number, line.removesuffix("\r")

    def used(self, first: int, last: int | None = None) -> None:
        """Mark a line, or a range of lines, as understood: nothing in it is lost."""
        self._used.update(range(first, (last or first) + 1))

    def not_understood(self) -> list[int]:
        """Numbers of the lines that the importer did not use."""
        return [number for number, line in self if line.strip() and number not in self._used]

    @property
    def lost(self) -> Lost:
        """The same, as it is said."""
        lost = Lost()
        lost.add(self.not_understood())
        return lost

    def refusal(self, number: int, what: str, hint: str | None = None) -> UsageError:
        """An error that names the file and the line."""
        return refusal(self.path, number, what, hint)

    def decimal(self, text: str, number: int, name: str) -> float:
        """A plain decimal number of at least 0, such as 12648 or 0.002; in seconds if `name` ends in `_s`.

        Raises
        ------
        UsageError : anything else: signs, exponents, separators, other digits, numbers out of range or too small.
        """
        if not _DECIMAL.fullmatch(text):
            raise self.refusal(
                number,
                f"{name} is {text!r:.80}, not a number of at least 0",
                "numbers are plain, such as 12648 or 0.002",
            )
        value, most = float(text), _MOST_S if name.endswith("_s") else _MOST
        if value > most:
            raise self.refusal(number, f"{name} is {text!r:.80}, over {most:.0e}")
        if value == 0 and re.search("[1-9]", text):
            raise self.refusal(number, f"{name} is {text!r:.80}, too small to be stored")
        return value


class LineBlocks:
    """The lines of a file that may be larger than memory, in blocks. The importer says which lines are `lost`.

    A line of over 1 MiB is lost; it reads as an empty line and is never in memory. `unterminated` is the number of the
    last line if nothing ends it: it may be cut. It is known when the line is read.

    Parameters
    ----------
    path : name of the file for errors.
    content : its bytes; a byte order mark is left out.
    """

    def __init__(self, path: Path, content: Iterable[bytes]) -> None:
        self.path = path
        self.lost = Lost()
        self.unterminated: int | None = None
        self._content = content

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """The number of the first line of each block, and its lines without their ends.

        Raises
        ------
        UsageError : a line is not UTF-8.
        """
        number, begun, is_long = 1, b"", False
        for block in self._content:
            whole, newline, rest = block.rpartition(b"\n")
            if newline:
                lines = self._decoded(number, b"" if is_long else begun, whole, is_long)
                yield number, lines
                number += len(lines)
                begun, is_long = rest, False
            elif not is_long:
                begun += block
            if len(begun) > _LONGEST_LINE:
                self.lost.add([number])
                begun, is_long = b"", True
        if begun:
            self.unterminated = number
            yield number, self._decoded(number, b"", begun, False)

    def _decoded(self, number: int, begun: bytes, whole: bytes, is_long: bool) -> list[str]:
        """Lines of a block. If `is_long`, it begins with the rest of a line that is lost."""
        content = begun + whole
        if is_long:
            content = content[content.find(b"\n") :] if b"\n" in content else b""
        try:
            text = content.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            line = number + content.count(b"\n", 0, error.start)
            raise refusal(self.path, line, "it is not UTF-8") from error
        lines = text.split("\n")
        return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def refusal(path: Path, number: int, what: str, hint: str | None = None) -> UsageError:
    """An error that names a file and a line."""
    return UsageError(f"{path}:{number}: {what}", hint=hint)
