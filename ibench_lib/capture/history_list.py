"""InnoDB history list length (purge lag), once a second.

Asked in this order, the first that answers wins: INNODB_METRICS counter `trx_rseg_history_len` (needs PROCESS), status
variable `Innodb_history_list_length` (MariaDB). What neither gives is NULL with a reason.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

import pymysql

_SOURCES = (
    "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'",
    "SHOW GLOBAL STATUS LIKE 'Innodb_history_list_length'",
)


class HistoryListSampler:
    """Context manager: samples at origin + n seconds in a thread of its own, on a connection of its own.

    Parameters
    ----------
    address : keyword arguments for PyMySQL: where and who.
    origin_ns : zero of the run's clock (CLOCK_MONOTONIC).
    emit : receives (t_s, history_list_length or None) for each sample.
    """

    def __init__(
        self,
        address: dict[str, Any],
        origin_ns: int,
        emit: Callable[[float, int | None], None],
        timeout_s: float = 10.0,
    ) -> None:
        self._address = address
        self._origin_ns = origin_ns
        self._emit = emit
        self._timeout_s = timeout_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="history-list", daemon=True)
        self._source: str | None = None
        self.null_reason: str | None = None

    def __enter__(self) -> HistoryListSampler:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(self._timeout_s + 1)

    def read_once(self) -> int | None:
        """One value now, on a fresh connection; None when the server cannot say (see `null_reason`)."""
        try:
            connection = self._connect()
        except (pymysql.err.MySQLError, OSError) as error:
            self.null_reason = f"no connection: {error}"
            return None
        try:
            return self._read(connection)
        finally:
            connection.close()

    def _connect(self) -> pymysql.Connection[Any]:
        return pymysql.connect(**self._address, autocommit=True, connect_timeout=5, read_timeout=self._timeout_s)

    def _run(self) -> None:
        connection: pymysql.Connection[Any] | None = None
        number = (time.monotonic_ns() - self._origin_ns) // 1_000_000_000 + 1
        while not self._stop.wait(max(0.0, (self._origin_ns + number * 1_000_000_000 - time.monotonic_ns()) / 1e9)):
            value = None
            try:
                connection = connection or self._connect()
                value = self._read(connection)
            except (pymysql.err.MySQLError, OSError) as error:
                self.null_reason = f"no answer: {error}"
                connection = None
            now_ns = time.monotonic_ns()
            self._emit((now_ns - self._origin_ns) / 1e9, value)
            # A slow answer skips the samples it covered: two answers in one second would say nothing new.
            number = max(number + 1, (now_ns - self._origin_ns) // 1_000_000_000 + 1)
        if connection is not None:
            connection.close()

    def _read(self, connection: pymysql.Connection[Any]) -> int | None:
        for source in [self._source] if self._source else _SOURCES:
            with connection.cursor() as cursor:
                try:
                    cursor.execute(source)
                    row = cursor.fetchone()
                except pymysql.err.MySQLError as error:
                    if not connection.open:
                        raise
                    self.null_reason = str(error)
                    continue
            if row is not None:
                self._source = source
                return int(row[-1])
            self.null_reason = "the server has neither the counter nor the status variable"
        return None
