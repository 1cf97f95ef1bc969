"""What takes long to make and is only looked at: made once in a session, and shared by all tests.

What DuckDB makes of the project's SQL takes seconds, and a lake or the answer of a large question a good part of one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.synthetic import Run, answer, write_runs

folder: Path | None = None
"""Where it is kept: set for the session by tests/conftest.py. Before that nothing is made: it would lie anywhere."""

quick_test: str | None = None
"""The test that runs, if `make test-quick` runs it too: it may ask no lake."""

in_each_workspace = reader._with_every_name

_MOST_LAKES = 20
_lakes: dict[str, duckdb.DuckDBPyConnection] = {}
_answers: dict[str, pl.DataFrame] = {}


def kept_in() -> Path:
    if folder is None:
        raise RuntimeError("a lake was opened before the session has a folder for it: ask in a test, not in a module")
    return folder


def expect_a_mark() -> None:
    """Fail the test that runs if it asks a lake and is not marked: what DuckDB makes of the SQL takes seconds."""
    if quick_test is not None:
        pytest.fail(f"{quick_test} asks a lake: mark it or its module with `lake`")


def in_one_folder(_cache: Path) -> duckdb.DuckDBPyConnection:
    expect_a_mark()
    return in_each_workspace(kept_in())


def give_views(workspace: Workspace) -> Workspace:
    """Put DuckDB's views where other processes look for them when they open the workspace's lake."""
    workspace.data.mkdir(parents=True, exist_ok=True)
    in_each_workspace(kept_in()).close()
    (kept,) = kept_in().glob(".views-*.duckdb")
    with contextlib.suppress(FileExistsError):
        os.link(kept, workspace.data / kept.name)
    return workspace


def made_once(name: str, make: Callable[[Path], Path]) -> Path:
    """What `make` made in a folder that it was given: by the first process of the session that wants it, for all."""
    place, done = kept_in() / name, kept_in() / f"{name}.path"
    with (kept_in() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            place.mkdir()
            done.write_text(str(make(place)))
    return Path(done.read_text())


def lake_of(*runs: Run) -> duckdb.DuckDBPyConnection:
    """A lake with these runs, for tests that only read it."""
    expect_a_mark()
    key = repr(runs)
    if key not in _lakes:
        place = Workspace(Path(tempfile.mkdtemp(prefix="lake-", dir=kept_in())))
        write_runs(place, *runs)
        if len(_lakes) == _MOST_LAKES:
            del _lakes[next(iter(_lakes))]
        _lakes[key] = reader.lake(place)
    return _lakes[key]


def asked(name: str, *runs: Run, experiment: str = "demo", **chosen: Any) -> pl.DataFrame:
    """The answer of a question about these runs."""
    expect_a_mark()
    key = repr((name, runs, experiment, chosen))
    if key not in _answers:
        _answers[key] = answer(lake_of(*runs), name, experiment, **chosen)
    return _answers[key]
