"""What PostgreSQL counts, once a second: the columns of its statistics views, and those figures that others have too.

Which views and columns there are differs by version, so the server is asked for whole rows, and what is a number in
them is kept. A server counts with a delay of up to a second after its clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from ibench_lib.capture.collector import CaptureTarget, Collector, Emit
from ibench_lib.families.postgres.driver import Connection
from ibench_lib.families.postgres.watching import NOT_OURS, Link, catalogue_of
from ibench_lib.server_figures import FIGURES

_VIEWS = {
    "pg_stat_database": "SELECT row_to_json(v) FROM pg_stat_database v WHERE datname = '{database}'",
    "pg_stat_bgwriter": "SELECT row_to_json(v) FROM pg_stat_bgwriter v",
    "pg_stat_checkpointer": "SELECT row_to_json(v) FROM pg_stat_checkpointer v",
    "pg_stat_wal": "SELECT row_to_json(v) FROM pg_stat_wal v",
}
"""View -> query; a server may lack a view."""

_IO = "pg_stat_io"
_IO_QUERY = "SELECT row_to_json(v) FROM pg_stat_io v"
_IO_KEY = ("backend_type", "object", "context")
_IO_SUMS = """
SELECT row_to_json(v) FROM (SELECT sum(writes) FILTER (WHERE object <> 'wal') AS pages_written,
    sum(fsyncs) FILTER (WHERE object = 'wal') AS redo_fsyncs FROM pg_stat_io) v
"""

_NOW = f"""
SELECT row_to_json(v) FROM (SELECT
    extract(epoch FROM clock_timestamp() - pg_postmaster_start_time())::bigint AS uptime_s,
    (SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND {NOT_OURS}) AS threads_running,
    (SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event IN ('transactionid', 'tuple'))
        AS row_locks_awaited,
    (SELECT count(*) FROM pg_stat_activity WHERE {{process}} = 'autovacuum worker') AS vacuum_workers,
    (SELECT count(*) FROM pg_stat_progress_vacuum) AS vacuums_under_way,
    {{checkpoints}} AS checkpoints_under_way,
    (SELECT max(age(backend_xmin)) FROM pg_stat_activity WHERE {NOT_OURS}) AS oldest_xmin_age,
    (SELECT extract(epoch FROM max(clock_timestamp() - xact_start))::double precision FROM pg_stat_activity
        WHERE {{process}} = 'client backend' AND {NOT_OURS}) AS oldest_transaction_s,
    {{log_end}} - '0/0'::pg_lsn AS redo_lsn_bytes,
    {{log_end}} - {{redo_start}} AS checkpoint_age_bytes,
    (SELECT setting::bigint FROM pg_settings WHERE name = 'shared_buffers') AS pages
) v
"""
_TABLES = """
SELECT row_to_json(v) FROM (SELECT sum(n_dead_tup) AS dead_rows, sum(n_live_tup) AS live_rows,
    sum(autovacuum_count) AS autovacuums, sum(vacuum_count) AS vacuums FROM pg_stat_user_tables) v
"""
_WAL_FILES = (
    "SELECT row_to_json(v) FROM (SELECT count(*) AS wal_files, sum(size) AS wal_files_bytes FROM {log_files} f) v"
)
_GENERIC_PLAN = "SELECT set_config(name, 'force_generic_plan', false) FROM pg_settings WHERE name = 'plan_cache_mode'"
"""Versions before 12 have no such setting."""

_DENIED = "(42501)"
_SELDOM = 10
"""Seconds between two looks at what has many rows: files of the log, and I/O by process, object and context."""

_WAITING = f"""
SELECT json_object_agg(name, processes) FROM (
    SELECT replace({{process}}, ' ', '_') || coalesce('.' || wait_event_type || '.' || wait_event, '') AS name,
        count(*) AS processes
    FROM pg_stat_activity
    WHERE {{process}} <> 'client backend' AND wait_event_type IS DISTINCT FROM 'Activity' AND {NOT_OURS} GROUP BY 1
) v
"""
"""What the server's own processes wait for, without those that have nothing to do."""

_Sum = tuple[str, ...]
# A figure that others have as well, and where it is here: sums of counters, of which the first that is there is taken.
# Columns move between versions.
_FIGURES: Mapping[str, tuple[_Sum, ...]] = {
    "rows_inserted": (("pg_stat_database.tup_inserted",),),
    "rows_deleted": (("pg_stat_database.tup_deleted",),),
    "pages_read": (("pg_stat_database.blks_read",),),
    "pages_written": (
        ("pg_stat_bgwriter.buffers_checkpoint", "pg_stat_bgwriter.buffers_clean", "pg_stat_bgwriter.buffers_backend"),
        ("sums.pages_written",),
    ),
    "redo_fsyncs": (("pg_stat_wal.wal_sync",), ("sums.redo_fsyncs",)),
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
        self._link = Link(scene, self._prepare)
        self._parts: list[str] = []
        self._values: dict[str, int | float] = {}
        self._seldom: dict[str, int | float] = {}
        self._seldom_from = 0
        self._wal_files = ""
        self._may_list_log = True
        for figure in FIGURES:
            if figure.column not in _FIGURES and figure.column not in _OF_NOW:
                self.null_reasons[f"server_samples.{figure.column}"] = "PostgreSQL has no such figure"

    def open(self) -> None:
        """A server that does not answer yet is tried again at the next tick."""

    def sample(self, tick: int, now_s: Callable[[], float]) -> None:
        values, now = self._read()
        if tick >= self._seldom_from:
            self._seldom_from = tick + _SELDOM
            self._seldom = self._read_seldom()
        values |= self._seldom
        moment = {"tick": tick, "incarnation": self.scene.incarnation}
        # What a process does not wait for any more is no row of the answer.
        ended = {name: 0 for name in self._values if name.startswith("waiting.") and name not in values}
        for name, value in (values | ended).items():
            if self._values.get(name) != value:
                whole = isinstance(value, int)
                kept = {"value": value if whole else None, "real_value": None if whole else value}
                self.emit("server_counters", source="status", name=name, **moment, **kept)
        self._values = values | ended
        self.emit("server_samples", t_s=now_s(), **moment, **self._figures(values, now))

    def counters(self, now_s: Callable[[], float], *, starts: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        """The figures now."""
        values, now = self._read()
        yield "server_samples", {"t_s": now_s(), "incarnation": self.scene.incarnation, **self._figures(values, now)}

    def close(self) -> None:
        self._link.close()

    def _read(self) -> tuple[dict[str, int | float], dict[str, Any]]:
        """All values by `view.column`, and what is known of this moment: by one statement."""
        (row,) = self._link.objects("EXECUTE capture")
        read: dict[str, Any] = {name: values or {} for name, values in zip(self._parts, row, strict=True)}
        now = read.pop("now")
        sums = read.pop(_IO, {})
        found: dict[str, int | float] = {}
        for view, values in read.items():
            found |= _numbers(values, view)
        rest = {name: value for name, value in now.items() if name not in _OF_NOW}
        return found | _numbers(rest, "now"), {**now, **_numbers(sums, "sums")}

    def _prepare(self, connection: Connection) -> None:
        """Make one statement of what this version has: planning it takes the server longer than executing it."""
        listed = connection.fetch(connection.command(b"SELECT viewname FROM pg_views WHERE schemaname = 'pg_catalog'"))
        there = {str(name or b"", "utf-8") for (name,) in listed}
        queries = {view: query for view, query in (_VIEWS | {_IO: _IO_SUMS}).items() if view in there}
        queries |= {"now": _NOW, "tables": _TABLES, "waiting": _WAITING}
        catalogue = catalogue_of(connection)
        words = catalogue._asdict()
        self._wal_files = _WAL_FILES.format(**words)
        self.null_reasons |= {f"server_counters.{name}": why for name, why in catalogue.lacks.items()}
        every = ", ".join(f"({query})" for query in queries.values()).format(database=self.scene.database, **words)
        connection.query(_GENERIC_PLAN)
        connection.query(f"PREPARE capture AS SELECT json_build_array({every})")
        self._parts = list(queries)

    def _read_seldom(self) -> dict[str, int | float]:
        """I/O where the version counts it, and the log's files where we may list them."""
        found: dict[str, int | float] = {}
        for row in self._link.objects(_IO_QUERY) if _IO in self._parts else []:
            found |= _io_numbers(row)
        if self._may_list_log:
            try:
                (row,) = self._link.objects(self._wal_files)
                found |= _numbers(row, "now")
            except RuntimeError as error:
                if _DENIED not in str(error):
                    raise
                self.null_reasons["server_counters.now.wal_files"] = str(error)
                self._may_list_log = False
        return found

    def _figures(self, values: Mapping[str, int | float], now: Mapping[str, Any]) -> dict[str, int | None]:
        columns: dict[str, int | None] = dict.fromkeys(figure.column for figure in FIGURES)
        columns |= {column: None if now.get(column) is None else int(now[column]) for column in _OF_NOW}
        for column, places in _FIGURES.items():
            columns[column] = _first_sum({**now, **values}, places)
            if columns[column] is None:
                self.null_reasons[f"server_samples.{column}"] = "this version of PostgreSQL does not count it"
        return columns


def _numbers(row: Mapping[str, Any], view: str) -> dict[str, int | float]:
    return {
        f"{view}.{name}": value
        for name, value in row.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name not in ("datid", "datfrozenxid")
    }


def _io_numbers(row: Mapping[str, Any]) -> dict[str, int | float]:
    """The counts of one kind of process, object and context; nothing where it has done nothing."""
    where = ".".join(str(row.get(name)).replace(" ", "_") for name in _IO_KEY)
    counts = {name: value for name, value in row.items() if name != "op_bytes"}
    found = _numbers(counts, f"{_IO}.{where}")
    return found if any(found.values()) else {}


def _first_sum(values: Mapping[str, Any], places: tuple[_Sum, ...]) -> int | None:
    """The first of some sums of which all is there."""
    return next(
        (int(sum(values[name] for name in names)) for names in places if all(map(values.__contains__, names))), None
    )
