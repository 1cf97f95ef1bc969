"""Waits inside the server, every 10 seconds, where the experiment asks for them.

performance_schema counts and times waits for mutexes, rwlocks and files by name; SHOW ENGINE INNODB MUTEX counts those
for InnoDB's own. Both count from the server's start: what is emitted are differences.

performance_schema counts acquisitions, and times all of them. SHOW ENGINE INNODB MUTEX counts waits and does not time
them. Which locks it lists differs: all in MySQL 5.6 and MariaDB 10.1; rwlocks, and mutexes only while `latch` is on, in
MySQL 5.7 and later; rwlocks in MariaDB 10.2 to 10.5; nothing in MariaDB 10.6 and later.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pymysql

from ibench_lib.capture.collector import CaptureTarget, Collector, Emit, Unavailable
from ibench_lib.capture.options import CaptureOptions
from ibench_lib.families.mysql.connection import LOST, Link, connect, denied, named_rows, rows, said

_PICOSECONDS = 1e12
PATTERNS = ("wait/synch/mutex/%", "wait/synch/rwlock/%", "wait/synch/sxlock/%", "wait/io/file/%")
_WAITS = re.compile(r"\b(?:os_)?waits=(\d+)")
_LATCH = "latch"
_NOTHING = "SHOW ENGINE INNODB MUTEX has listed nothing; MariaDB 10.6 and later list nothing there"
_OFF = "performance_schema is OFF: put performance_schema=ON into my.cnf"

Totals = Mapping[str, tuple[int, float | None]]
"""Event -> waits and seconds waited since the server's start."""


class Waits(Collector):
    """Instruments that are off are switched on, and off again at the end. That costs: such a run says so."""

    name: ClassVar[str] = "waits"
    tables: ClassVar[tuple[str, ...]] = ("waits",)
    every_s = 10

    def __init__(self, scene: CaptureTarget, emit: Emit) -> None:
        super().__init__(scene, emit)
        self._link = Link(scene.address, self._switch_on)
        self._were: dict[tuple[str, str], set[str]] = {}
        self._instrumented = scene.variables.get("performance_schema", "ON") == "ON"
        self._mutexes = True
        self._latch_switched_on = False
        self.null_reasons["waits.innodb_mutex"] = _NOTHING
        self._before: dict[str, tuple[float, Totals]] = {}
        if not self._instrumented:
            self.null_reasons["waits.performance_schema"] = _OFF

    @classmethod
    def wanted(cls, options: CaptureOptions) -> bool:
        return options.waits

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        if self._instrumented:
            self._take("performance_schema", tick, self._performance_schema, now_s)
        if self._mutexes:
            self._take("innodb_mutex", tick, self._innodb_mutex, now_s)
        if not self._instrumented and not self._mutexes:
            raise Unavailable("; ".join(self.null_reasons.values()))

    def close(self) -> None:
        """A server that others use is left as it was found."""
        self._link.close()
        if not self._were and not self._latch_switched_on:
            return
        with contextlib.suppress(*LOST), connect(self.scene.address) as connection:
            if self._latch_switched_on:
                rows(connection, f"SET GLOBAL innodb_monitor_disable = '{_LATCH}'")
            for (enabled, timed), names in self._were.items():
                listed = ", ".join(f"'{name}'" for name in sorted(names))
                rows(
                    connection,
                    f"UPDATE performance_schema.setup_instruments SET ENABLED = '{enabled}', TIMED = '{timed}'"
                    f" WHERE NAME IN ({listed})",
                )

    def _take(self, source: str, tick: int, ask: Callable[[], Totals], now_s: Callable[[], float]) -> None:
        try:
            now = ask()
        except pymysql.err.MySQLError as error:
            if not denied(error):
                self._before.pop(source, None)
                raise
            self.null_reasons[f"waits.{source}"] = f"access denied: {said(error)}"
            if source == "innodb_mutex":
                self._mutexes = False
            else:
                self._instrumented = False
            return
        t_s = now_s()
        if source in self._before:
            then_s, before = self._before[source]
            for event, waits, waited in differences(before, now):
                self.emit(
                    "waits",
                    tick=tick,
                    t_s=t_s,
                    seconds=t_s - then_s,
                    source=source,
                    event=event,
                    waits=waits,
                    wait_s=waited,
                )
        self._before[source] = (t_s, now)

    def _performance_schema(self) -> Totals:
        listed = self._link.ask(
            "SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT"
            " FROM performance_schema.events_waits_summary_global_by_event_name"
            f" WHERE COUNT_STAR > 0 AND ({_like('EVENT_NAME')})"
        )
        return {
            str(row["event_name"]): (int(row["count_star"]), int(row["sum_timer_wait"]) / _PICOSECONDS)
            for row in listed
        }

    def _innodb_mutex(self) -> Totals:
        waits = mutex_waits(
            (str(row["name"]), str(row["status"])) for row in self._link.ask("SHOW ENGINE INNODB MUTEX")
        )
        if waits:
            self.null_reasons["waits.wait_s"] = "SHOW ENGINE INNODB MUTEX counts waits and does not time them"
            self.null_reasons.pop("waits.innodb_mutex", None)
        return waits

    def _switch_on(self, connection: pymysql.Connection[Any]) -> None:
        """For a new connection: the server may have been restarted, with its instruments off."""
        self._before.clear()
        self._switch_on_latch(connection)
        if not self._instrumented:
            return
        try:
            changed = _switch_on_consumer(connection)
            off = named_rows(
                connection,
                "SELECT NAME, ENABLED, TIMED FROM performance_schema.setup_instruments"
                f" WHERE ({_like('NAME')}) AND (ENABLED = 'NO' OR TIMED = 'NO')",
            )
            if off:
                rows(
                    connection,
                    "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES'"
                    f" WHERE {_like('NAME')}",
                )
        except pymysql.err.MySQLError as error:
            if not connection.open:
                raise
            self.null_reasons["waits.performance_schema"] = (
                f"{'access denied: ' if denied(error) else ''}switching on instruments: {said(error)}"
            )
            self._instrumented = False
            return
        for row in off:
            self._were.setdefault((str(row["enabled"]), str(row["timed"])), set()).add(str(row["name"]))
        if off or changed:
            self.warnings = [
                f"{len(off)} performance_schema instruments were switched on for `waits`:"
                " this run is not comparable with one without"
            ]

    def _switch_on_latch(self, connection: pymysql.Connection[Any]) -> None:
        """Where mutexes are counted only on demand: MySQL 5.7 and later. No table says whether it is on.

        It is switched off again at the end, unless the configuration has it. Other servers refuse the name.
        """
        if _LATCH in self.scene.variables.get("innodb_monitor_enable", ""):
            return
        with contextlib.suppress(pymysql.err.MySQLError):
            rows(connection, f"SET GLOBAL innodb_monitor_enable = '{_LATCH}'")
            self._latch_switched_on = True


def _switch_on_consumer(connection: pymysql.Connection[Any]) -> bool:
    """The one consumer that summaries by event need. Returns whether it was off."""
    off = rows(
        connection,
        "SELECT NAME FROM performance_schema.setup_consumers WHERE NAME = 'global_instrumentation' AND ENABLED = 'NO'",
    )
    if off:
        rows(
            connection,
            "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'global_instrumentation'",
        )
    return bool(off)


def differences(before: Totals, now: Totals) -> list[tuple[str, int, float | None]]:
    """Waits and seconds waited since, by event; one whose count fell was reset, and has none."""
    waits_of: list[tuple[str, int, float | None]] = []
    for event, (waits, waited_s) in now.items():
        waits_before, waited_before_s = before.get(event, (0, 0.0))
        if waits > waits_before:
            waited = None if waited_s is None else waited_s - (waited_before_s or 0.0)
            waits_of.append((event, waits - waits_before, waited))
    return waits_of


def mutex_waits(listed: Any) -> Totals:
    """Names and states of SHOW ENGINE INNODB MUTEX: `os_waits=3`, `waits=3` or `spins=1,waits=3,calls=2`.

    Locks of one name are added up.
    """
    totals: dict[str, tuple[int, float | None]] = {}
    for name, status in listed:
        match = _WAITS.search(status)
        if match:
            totals[name] = (totals.get(name, (0, None))[0] + int(match[1]), None)
    return totals


def _like(column: str) -> str:
    return " OR ".join(f"{column} LIKE '{pattern}'" for pattern in PATTERNS)
