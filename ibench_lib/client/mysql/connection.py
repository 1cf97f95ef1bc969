"""One client connection: PyMySQL comes in, the wire does the work."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import pymysql
from pymysql.constants import CLIENT, CR

from ibench_lib.base import mysql
from ibench_lib.client import driver
from ibench_lib.client.compiled import CompiledExchange
from ibench_lib.client.driver import ConnectionLost, StatementError
from ibench_lib.client.exchange import Exchange
from ibench_lib.client.mysql.binary import Prepared, PreparedRows, with_markers
from ibench_lib.client.mysql.compiled import CompiledWire, completed_by, wire_of
from ibench_lib.client.mysql.connection_core import CORE
from ibench_lib.client.mysql.wire import COM_QUERY, COM_STMT_EXECUTE, COM_STMT_PREPARE, Wire, refused

# Codes that the client library itself makes up; every other code is an answer of the server.
_LOST = frozenset({CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST, CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR, 2055})


class Connection:
    """A connection, as `driver.Connection` describes it.

    Parameters
    ----------
    address : keyword arguments of where and who: `unix_socket` or `host` and `port`, `user`, `password`.
    database, timeout_s, like : see `driver.connect`.
    """

    family = "mysql"
    rollback = COM_QUERY + b"ROLLBACK"

    def __init__(
        self,
        address: Mapping[str, Any],
        database: str | None,
        timeout_s: float,
        like: driver.Connection | None = None,
    ) -> None:
        try:
            connection = mysql.connect(
                **address,
                database=database,
                autocommit=True,
                connect_timeout=10,
                # PyMySQL waits for ever by default.
                read_timeout=timeout_s,
                write_timeout=timeout_s,
                client_flag=CLIENT.MULTI_STATEMENTS,
            )
        except pymysql.err.MySQLError as error:
            raise _translate(error) from error
        self.asked_ns = 0
        self._connection = connection
        self._deprecate_eof = bool(connection.client_flag & CLIENT.DEPRECATE_EOF)
        connected: socket.socket = cast(Any, connection)._sock  # it has no public name
        shares = isinstance(like, Connection) and like._deprecate_eof == self._deprecate_eof
        heads = cast(Connection, like)._wire.heads if shares else None
        self._wire: Wire = wire_of(connected, deprecate_eof=self._deprecate_eof, timeout_s=timeout_s, heads=heads)
        self.execute = self._wire.execute
        self.execute_several = self._wire.execute_several
        self.fetch = self._wire.fetch
        self.begin = self._wire.begin
        self.arrived = self._wire.arrived
        self.fileno = self._wire.fileno
        if isinstance(self._wire, CompiledWire):
            self.transact, self.exchange = self._wire.transact, _exchange

    @staticmethod
    def command(text: bytes) -> bytes:
        """The command that sends an SQL text."""
        return COM_QUERY + text

    def query(self, text: str) -> int:
        """Run one SQL text. Returns the rows that it changed or returned. Raises as `driver.Connection.query`."""
        with self._asking():
            return self._wire.execute(COM_QUERY + text.encode())

    def scalar(self, text: str) -> int | None:
        """First column of the first row as an integer, or None for NULL. Raises as `query` does."""
        value = self._first_row(text)[0]
        return None if value is None else int(value)

    def text(self, text: str, column: int = 0) -> str:
        """One column of the first row as text. Raises as `query` does."""
        return str(self._first_row(text)[column])

    def _first_row(self, query: str) -> tuple[Any, ...]:
        try:
            with self._lent(), self._connection.cursor() as cursor:
                cursor.execute(query)
                row = cursor.fetchone()
        except (pymysql.err.MySQLError, OSError) as error:
            raise _translate(error) from error
        if row is None:
            raise StatementError(0, f"no row in answer to: {query}")
        return tuple(row)

    def prepare(self, statement: str) -> bytes:
        """Prepare one SQL text on the server. Returns its id, four bytes as COM_STMT_EXECUTE wants them.

        Raises as `query` does.
        """
        reader = cast(Any, self._connection)
        try:
            with self._lent():
                reader._execute_command(COM_STMT_PREPARE[0], statement)
                first = reader._read_packet().get_all_data()
                columns, parameters = struct.unpack("<HH", first[5:9])
                for definitions in (parameters, columns):
                    for _ in range(definitions + (1 if definitions and not self._deprecate_eof else 0)):
                        reader._read_packet()
        except (pymysql.err.MySQLError, OSError) as error:
            raise _translate(error) from error
        return bytes(first[1:5])

    def prepared(self, text: str) -> driver.PreparedStatement:
        """Prepare a text that `%` would complete (`driver.Statement`). Raises as `query`."""
        return completed_by(Prepared(self._execution_of(with_markers(text)), text))

    def prepared_rows(self, insert: str, rows: int, integers: int, strings: Sequence[bytes]) -> PreparedRows:
        """Prepare an INSERT of so many rows (`driver.Connection.prepared_rows`). Raises as `query`."""
        row = f"({','.join('?' * (integers + 2))})"
        return PreparedRows(self._execution_of(insert + ",".join([row] * rows)), rows, integers, strings)

    def _execution_of(self, statement: str) -> bytes:
        """Prepare a text. Returns the start of the command that executes it: no cursor, one iteration."""
        return COM_STMT_EXECUTE + self.prepare(statement) + b"\x00\x01\x00\x00\x00"

    @contextlib.contextmanager
    def _asking(self) -> Iterator[None]:
        begin_ns = time.monotonic_ns()
        try:
            yield
        finally:
            self.asked_ns += time.monotonic_ns() - begin_ns

    @contextlib.contextmanager
    def _lent(self) -> Iterator[None]:
        """The socket is PyMySQL's for a while, with a timeout that PyMySQL understands."""
        with self._asking():
            self._wire.give_back()
            try:
                yield
            finally:
                with contextlib.suppress(OSError):
                    self._wire.take_over()

    def close(self) -> None:
        """Close without a word to the server where the connection is broken already."""
        with contextlib.suppress(pymysql.err.MySQLError, OSError):
            self._connection.close()


def _exchange(connections: Sequence[driver.Connection]) -> Exchange | None:
    """The compiled exchange; None if not all of these connections can be in it."""
    wires = [connection._wire for connection in connections if isinstance(connection, Connection)]
    compiled = [wire for wire in wires if isinstance(wire, CompiledWire)]
    module, alike = CORE.used().module, len({wire.mode for wire in compiled}) == 1
    return CompiledExchange(module, compiled) if module and alike and len(compiled) == len(connections) else None


def _translate(error: Exception) -> Exception:
    if isinstance(error, pymysql.err.MySQLError) and error.args and isinstance(error.args[0], int) and error.args[0]:
        code = error.args[0]
        message = str(error.args[1]) if len(error.args) > 1 else ""
        return ConnectionLost(f"({code}) {message}") if code in _LOST else refused(code, message)
    return ConnectionLost(str(error) or type(error).__name__)


def connect(
    address: Mapping[str, Any], database: str | None, timeout_s: float, like: driver.Connection | None = None
) -> driver.Connection:
    """A connection of this driver (`driver.connect`)."""
    return Connection(address, database, timeout_s, like)


def option_file(address: Mapping[str, Any], database: str) -> str:
    """The text of an option file with which MySQL's and MariaDB's own clients reach a server (`--defaults-file`).

    `address` is as `Connection` takes it.
    """
    options = {"user": address["user"], "password": address["password"]}
    if "unix_socket" in address:
        options |= {"socket": address["unix_socket"]}
    else:
        options |= {"host": address["host"], "port": str(address["port"]), "protocol": "tcp"}
    if certificate := (address.get("ssl") or {}).get("ca"):
        options |= {"ssl-ca": certificate}
    else:
        options |= {"loose-ssl-mode": "DISABLED", "loose-skip-ssl": "1"}
    lines = "".join(f'{name}="{_quoted(value)}"\n' for name, value in options.items())
    return f'[client]\n{lines}[mysql]\nloose-database="{_quoted(database)}"\n'


def _quoted(value: str) -> str:
    """A value as it stands between double quotes in an option file."""
    if "\n" in value or "\r" in value:
        raise ValueError("a value of an option file has a line break")
    return value.replace("\\", "\\\\").replace('"', '\\"')
