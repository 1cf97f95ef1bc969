"""What the server counts, once a second: SHOW GLOBAL STATUS, INNODB_METRICS, and the figures of `server_figures.py`.

One connection. Rows are compared as the server sent them, and only those that changed are looked into.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import pymysql

from ibench_lib.base.wording import count
from ibench_lib.capture.collector import CaptureTarget, Collector, Emit
from ibench_lib.families.mysql.connection import LOST, connect, name_and_value, raw_rows, rows, said
from ibench_lib.families.mysql.figure_places import Places
from ibench_lib.server_figures import FIGURES, Counter

_WHOLE = re.compile(rb"-?\d+")
_REAL = re.compile(rb"-?\d+\.\d+(e[-+]?\d+)?", re.IGNORECASE)
_UPTIME = b"\x06Uptime"  # length and name
_LARGEST = (1 << 63) - 1
_CLOCK_SLACK_S = 3.0  # Uptime is in whole seconds, and taken at the beginning of a statement


class ServerCounters(Collector):
    """A row of `server_samples` for every tick, of NULLs where the server did not answer in time."""

    name: ClassVar[str] = "server_counters"
    tables: ClassVar[tuple[str, ...]] = ("server_counters", "server_samples")
    reads_before_start: ClassVar[bool] = True  # so that the clients' first statements are counted

    def __init__(self, scene: CaptureTarget, emit: Emit) -> None:
        super().__init__(scene, emit)
        self._connection: pymysql.Connection[Any] | None = None
        self._places: Places | None = None
        self._incarnation = scene.incarnation
        self._pid: int | None = None
        self._started_s: float | None = None  # when the server started, on the run's clock
        self._seen: dict[str, set[bytes]] = {"status": set(), "metric": set()}
        self._values: dict[tuple[str, str], int | float] = {}
        self._silent: list[int] = []

    def open(self) -> None:
        """A server that does not answer yet is tried again at the next tick."""

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        try:
            if self._connection is None:
                self._connect(now_s)
            assert self._connection is not None and self._places is not None
            answers = list(self._ask(self._connection, self._places))
        except LOST as error:
            self._drop_connection()
            self._gap(tick, int(now_s()) + 1, said(error))
            raise
        t_s = now_s()
        # An answer that took long belongs to the tick in which it came; those before it had none.
        came = max(tick, int(t_s))
        self._gap(tick, came, f"the answer came {t_s - tick:.1f} s late")
        self._note_uptime(t_s, answers[0][1])
        for source, answer in answers:
            self._take_in(source, answer, came)
        columns = {figure.column: self._figure(figure.column, self._values) for figure in FIGURES}
        self.emit("server_samples", t_s=t_s, tick=came, incarnation=self._incarnation, **columns)

    def counters(self, now_s: Callable[[], float], *, starts: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        """Of a server that has answered before. What has changed is left for the next sample to emit."""
        if self._connection is None or self._places is None:
            return
        try:
            answers = list(self._ask(self._connection, self._places))
        except LOST:
            self._drop_connection()
            raise
        t_s = now_s()
        self._note_uptime(t_s, answers[0][1])
        values = dict(self._values)
        for source, answer in answers:
            changed = (_number(row) for row in answer if row not in self._seen[source])
            for name, value in changed:
                if value is not None:
                    values[source, name if source == "metric" else name.lower()] = value
        columns = {figure.column: self._figure(figure.column, values) for figure in FIGURES}
        yield "server_samples", {"t_s": t_s, "incarnation": self._incarnation, **columns}

    def close(self) -> None:
        self._drop_connection()

    def _ask(self, connection: pymysql.Connection[Any], places: Places) -> Iterator[tuple[str, list[bytes]]]:
        yield "status", raw_rows(connection, "SHOW GLOBAL STATUS")
        if places.metrics_query is not None:
            yield "metric", raw_rows(connection, places.metrics_query)
        if places.variable_names:
            (row,) = rows(connection, places.variables_query)
            for name, value in zip(places.variable_names, row, strict=True):
                self._values["variable", name] = int(value)

    def _take_in(self, source: str, answer: list[bytes], tick: int) -> None:
        """Emit what has changed since the last answer, and keep it for the figures."""
        seen = self._seen[source]
        for row in answer:
            if row in seen:
                continue
            name, value = _number(row)
            if value is None:
                continue
            whole = isinstance(value, int) and -_LARGEST <= value <= _LARGEST
            if source == "metric" and self._is_unset(name, value):
                continue
            self._values[source, name if source == "metric" else name.lower()] = value
            self.emit(
                "server_counters",
                source=source,
                name=name,
                tick=tick,
                incarnation=self._incarnation,
                value=value if whole else None,
                real_value=None if whole else float(value),
            )
        self._seen[source] = set(answer)

    def _figure(self, column: str, values: Mapping[tuple[str, str], int | float]) -> int | None:
        assert self._places is not None
        counter: Counter | None = self._places.counters.get(column)
        if counter is None:
            return None
        product = 1
        for factor in counter.factors:
            value = values.get((counter.kind, factor if counter.kind == "metric" else factor.lower()))
            if not isinstance(value, int):
                why = "was not among the answers"
                if factor in self._places.unset:
                    why = "was switched on for this run, and this server sets it only when it next writes redo"
                self.null_reasons.setdefault(f"server_samples.{column}", f"{counter} {why}")
                return None
            product *= value
        return product

    def _is_unset(self, name: str, value: int | float) -> bool:
        """Whether a metric that was switched on here says 0 because the server has not set it since."""
        assert self._places is not None
        if name in self._places.unset and value:
            self._places.unset.discard(name)
        return name in self._places.unset

    def _gap(self, first: int, end: int, why: str) -> None:
        """A row of NULLs for each tick from `first` to before `end`: a silence is to be seen."""
        for tick in range(first, end):
            nothing = dict.fromkeys(figure.column for figure in FIGURES)
            self.emit("server_samples", t_s=float(tick), tick=tick, incarnation=self._incarnation, **nothing)
            self._silent.append(tick)
        if first < end:
            silent = count(len(self._silent), "second")
            reason = f"no answer in {silent}, first in second {self._silent[0]}; last error: {why}"
            missing = self._places.reasons if self._places else {}
            for figure in FIGURES:
                if figure.column not in missing:
                    self.null_reasons[f"server_samples.{figure.column}"] = reason

    def _connect(self, now_s: Callable[[], float]) -> None:
        self._connection = connect(self.scene.address)
        (uptime,) = rows(self._connection, "SHOW GLOBAL STATUS LIKE 'Uptime'")
        if self._is_younger(self.scene.server_pid(), now_s() - int(uptime[1])):
            self._incarnation += 1
            self._begin_anew()
        self._pid = self.scene.server_pid()
        self._places = Places(self._connection, self.scene.places)
        for column, reason in self._places.reasons.items():
            self.null_reasons[f"server_samples.{column}"] = reason
        refused = [reason for reason in self._places.reasons.values() if reason.startswith("access denied")]
        if refused:
            self.warnings = [f"{len(refused)} columns of server_samples are NULL: {refused[0]}"]

    def _is_younger(self, pid: int | None, started_s: float) -> bool:
        """Whether the server that we have reached is another process than the one before."""
        if self._started_s is None:
            return False
        if pid is not None and self._pid is not None:
            return pid != self._pid  # beyond doubt; Uptime goes by the wall clock
        return started_s > self._started_s + _CLOCK_SLACK_S

    def _note_uptime(self, t_s: float, status: list[bytes]) -> None:
        """Remember when the server started. Behind a proxy it may be another one though the connection lives."""
        for row in status:
            if row.startswith(_UPTIME):
                started_s = t_s - int(name_and_value(row)[1])
                if self._pid is None and self._is_younger(None, started_s):
                    self._incarnation += 1
                    self._begin_anew()
                self._started_s = started_s
                return

    def _begin_anew(self) -> None:
        """Nothing of an earlier incarnation holds for the next: its first tick has every counter."""
        self._seen = {"status": set(), "metric": set()}
        self._values = {key: value for key, value in self._values.items() if key[0] == "variable"}

    def _drop_connection(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(*LOST):
                self._connection.close()
            self._connection = None


def _number(row: bytes) -> tuple[str, int | float | None]:
    """Name and value of a raw row; None for what is not a number."""
    name, text = name_and_value(row)
    if _WHOLE.fullmatch(text):
        return name, int(text)
    return name, float(text) if _REAL.fullmatch(text) else None
