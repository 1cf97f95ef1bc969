"""One client connection: sends statements as bytes and says how many rows came back or were changed."""

from __future__ import annotations

import contextlib
from typing import Any

import pymysql
from pymysql.constants import CR, ER

# Codes that the client library itself makes up; every other code is an answer of the server.
_LOST = frozenset({CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST, CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR, 2055})
_RETRYABLE = frozenset({ER.LOCK_DEADLOCK, ER.LOCK_WAIT_TIMEOUT})


class ConnectionLost(Exception):
    """The connection broke while a statement was in flight: its outcome is unknown."""


class StatementError(Exception):
    """The server answered with an error. `retryable` for a deadlock (1213) or a lock wait timeout (1205)."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"({code}) {message}")
        self.code = code
        self.retryable = code in _RETRYABLE


class Connection:
    """A connection with autocommit and bounded reads: a server that stops answering is an error, not a hang.

    Parameters
    ----------
    address : keyword arguments of where and who: `unix_socket` or `host` and `port`, `user`, `password`.
    database : default schema, or None.
    timeout_s : how long a statement may take before the connection counts as lost.
    """

    def __init__(self, address: dict[str, Any], database: str | None, timeout_s: float) -> None:
        try:
            self._connection = pymysql.connect(
                **address,
                database=database,
                autocommit=True,
                connect_timeout=10,
                # PyMySQL waits for ever by default.
                read_timeout=timeout_s,
                write_timeout=timeout_s,
            )
        except pymysql.err.MySQLError as error:
            raise _translate(error) from error

    def execute(self, statement: bytes) -> int:
        """Run one statement. Returns the rows it changed or, for a query, the rows it returned.

        Raises
        ------
        StatementError : the server answered with an error.
        ConnectionLost : the connection broke or timed out; the outcome is unknown.
        """
        try:
            return int(self._connection.query(statement))
        except (pymysql.err.MySQLError, OSError) as error:
            raise _translate(error) from error

    def scalar(self, query: str) -> int | None:
        """First column of the first row as an integer, or None for NULL."""
        with self._connection.cursor() as cursor:
            try:
                cursor.execute(query)
                row = cursor.fetchone()
            except (pymysql.err.MySQLError, OSError) as error:
                raise _translate(error) from error
        assert row is not None
        value = row[0]
        return None if value is None else int(value)

    def close(self) -> None:
        """Close without a word to the server where the connection is broken already."""
        with contextlib.suppress(pymysql.err.MySQLError, OSError):
            self._connection.close()


def _translate(error: Exception) -> Exception:
    if isinstance(error, pymysql.err.MySQLError) and error.args and isinstance(error.args[0], int) and error.args[0]:
        code = error.args[0]
        message = str(error.args[1]) if len(error.args) > 1 else ""
        return ConnectionLost(f"({code}) {message}") if code in _LOST else StatementError(code, message)
    return ConnectionLost(str(error) or type(error).__name__)
