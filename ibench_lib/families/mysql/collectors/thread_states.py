"""What the connections of the benchmark's clients do, once a second: how many are in each state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pymysql

from ibench_lib.capture.collector import CaptureTarget, Collector, Emit
from ibench_lib.families.mysql.connection import Link, named_rows, partial_view

_LONGEST = 64
_IDLE = ("Sleep", "Daemon", "Binlog Dump", "Binlog Dump GTID")
_QUERY = (
    "SELECT STATE AS state, COUNT(*) AS connections FROM {schema}.processlist"
    f" WHERE DB = %s AND COMMAND NOT IN {_IDLE} AND ID <> CONNECTION_ID() GROUP BY STATE"
)


class ThreadStates(Collector):
    """performance_schema's list where the server has one, because it takes no lock that connections need."""

    name: ClassVar[str] = "thread_states"
    tables: ClassVar[tuple[str, ...]] = ("thread_states",)

    def __init__(self, scene: CaptureTarget, emit: Emit) -> None:
        super().__init__(scene, emit)
        self._link = Link(scene.address, self._look_at_server)
        self._query = ""

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        if not self._query:
            self._link.ask("SELECT 1")  # connects, which finds the query
        listed = self._link.ask(self._query, self.scene.database)
        t_s = now_s()
        states: dict[str, int] = {}
        for row in listed:
            state = str(row["state"] or "")[:_LONGEST]
            states[state] = states.get(state, 0) + int(row["connections"])
        for state, connections in sorted(states.items()) or [("", 0)]:
            self.emit("thread_states", tick=tick, t_s=t_s, state=state, connections=connections)

    def close(self) -> None:
        self._link.close()

    def _look_at_server(self, connection: Any) -> None:
        schema = "information_schema"
        try:
            # Empty, even without our own connection, where performance_schema is off.
            (tables,) = named_rows(connection, "SELECT COUNT(*) AS listed FROM performance_schema.processlist")
            schema = "performance_schema" if tables["listed"] else schema
        except pymysql.err.MySQLError:  # MariaDB and older MySQL have no such table
            if not connection.open:
                raise
        self._query = _QUERY.format(schema=schema)
        reason = partial_view(connection)
        if reason is not None:
            self.null_reasons["thread_states"] = reason
