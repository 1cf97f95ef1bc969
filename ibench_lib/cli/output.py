"""The consoles of the commands: results go to stdout, messages to stderr."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape

from ibench_lib.errors import LakeError, UsageError
from ibench_lib.paths import Workspace

if TYPE_CHECKING:
    import duckdb

# A pipe has no width: do not cut or wrap lines there.
out = Console(width=None if sys.stdout.isatty() else 1000)
err = Console(stderr=True)

# Control characters could move the cursor, set the title of a window or turn the direction of text; a terminal obeys.
_MOST_PROBLEMS = 200
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class TextOrJson(StrEnum):
    """How commands print what is either for people or for programs."""

    table = "table"
    json = "json"


FORMAT = typer.Option("--format", "-f", help="How to print it: json is the same as --json.")


def safe(text: str) -> str:
    """The text as a terminal may have it: no markup of ours, control characters by their codes."""
    return escape(visible(text))


def visible(text: str) -> str:
    """The text with control characters by their codes."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def plain_lines(names: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table of one line a row, whose columns are as wide as they need."""
    lines = [list(names), *([one_line(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def one_line(text: str) -> str:
    """The text without control characters, on one line."""
    return visible(" ".join(text.split("\n")).replace("\t", " "))


def write_csv(file: IO[str], names: Sequence[str], rows: Iterable[Iterable[Any]], delimiter: str = ",") -> None:
    """Rows as they come."""
    writer = csv.writer(file, lineterminator="\n", delimiter=delimiter)
    writer.writerow(names)
    writer.writerows(rows)


def write_json(file: IO[str], names: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """An array of objects, row by row as they come."""
    before = "[\n"
    for row in rows:
        file.write(before + json.dumps(dict(zip(names, row, strict=True)), default=str, indent=1))
        before = ",\n"
    file.write("[]\n" if before == "[\n" else "\n]\n")


def write_tsv(file: IO[str], names: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """As CSV, with tabs between the columns."""
    write_csv(file, names, rows, delimiter="\t")


def write_jsonl(file: IO[str], names: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """An object a line, row by row as they come."""
    for row in rows:
        file.write(json.dumps(dict(zip(names, row, strict=True)), default=str) + "\n")


def check_line(text: str, what: str, most: int = 1000) -> None:
    """Refuse what is no line of text to show to people. Raises UsageError."""
    found = _CONTROL.search(text) or re.search("[\n\t]", text)
    if found:
        raise UsageError(f"the {what} has a control character, U+{ord(found[0]):04X}", hint="give it as one plain line")
    if len(text) > most:
        raise UsageError(
            f"the {what} has {len(text):,} characters; at most {most:,} are allowed",
            hint="write less, and link to the rest",
        )


def print_problems(lake: duckdb.DuckDBPyConnection) -> None:
    """List the runs and files that a lake had to leave out."""
    from ibench_lib.store import reader  # only what opens a lake waits for what that imports

    with reader.rows(lake, "SELECT run_id, file, problem FROM problems") as (_, rows):
        problems = list(rows)
    for run_id, file, problem in problems[:_MOST_PROBLEMS]:
        err.print(f"[yellow]skipped[/] {safe(run_id)} {safe(file or '')}: {safe(problem)}", soft_wrap=True)
    if len(problems) > _MOST_PROBLEMS:
        err.print(
            f"[yellow]skipped[/] {len(problems) - _MOST_PROBLEMS:,} more: ibench sql 'FROM problems'", soft_wrap=True
        )


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner with a short text, in a terminal only."""
    if err.is_terminal:
        with err.status(what):
            yield
    else:
        yield


def done_elsewhere(run_ids: Iterable[str], experiment: str, place: Workspace) -> str | None:
    """A word on cells that count as done by runs of another experiment; None where there are none."""
    from ibench_lib.store.manifest import read_manifest

    names: list[str] = []
    for run_id in run_ids:
        with suppress(LakeError):
            names.append(read_manifest(place.run_dir(run_id)).experiment.name)
    others = sorted({name for name in names if name != experiment})
    if not others:
        return None
    of_others = sum(name != experiment for name in names)
    one = of_others == 1
    return (
        f"{of_others} of the finished cells {'comes from a run' if one else 'come from runs'} of {', '.join(others)} "
        f"with the same build, configuration and workload. A post with `experiment: {experiment}` does not show "
        f"{'that run' if one else 'those runs'}; `ibench run --again` runs finished cells again, for {experiment}."
    )
