"""`ibench sql`: ask the lake, list what can be asked, and write answers to the screen or a file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ibench_lib.base.later import later
from ibench_lib.base.wording import suggestion
from ibench_lib.cli import known_names
from ibench_lib.cli.output import (
    err,
    one_line,
    out,
    plain_lines,
    print_problems,
    safe,
    visible,
    write_csv,
    write_json,
    write_jsonl,
    write_tsv,
)
from ibench_lib.errors import UsageError

if TYPE_CHECKING:
    from ibench_lib.store import catalogue, reader
else:
    catalogue, reader = later("ibench_lib.store.catalogue"), later("ibench_lib.store.reader")

_ROWS_IN_A_TABLE = 1000
_WIDEST = 100
"""Characters of a cell in a table; `vertical` and the other formats have all of it."""

_LARGE, _EXACT = 1e5, 1e15
"""From where on six digits of a number are too few, and to where all that stand before the point are exact."""


class Format(StrEnum):
    """How `ibench sql` prints its answer."""

    table = "table"
    vertical = "vertical"
    csv = "csv"
    tsv = "tsv"
    json = "json"
    jsonl = "jsonl"


_WRITERS = {Format.csv: write_csv, Format.tsv: write_tsv, Format.json: write_json, Format.jsonl: write_jsonl}
_OF_SUFFIX = {f".{name}": write for name, write in _WRITERS.items()}
_SUFFIXES = ".parquet, .csv, .tsv, .json or .jsonl"


def sql(
    query: Annotated[
        str | None, typer.Argument(help="SQL for DuckDB; - or nothing reads it from standard input.")
    ] = None,
    output: Annotated[Format, typer.Option("--format", "-f", help="How to print the answer.")] = Format.table,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    to: Annotated[Path | None, typer.Option("--output", "-o", help=f"A new file for it: {_SUFFIXES}.")] = None,
    tables: Annotated[bool, typer.Option("--tables", help="List tables, views and questions instead.")] = False,
    describe: Annotated[
        str | None,
        typer.Option(
            "--describe",
            help="Explain a table, view or question and its columns instead.",
            autocompletion=known_names.answerable,
        ),
    ] = None,
) -> None:
    """Run SQL on the lake: the tables of docs/schema.md and `runs` are views.

    A question takes runs and steps: FROM questions.sla(runs_of('demo'), []) asks for all steps of an experiment.

    The table format prints one line per row and cuts long cells. The format vertical shows them whole; csv, tsv, json
    and jsonl have every digit.

    The statement runs with your permissions: DuckDB can read and write your files. Do not run SQL that you do
    not trust.

    [bold]Example:[/] ibench sql "SELECT run_id, step, duration_s FROM steps ORDER BY ALL"
    """
    output = Format.json if as_json else output
    if tables:
        _print_table(["kind", "name", "what it is"], iter(_listed()))
        return
    if describe is not None:
        _describe(describe)
        return
    text = _text_of(query)
    statements = reader.statements(text)
    if not statements:
        raise UsageError("there is no statement, only comments", hint="`ibench sql --tables` lists what can be asked")
    if len(statements) > 1 and (to is not None or output in _WRITERS):
        kind = "a file" if to is not None else output.value
        raise UsageError(
            f"there are {len(statements)} statements, and {kind} has one answer", hint="ask them one by one"
        )
    if to is not None:
        _write(text, to)
        return
    lake = reader.lake()
    for number, statement in enumerate(statements):
        out.file.write("\n" * bool(number))
        with reader.rows(lake, statement) as (names, rows):
            if output in _WRITERS:
                _WRITERS[output](sys.stdout, names, rows)
            elif output is Format.vertical:
                _print_vertical(names, rows)
            else:
                _print_table(names, rows)
    print_problems(lake)


def _text_of(query: str | None) -> str:
    """The statement, which may stand in standard input. Raises UsageError where it is empty."""
    if query is None and sys.stdin.isatty():
        raise UsageError("there is no statement", hint='ibench sql "FROM runs"; --tables lists what can be asked')
    text = sys.stdin.read() if query in (None, "-") else query or ""
    if not text.strip():
        raise UsageError("the statement is empty", hint='ibench sql "FROM runs"; --tables lists what can be asked')
    return text


def _write(text: str, to: Path) -> None:
    """The answer in a new file, whose name says how. Raises UsageError, QueryError, OSError."""
    if to.suffix != ".parquet" and to.suffix not in _OF_SUFFIX:
        raise UsageError(f"{to}: unknown kind of file {to.suffix!r}", hint=f"name it {_SUFFIXES}")
    if to.exists():
        raise UsageError(f"{to} exists already", hint="give another name, or remove it")
    lake = reader.lake()
    if to.suffix == ".parquet":
        reader.write_parquet(lake, text, to)
    else:
        with reader.rows(lake, text) as (names, rows), open(to, "x", encoding="utf-8", newline="") as file:
            _OF_SUFFIX[to.suffix](file, names, rows)
    err.print(f"wrote {safe(str(to))}", soft_wrap=True)
    print_problems(lake)


def _print_table(names: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    """One line a row, columns as wide as their rows need. A thousand rows at a time: a long answer is not held."""
    was_cut, any_rows = False, False
    while part := list(islice(rows, _ROWS_IN_A_TABLE)):
        any_rows = True
        cells = [[_cell(value) for value in row] for row in part]
        was_cut = was_cut or any(len(cell) > _WIDEST for line in cells for cell in line)
        right = [all(isinstance(value, int | float | None) for value in column) for column in zip(*part, strict=True)]
        lines = [list(names), *([_cut(cell) for cell in line] for line in cells)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            placed = zip(line, widths, right, strict=True)
            text = "  ".join(cell.rjust(width) if number else cell.ljust(width) for cell, width, number in placed)
            out.file.write(text.rstrip() + "\n")
    if not any_rows:
        out.file.write("  ".join(names) + "\n")
        err.print("[dim]no rows[/]")
    if was_cut:
        err.print(f"[dim]cells are cut to {_WIDEST} characters; -f vertical shows them whole[/]", soft_wrap=True)


def _print_vertical(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A line a value: what is too wide for a table."""
    width = max(map(len, names))
    for number, row in enumerate(rows, 1):
        out.file.write(f"row {number}\n")
        for name, value in zip(names, row, strict=True):
            lines = _cell(value, lines=True).split("\n")
            out.file.write(f"  {name.ljust(width)}  " + f"\n  {'':{width}}  ".join(lines) + "\n")


def _cell(value: Any, *, lines: bool = False) -> str:
    """A value as text; its own lines stay where they are wanted."""
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < _LARGE else f"{value:.1f}" if abs(value) < _EXACT else f"{value:g}"
    text = str(value)
    if lines:
        return _lines(text)
    return one_line(text)


def _cut(cell: str) -> str:
    return cell if len(cell) <= _WIDEST else cell[: _WIDEST - 1] + "…"


def _listed() -> list[tuple[str, str, str]]:
    found = []
    for kind, name, text in catalogue.documented():
        given = catalogue.parameters_in_order(name)
        found.append((kind, f"{name}({', '.join(given)})" if given else name, _first_sentence(text)))
    return found


def _first_sentence(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line.split(". ")[0].rstrip(".")


def _describe(name: str) -> None:
    """What a table, view or question is, and its columns. Raises UsageError for an unknown name."""
    known = {found: (kind, text) for kind, found, text in catalogue.documented()}
    full = name if name in known else f"questions.{name}"
    if full not in known:
        names = [found.removeprefix("questions.") for found in known]
        near = suggestion(name, names)
        raise UsageError(
            f"there is no table, view or question {name!r:.80}{near}", hint="`ibench sql --tables` lists them"
        )
    kind, text = known[full]
    out.file.write(f"{full}: {kind.removesuffix('s')}\n\n{_lines(text)}\n")
    columns = reader.described(full)
    if columns:
        out.file.write("\n" + "\n".join(plain_lines(["column", "type", "unit", "meaning"], columns)) + "\n")


def _lines(text: str) -> str:
    """Text of several lines, without control characters."""
    return "\n".join(visible(line) for line in text.split("\n"))
