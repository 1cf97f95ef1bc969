"""Text that an importer reads: lines that are accounted for, and numbers that are plain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ibench_lib.errors import UsageError

_DECIMAL = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_MOST = 1e15
_MOST_S = 1e9


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

    def refusal(self, number: int, what: str, hint: str | None = None) -> UsageError:
        """An error that names the file and the line."""
        return UsageError(f"{self.path}:{number}: {what}", hint=hint)

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
