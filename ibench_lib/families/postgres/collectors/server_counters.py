"""What PostgreSQL counts, once a second: the columns of its statistics views, and those figures that others have too.

Which views and columns there are differs by version, so the server is asked for whole rows, and what is a number in
them is kept. A server counts with a delay of up to a second after its clients.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from ibench_lib.capture.collector import CaptureTarget, Collector, Emit
from ibench_lib.client.driver import ConnectionLost, StatementError
from ibench_lib.families.postgres.driver import Connection
from ibench_lib.server_figures import FIGURES

LOST = (ConnectionLost, StatementError, ValueError)

_TIMEOUT_S = 10.0
_VIEWS = {
    "pg_stat_database": "SELECT row_to_json(v) FROM pg_stat_database v WHERE datname = '{database}'",
    "pg_stat_bgwriter": "SELECT row_to_json(v) FROM pg_stat_bgwriter v",
    "pg_stat_checkpointer": "SELECT row_to_json(v) FROM pg_stat_checkpointer v",
    "pg_stat_wal": "SELECT row_to_json(v) FROM pg_stat_wal v",
}
"""View -> query; a server may lack a view."""

_NOW = """
SELECT row_to_json(v) FROM (SELECT
    extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::bigint AS uptime_s,
    (SELECT count(*) FROM pg_stat_activity WHERE state = 'active') AS threads_running,
    (SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock') AS row_locks_awaited,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker') AS vacuum_workers,
    (SELECT max(age(backend_xmin)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()) AS oldest_xmin_age,
    pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS redo_lsn_bytes,
    pg_current_wal_insert_lsn() - (pg_control_checkpoint()).redo_lsn AS checkpoint_age_bytes,
    (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers') AS pages
) v
"""
_TABLES = """
SELECT row_to_json(v) FROM (SELECT sum(n_dead_tup) AS dead_rows, sum(n_live_tup) AS live_rows,
    sum(autovacuum_count) AS autovacuums, sum(vacuum_count) AS vacuums FROM pg_stat_user_tables) v
"""
# A figure that others have as well, and where it is here.
_FIGURES = {
    "rows_inserted": "pg_stat_database.tup_inserted",
    "rows_deleted": "pg_stat_database.tup_deleted",
    "pages_read": "pg_stat_database.blks_read",
}
_OF_NOW = frozenset(
    ["uptime_s", "threads_running", "row_locks_awaited", "redo_lsn_bytes", "checkpoint_age_bytes", "pages"]
)


class ServerCounters(Collector):
    """A row of `server_samples` for every tick that was answered; a value of `server_counters` where it has changed."""

    name: ClassVar[str] = "server_counters"
    tables: ClassVar[tuple[str, ...]] = ("server_counters", "server_samples")
    reads_before_start: ClassVar[bool] = True

    def __init__(self, scene: CaptureTarget, emit: Emit) -> None:
        super().__init__(scene, emit)
        self._connection: Connection | None = None
        self._views: list[str] = []
        self._values: dict[str, int | float] = {}
        for figure in FIGURES:
            if figure.column not in _FIGURES and figure.column not in _OF_NOW:
                self.null_reasons[f"server_samples.{figure.column}"] = "PostgreSQL has no such figure"

    def open(self) -> None:
        """A server that does not answer yet is tried again at the next tick."""

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        values, now = self._read()
        moment = {"tick": tick, "incarnation": self.scene.incarnation}
        for name, value in values.items():
            if self._values.get(name) != value:
                whole = isinstance(value, int)
                kept = {"value": value if whole else None, "real_value": None if whole else value}
                self.emit("server_counters", source="status", name=name, **moment, **kept)
        self._values = values
        self.emit("server_samples", t_s=now_s(), **moment, **_figures(values, now))

    def counters(self, now_s: Callable[[], float], *, starts: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        """The figures now."""
        values, now = self._read()
        yield "server_samples", {"t_s": now_s(), "incarnation": self.scene.incarnation, **_figures(values, now)}

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _read(self) -> tuple[dict[str, int | float], dict[str, Any]]:
        """All values by `view.column`, and what is known of this moment."""
        try:
            if self._connection is None:
                self._connection = Connection(self.scene.address, self.scene.database, _TIMEOUT_S)
                self._views = [view for view in _VIEWS if self._has(self._connection, view)]
            found: dict[str, int | float] = {}
            for view in self._views:
                (row,) = _row(self._connection, _VIEWS[view].format(database=self.scene.database))
                found |= _numbers(row, view)
            (now,) = _row(self._connection, _NOW)
            (tables,) = _row(self._connection, _TABLES)
        except LOST as error:
            self.close()
            raise RuntimeError(str(error)) from error
        rest = {name: value for name, value in now.items() if name not in _OF_NOW}
        return found | _numbers(rest, "now") | _numbers(tables, "tables"), now

    @staticmethod
    def _has(connection: Connection, view: str) -> bool:
        return connection.scalar(f"SELECT count(*) FROM pg_views WHERE viewname = '{view}'") == 1


def _row(connection: Connection, query: str) -> list[dict[str, Any]]:
    return [json.loads(value or b"{}") for (value,) in connection.fetch(connection.command(query.encode()))]


def _numbers(row: Mapping[str, Any], view: str) -> dict[str, int | float]:
    return {
        f"{view}.{name}": value
        for name, value in row.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name not in ("datid", "datfrozenxid")
    }


def _figures(values: Mapping[str, int | float], now: Mapping[str, Any]) -> dict[str, int | None]:
    columns: dict[str, int | None] = dict.fromkeys(figure.column for figure in FIGURES)
    columns |= {column: None if now.get(column) is None else int(now[column]) for column in _OF_NOW}
    columns |= {column: int(values[name]) if name in values else None for column, name in _FIGURES.items()}
    return columns
