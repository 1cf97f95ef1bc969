"""What an importer is: a module of this folder that reads one kind of file, chosen by the content of the file.

A module with an object `IMPORTER` is an importer; no other code names it. Three rules hold, and `intake` enforces them:

1. It never invents a second. Samples of 10 s are not ten samples of 1 s: rows that stand for one second are taken only
   from a tool that reports every second (`ImportedRun.resolution_s`).
2. It never invents a bin. A percentile is a figure, not a histogram: rows with bins are taken only from a tool that
   recorded them (`ImportedRun.histograms`).
3. It never loses a line silently. Every line that it does not call `used` is counted in a warning with file and line.

What a file does not say stays NULL, with the reason in `ImportedRun.missing`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from ibench_lib.base.text_file import read_beginning
from ibench_lib.errors import UsageError

Row = Mapping[str, Any]

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


@dataclass(frozen=True)
class Told:
    """The input of an importer besides the path: the file's lines, and what the user says because the file does not.

    If its files name the setup and the dbms, the importer refuses those of the user.
    """

    lines: Lines
    setup: str | None = None
    dbms: str | None = None


@dataclass(frozen=True)
class ImportedStep:
    """A step of a run, and the first line that names it."""

    name: str
    line: int


@dataclass(frozen=True)
class ImportedRun:
    """One run that a file describes.

    Parameters
    ----------
    setup, dbms, repeat : they identify the result; a dbms is `<build>.<config>`.
    line : where the file names it.
    steps : in order, including steps that only other runs of the same setup have.
    rows : rows by table (schema.TABLES), only for tables that the tool has. `run_id` and `step_id` are filled in.
    resolution_s : interval of its samples in seconds; None if it has no samples.
    histograms : whether the tool recorded a histogram, or every response time, so that bins are its own.
    origin_wall : wall time of the run clock's zero; None if unknown.
    settings : the server's option file, as far as the file contains it.
    host : facts of the host, as far as the file contains them.
    missing : `table.column` -> why it is NULL.
    """

    setup: str
    dbms: str
    line: int
    steps: Sequence[ImportedStep]
    rows: Mapping[str, Iterable[Row]]
    repeat: int = 1
    resolution_s: float | None = None
    histograms: bool = False
    origin_wall: datetime | None = None
    settings: str = ""
    host: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


class Importer(Protocol):
    """Reads one kind of file. Libraries that are slow to import, or optional, are imported in `runs`."""

    @property
    def name(self) -> str:
        """What `--as` calls it."""

    @property
    def expects(self) -> str:
        """What its files look like, in one line for people."""

    def takes(self, path: Path) -> bool:
        """Whether a file is of its kind, judged by its content. The ending of its name does not matter."""

    def runs(self, path: Path, told: Told) -> Iterator[ImportedRun]:
        """The runs in a file.

        Raises
        ------
        UsageError : the file cannot be used (`Lines.refusal` names the line).
        """


def beginning(path: Path, most_bytes: int = 65_536) -> str:
    """The first lines of a file, for `takes`; empty if it is not text. A byte order mark is left out."""
    content = read_beginning(path, most_bytes)
    if b"\0" in content:
        return ""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return content[: error.start].decode("utf-8-sig") if error.start > len(content) - 4 else ""
