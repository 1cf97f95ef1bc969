"""A lake as IPython and JupyterLab show it: where it is, and what it has."""

from __future__ import annotations

import html
import weakref
from contextlib import suppress
from typing import Any

import duckdb

from ibench_lib.base.interactive import show_as
from ibench_lib.base.wording import count

_WHERE: weakref.WeakKeyDictionary[duckdb.DuckDBPyConnection, str] = weakref.WeakKeyDictionary()

_EXPERIMENTS = """
SELECT
    experiment, count(*), count(*) FILTER (status = 'running'), count(*) FILTER (status IN ('failed', 'interrupted')),
    count(DISTINCT dbms), count(DISTINCT setup), max(origin_wall)
FROM runs GROUP BY experiment ORDER BY max(origin_wall) DESC, experiment
"""
_HEADS = ("experiment", "runs", "running", "not completed", "dbms", "setups", "newest run (UTC)")
_MOST_LISTED = 20


def remember_where(lake: duckdb.DuckDBPyConnection, where: str) -> None:
    """Note where the runs of a lake are, and let a notebook show lakes."""
    _WHERE[lake] = where
    show_as(duckdb.DuckDBPyConnection, html_of, text_of)


def where(lake: duckdb.DuckDBPyConnection) -> str:
    """Where the runs of a lake are: a folder or an address; empty for a connection that is no lake."""
    return _WHERE.get(lake, "")


def text_of(lake: duckdb.DuckDBPyConnection) -> str | None:
    """A lake in a line, such as `lake in data: 21 runs of 1 experiment, 0 problems`; None for anything else."""
    shown = _found(lake)
    return shown[0] if shown is not None else None


def html_of(lake: duckdb.DuckDBPyConnection) -> str | None:
    """The line of `text_of`, and a table of the experiments; None for a connection that is no lake."""
    shown = _found(lake)
    if shown is None:
        return None
    line, rows = shown
    heads = "".join(f"<th>{head}</th>" for head in _HEADS)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>"
        for row in rows[:_MOST_LISTED]
    )
    more = f"<p>and {count(len(rows) - _MOST_LISTED, 'more experiment')}</p>" if len(rows) > _MOST_LISTED else ""
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{more}" if rows else ""
    return f"<p>{html.escape(line)}</p>{table}"


def _found(lake: duckdb.DuckDBPyConnection) -> tuple[str, list[tuple[Any, ...]]] | None:
    """The line, and the rows of the experiments. A cursor leaves an answer that is being fetched alone."""
    place = where(lake)
    if not place:
        return None
    with suppress(duckdb.Error):
        cursor = lake.cursor()
        rows = cursor.execute(_EXPERIMENTS).fetchall()
        ((problems,),) = cursor.execute("SELECT count(*) FROM problems").fetchall()
        runs = count(sum(row[1] for row in rows), "run")
        hint = " (FROM problems)" if problems else ""
        return f"lake in {place}: {runs} of {count(len(rows), 'experiment')}, {count(problems, 'problem')}{hint}", rows
    return f"lake in {place}, closed", []


def _cell(value: Any) -> str:
    return f"{value:%Y-%m-%d %H:%M}" if hasattr(value, "strftime") else str(value)
