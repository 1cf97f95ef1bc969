"""The consoles of the commands: results go to stdout, messages to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
from rich.console import Console
from rich.markup import escape

from ibench_lib.lake import reader

# A pipe has no width: do not cut or wrap lines there.
out = Console(width=None if sys.stdout.isatty() else 1000)
err = Console(stderr=True)


def print_problems(lake: duckdb.DuckDBPyConnection) -> None:
    """List the runs and files that a lake had to leave out."""
    for run_id, file, problem in reader.sql(lake, "SELECT run_id, file, problem FROM problems").iter_rows():
        err.print(f"[yellow]skipped[/] {escape(run_id)} {escape(file or '')}: {escape(problem)}")


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner with a short text, in a terminal only."""
    if err.is_terminal:
        with err.status(what):
            yield
    else:
        yield
