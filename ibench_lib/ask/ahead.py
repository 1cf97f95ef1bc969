"""Questions that are asked ahead: DuckDB works on the next answers while a notebook makes tables and charts of one."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ibench_lib.lake import reader

if TYPE_CHECKING:
    import duckdb
    import polars as pl

VARIABLE = "IBENCH_ASK_AHEAD"
"""Names the file that lists the questions; a notebook outside of a post has none."""


class Ahead:
    """Asks questions in a thread, on a connection of its own, and hands out each answer once."""

    def __init__(self, lake: duckdb.DuckDBPyConnection, questions: Sequence[tuple[str, dict[str, Any]]]) -> None:
        self._lake = lake.cursor()
        self._planned: dict[str, tuple[dict[str, Any], Future[pl.DataFrame]]] = {
            name: (values, Future()) for name, values in questions
        }
        self._lock = threading.Lock()
        threading.Thread(target=self._work, name="ask ahead", daemon=True).start()

    def take(self, name: str, values: Mapping[str, Any]) -> pl.DataFrame | None:
        """The answer, waiting for it if it is being worked on. None if nobody works on it: ask yourself."""
        with self._lock:
            planned = self._planned.pop(name, None)
        if planned is None or planned[0] != values or planned[1].cancel():
            return None
        try:
            return planned[1].result()
        except (Exception, CancelledError):
            return None  # whoever asks again learns why

    def _work(self) -> None:
        for name, (values, answer) in list(self._planned.items()):
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(reader.question(self._lake, name, **values))
            except Exception as error:
                answer.set_exception(error)


def begun_ahead(lake: duckdb.DuckDBPyConnection, values: Mapping[str, Any]) -> Ahead | None:
    """Begin to ask what this process is expected to ask, with these parameters; None if nothing is expected."""
    path = os.environ.get(VARIABLE)
    try:
        names = json.loads(Path(path).read_bytes()) if path else []
    except (OSError, ValueError):
        return None
    # Variables are those of one connection, and a long list of files is one.
    if not names or lake.execute("SELECT count(*) FROM duckdb_variables()").fetchall() != [(0,)]:
        return None
    known = [(name, reader.parameters_of(name)) for name in names if name in reader.questions()]
    planned = [(name, {key: values[key] for key in wanted}) for name, wanted in known if wanted <= values.keys()]
    return Ahead(lake, planned)
