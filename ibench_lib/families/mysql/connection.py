"""A collector's connection to the server: its waits are bounded, and rows can be had without decoding them."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pymysql
from pymysql.constants import CLIENT, COMMAND

from ibench_lib.base import mysql

TIMEOUT_S = 10.0
LOST = (pymysql.err.MySQLError, OSError)
"""What a statement may raise, errors of the server and of the connection."""

_DENIED = frozenset({1044, 1045, 1142, 1143, 1227, 1370})
_EOF, _ERROR, _NULL = 0xFE, 0xFF, 0xFB
_SHORT_EOF = 9


def connect(address: Mapping[str, Any], timeout_s: float = TIMEOUT_S) -> pymysql.Connection[Any]:
    """Autocommit, so that no read view of ours holds back purge. Raises pymysql's errors and OSError."""
    return mysql.connect(**address, autocommit=True, connect_timeout=5, read_timeout=timeout_s, write_timeout=timeout_s)


def rows(connection: pymysql.Connection[Any], query: str) -> Sequence[tuple[Any, ...]]:
    """All rows of an answer."""
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())


def named_rows(connection: pymysql.Connection[Any], query: str, *values: str) -> list[dict[str, Any]]:
    """All rows of an answer, by the columns' names in lower case: servers differ in that."""
    with connection.cursor() as cursor:
        cursor.execute(query, values or None)
        names = [str(column[0]).lower() for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def pairs(connection: pymysql.Connection[Any], query: str) -> dict[str, str]:
    """An answer of names and values, such as SHOW GLOBAL VARIABLES."""
    return {str(name): str(value) for name, value in rows(connection, query)}


class Link:
    """A connection made when it is first needed, and again after it was lost. `fresh` is called with each new one."""

    def __init__(
        self, address: Mapping[str, Any], fresh: Callable[[pymysql.Connection[Any]], None] | None = None
    ) -> None:
        self._address = address
        self._fresh = fresh
        self._connection: pymysql.Connection[Any] | None = None

    def ask(self, query: str, *values: str) -> list[dict[str, Any]]:
        """As `named_rows`. What it raises says why there is no answer; the next question tries a new connection."""
        try:
            if self._connection is None:
                self._connection = connect(self._address)
                if self._fresh is not None:
                    self._fresh(self._connection)
            return named_rows(self._connection, query, *values)
        except LOST:
            if self._connection is not None and not self._connection.open:
                self._connection = None
            raise

    def id(self) -> int | None:
        """The connection's id at the server."""
        return None if self._connection is None else int(cast(Any, self._connection).thread_id())

    def close(self) -> None:
        """Safe to call more than once."""
        if self._connection is not None:
            with contextlib.suppress(*LOST):
                self._connection.close()
            self._connection = None


def denied(error: BaseException) -> bool:
    """Whether the server refused for want of a privilege."""
    return isinstance(error, pymysql.err.MySQLError) and bool(error.args) and error.args[0] in _DENIED


def partial_view(connection: pymysql.Connection[Any]) -> str | None:
    """Why the server lists not all of its connections to this one; None where it does."""
    grants = " ".join(str(*row.values()) for row in named_rows(connection, "SHOW GRANTS")).upper()
    if "PROCESS" in grants or "ALL PRIVILEGES ON *.*" in grants:
        return None
    return "access denied: without PROCESS it lists this user's connections only"


def said(error: BaseException) -> str:
    """What an error says, in one line."""
    text = str(error.args[1]) if len(error.args) > 1 else str(error)
    return (text.strip() or type(error).__name__).splitlines()[0]


def raw_rows(connection: pymysql.Connection[Any], query: str) -> list[bytes]:
    """All rows of an answer as the server sent them: making Python objects of them takes four times as long.

    Raises as a cursor does. After an error of the connection, close it.
    """
    wire = cast(Any, connection)
    wire._execute_command(COMMAND.COM_QUERY, query)
    columns = wire._read_packet().read_length_encoded_integer()  # raises where the answer is an error
    no_eof = bool(connection.client_flag & CLIENT.DEPRECATE_EOF)
    for _ in range(columns + (0 if no_eof else 1)):
        wire._read_packet()
    read = wire._rfile.read
    rows: list[bytes] = []
    while True:
        header = read(4)
        if len(header) < 4:
            raise pymysql.err.OperationalError(2013, "Lost connection to server during query")
        size = header[0] | header[1] << 8 | header[2] << 16
        row = read(size)
        if len(row) < size:
            raise pymysql.err.OperationalError(2013, "Lost connection to server during query")
        if row[0] == _EOF and (size < _SHORT_EOF or no_eof):
            return rows
        if row[0] == _ERROR:
            pymysql.err.raise_mysql_exception(row)
        rows.append(row)


def name_and_value(row: bytes) -> tuple[str, bytes]:
    """The two columns of a raw row; NULL is an empty value."""
    name, at = _string(row, 0)
    return name.decode("utf-8", "replace"), _string(row, at)[0]


def _string(row: bytes, at: int) -> tuple[bytes, int]:
    size = row[at]
    at += 1
    if size == _NULL:
        return b"", at
    if size > _NULL:
        width = {0xFC: 2, 0xFD: 3, 0xFE: 8}[size]
        size = struct.unpack("<Q", row[at : at + width].ljust(8, b"\0"))[0]
        at += width
    return row[at : at + size], at + size
