"""PyMySQL's connections, whose errors are PyMySQL's also where an answer is no answer of a MySQL server.

PyMySQL reads what it expects. Damaged or foreign bytes end in an IndexError, an AssertionError or whatever the place
raises that met them. Here that is a lost connection, as a broken one is.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import pymysql
from pymysql.constants import CR

_MISREAD = (
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    RuntimeError,
    MemoryError,  # of a length that nobody has
    struct.error,
)


if TYPE_CHECKING:
    _Connection = pymysql.Connection[Any]
else:
    _Connection = pymysql.Connection


class Connection(_Connection):
    """Connecting and asking raise pymysql.err.MySQLError and OSError only."""

    def connect(self, sock: Any = None) -> None:
        """As pymysql's; an answer that cannot be read is a lost server."""
        with self._reading():
            super().connect(sock)

    def query(self, sql: Any, unbuffered: bool = False) -> int:
        """As pymysql's; an answer that cannot be read is a lost server."""
        with self._reading():
            return super().query(sql, unbuffered)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except _MISREAD as error:
            cast(Any, self)._force_close()
            what = f"the server's answer cannot be read: {type(error).__name__}: {error}"
            raise pymysql.err.OperationalError(CR.CR_SERVER_LOST, what) from error


def connect(**arguments: Any) -> Connection:
    """As pymysql.connect."""
    return Connection(**arguments)
