"""Questions that are asked ahead: DuckDB works on the next answers while a notebook makes tables and charts of one."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from ibench_lib.ask.kept import is_kept
from ibench_lib.ask.shared import read_kept, shared, work_out
from ibench_lib.store import catalogue, reader
from ibench_lib.store.narrow import files_of, reading

if TYPE_CHECKING:
    import polars as pl

VARIABLE = "IBENCH_ASK_AHEAD"
"""Names the file that lists the questions; a notebook outside of a post has none."""

_LANES = 2
"""So many questions at once: DuckDB plans each on one core, and many of its operators have work for one core only."""

_AGAIN = "-"
"""Before the number in the name of an answer to a question that was asked before (`AskedQuestion`)."""

_NUMBERS = itertools.count(1)


class Ahead:
    """Asks questions in threads, each on a connection of its own, and hands out each answer once.

    All are about the same runs and steps. So the connections read the files of these runs only (`reading`), and what
    the questions use more than once (`shared`) is kept for them.
    """

    def __init__(
        self, lake: duckdb.DuckDBPyConnection, questions: Sequence[tuple[str, dict[str, Any]]], lanes: int = _LANES
    ) -> None:
        self._planned: dict[str, tuple[dict[str, Any], Future[pl.DataFrame]]] = {
            name: (values, Future()) for name, values in questions
        }
        self._waiting = deque(self._planned.items())
        self._shared = shared([name for name, _ in questions])
        self._lock, self._keeping, self._stopped = threading.Lock(), threading.Lock(), threading.Event()
        runs: list[str] = next((values["runs"] for _, values in questions if "runs" in values), [])
        files = files_of(lake, runs)
        self._lanes = [reading(lake, files) for _ in range(lanes)]
        self._kept: dict[str, str | None] = {}
        self._place = f"ahead_{next(_NUMBERS)}"
        # A temporary table would be that of one connection.
        self._lanes[0].execute(f"ATTACH ':memory:' AS {self._place}")
        self._at_work = len(self._lanes)
        self._share_cores(self._lanes[0])
        self._threads = [
            threading.Thread(target=self._work, args=(lane,), name="ask ahead", daemon=True) for lane in self._lanes
        ]
        # Python ends such a thread inside of DuckDB, which aborts the process.
        atexit.register(self._end)
        for thread in self._threads:
            thread.start()

    def take(self, name: str, values: Mapping[str, Any]) -> pl.DataFrame | None:
        """The answer, waiting for it if it is being worked on. None if nobody works on it: ask yourself."""
        with self._lock:
            given, answer = self._planned.get(name, (None, None))
            if answer is None or given != values:
                return None
            del self._planned[name]
        if answer.cancel():
            return None
        try:
            return answer.result()
        except (Exception, CancelledError):
            return None  # whoever asks again learns why

    def stop(self) -> None:
        """Ask nothing more: whoever narrows a selection asks about other runs."""
        # A connection that executes nothing at the moment forgets an interrupt.
        self._stopped.set()
        with self._lock:
            for _, answer in self._planned.values():
                answer.cancel()
            self._planned.clear()
        for lane in self._lanes:
            lane.interrupt()

    def _end(self) -> None:
        self.stop()
        while any(thread.is_alive() for thread in self._threads):
            with contextlib.suppress(KeyboardInterrupt):
                for lane, thread in zip(self._lanes, self._threads, strict=True):
                    lane.interrupt()  # again: between two statements it is forgotten
                    thread.join(0.05)

    def _work(self, lane: duckdb.DuckDBPyConnection) -> None:
        known: set[str] = set()
        while (job := self._next()) is not None:
            name, values, answer = job
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                for macro in self._shared[name] if {"runs", "steps"} <= values.keys() else ():
                    if macro not in known:
                        self._keep(lane, macro, values["runs"], values["steps"])
                        known.add(macro)
                if self._stopped.is_set():
                    raise CancelledError
                answer.set_result(reader.question(lane, name, **values))
            except (Exception, CancelledError) as error:
                answer.set_exception(error)
        with self._lock:
            self._at_work -= 1
            self._share_cores(lane)
            if not self._at_work:
                with contextlib.suppress(duckdb.Error):
                    lane.execute(f"DETACH {self._place}")
                atexit.unregister(self._end)

    def _share_cores(self, lane: duckdb.DuckDBPyConnection) -> None:
        """Let the threads of lanes and those of DuckDB, which help each lane, be as many as there are cores.

        With more, two questions take turns on a core. The setting is the whole lake's, and counts one of the lanes.
        """
        if len(self._lanes) == 1:
            return
        with contextlib.suppress(duckdb.Error):
            lane.execute("RESET threads")
            if self._at_work > 1:
                ((cores,),) = lane.execute("SELECT current_setting('threads')").fetchall()
                lane.execute(f"SET threads = {max(cores - self._at_work + 1, 1)}")

    def _next(self) -> tuple[str, dict[str, Any], Future[pl.DataFrame]] | None:
        with self._lock:
            if self._stopped.is_set() or not self._waiting:
                return None
            name, (values, answer) = self._waiting.popleft()
            return name, values, answer

    def _keep(self, lane: duckdb.DuckDBPyConnection, macro: str, runs: list[str], steps: list[str]) -> None:
        """Make a table of what a macro gives, once, and on this connection a macro of the same name that reads it.

        Where no table can be made, questions use the macro itself.
        """
        if macro not in self._kept:
            with self._keeping:
                if macro not in self._kept and not self._stopped.is_set():
                    table = f"{self._place}.{macro}"
                    try:
                        work_out(lane, macro, table, runs, steps)
                        self._kept[macro] = table
                    except duckdb.Error:
                        self._kept[macro] = None
        if (kept := self._kept.get(macro)) is not None:
            read_kept(lane, macro, kept)


def begun_ahead(lake: duckdb.DuckDBPyConnection, values: Mapping[str, Any]) -> Ahead | None:
    """Begin to ask what this process is expected to ask, with these parameters; None if nothing is expected."""
    return _begun(lake, [name for name in _expected() if _AGAIN not in name], values)


def begun_again(lake: duckdb.DuckDBPyConnection, values: Mapping[str, Any]) -> Ahead | None:
    """Begin to ask, with these parameters, what is expected to be asked once more with other ones than the first time.

    One thread is enough, because nobody waits for these answers first.
    """
    names = [name.partition(_AGAIN)[0] for name in _expected() if _AGAIN in name]
    return _begun(lake, list(dict.fromkeys(names)), values, lanes=1)


def _expected() -> list[str]:
    path = os.environ.get(VARIABLE)
    try:
        names = json.loads(Path(path).read_bytes()) if path else None
    except (OSError, ValueError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _begun(
    lake: duckdb.DuckDBPyConnection, names: Sequence[str], values: Mapping[str, Any], lanes: int = _LANES
) -> Ahead | None:
    known = [(name, catalogue.parameters_of(name)) for name in names if name in catalogue.questions()]
    planned = [
        (name, {key: values[key] for key in wanted}) for name, wanted in known if {"runs"} <= wanted <= values.keys()
    ]
    left = [(name, given) for name, given in planned if not is_kept(lake, name, given)]
    return Ahead(lake, left, lanes) if left else None
