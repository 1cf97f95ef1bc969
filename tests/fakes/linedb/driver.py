"""The driver of the fake servers. It shares nothing with MySQL's.

A command is the SQL text as it is or, of a prepared statement, a zero byte and JSON: the text and its values.
"""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from ibench_lib.client import driver
from ibench_lib.client.driver import LOCK_TIMEOUT, ConnectionLost, Row, StatementError

_RETRY_REASONS = {"BUSY": LOCK_TIMEOUT}


class Prepared:
    """A text whose values are sent apart from it."""

    def __init__(self, text: str) -> None:
        self._text = re.sub(r"'%b'|%[dib]", "?", text)

    def __mod__(self, values: Any) -> bytes:
        return b"\0" + json.dumps([self._text, values if isinstance(values, tuple) else [values]]).encode()

    def each(self, values: np.ndarray[Any, Any]) -> list[bytes]:
        """The commands with each of these values."""
        return [self % tuple(row) for row in values.reshape(len(values), -1).tolist()]


class PreparedRows:
    """An INSERT of several rows whose values are sent apart from it."""

    def __init__(self, insert: str, rows: int, integers: int, strings: Sequence[bytes]) -> None:
        row = f"({','.join('?' * (integers + 2))})"
        self._insert, self._rows, self._strings = Prepared(insert + ",".join([row] * rows)), rows, strings

    def commands(
        self, moment: datetime, integers: Sequence[np.ndarray[Any, Any]], sizes: Any, letters: Any
    ) -> list[bytes]:
        """The commands of a block of rows."""
        rows = [
            (str(moment), *numbers, self._string(self._strings[size], own))
            for *numbers, size, own in zip(
                *(column.tolist() for column in integers), sizes.tolist(), letters, strict=True
            )
        ]
        return [
            self._insert % tuple(value for row in rows[start : start + self._rows] for value in row)
            for start in range(0, len(rows), self._rows)
        ]

    @staticmethod
    def _string(pattern: bytes, letters: Any) -> str:
        own = bytes(letters)[-len(pattern) :]
        return bytes(fixed or letter for fixed, letter in zip(pattern, own, strict=True)).decode()


class Connection:
    """One connection, as `ibench_lib.client.driver` describes it."""

    family = "linedb"
    rollback = b"ROLLBACK"

    def __init__(self, address: Mapping[str, Any], database: str | None, timeout_s: float) -> None:
        self.asked_ns = 0
        self._early, self._fetches = b"", False
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout_s)
        try:
            self._socket.connect(address["unix_socket"])
        except OSError as error:
            raise ConnectionLost(str(error)) from error

    def query(self, text: str) -> int:
        return self._counted(text, fetch=False)

    def scalar(self, text: str) -> int | None:
        (first, *_), *_ = self._counted(text, fetch=True)
        return None if first is None else int(first)

    def text(self, text: str, column: int = 0) -> str:
        return str(self._counted(text, fetch=True)[0][column])

    def _counted(self, text: str, *, fetch: bool) -> Any:
        begun = time.monotonic_ns()
        try:
            return self._ask(text.encode(), fetch=fetch)
        finally:
            self.asked_ns += time.monotonic_ns() - begun

    @staticmethod
    def command(text: bytes) -> bytes:
        return text

    def prepared(self, text: str) -> Prepared:
        return Prepared(text)

    def prepared_rows(self, insert: str, rows: int, integers: int, strings: Sequence[bytes]) -> PreparedRows:
        return PreparedRows(insert, rows, integers, strings)

    def execute(self, command: bytes) -> int:
        return int(self._ask(command, fetch=False))

    def execute_several(self, command: bytes) -> int:
        return sum(self.execute(part) for part in command.split(b";"))

    def fetch(self, command: bytes, *, several: bool = False) -> Sequence[Row]:
        parts = command.split(b";") if several else [command]
        return [row for part in parts for row in _text_rows(self._ask(part, fetch=True))]

    def begin(self, command: bytes, *, fetch: bool, several: bool = False) -> None:
        assert not several, "nobody asks for it"
        text, values = json.loads(command[1:]) if command[:1] == b"\0" else (command.decode(), [])
        body = json.dumps({"text": text, "values": values, "fetch": fetch}).encode()
        self._fetches = fetch
        try:
            self._socket.sendall(b"%d\n%b" % (len(body), body))
        except OSError as error:
            raise ConnectionLost(str(error)) from error

    def arrived(self) -> int | Sequence[Row] | None:
        try:
            data = self._socket.recv(1 << 16, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        answer = self._whole(data)
        if answer is None or not self._fetches:
            return answer
        return _text_rows(answer)

    def _ask(self, command: bytes, *, fetch: bool) -> Any:
        self.begin(command, fetch=fetch)
        while True:
            try:
                data = self._socket.recv(1 << 16)
            except OSError as error:
                raise ConnectionLost(str(error)) from error
            answer = self._whole(data)
            if answer is not None:
                return answer

    def _whole(self, data: bytes) -> Any:
        if not data:
            raise ConnectionLost("the server closed the connection")
        self._early += data
        if not self._early.endswith(b"\n"):
            return None
        answer, self._early = json.loads(self._early), b""
        if "error" in answer:
            code, message = answer["error"]
            raise StatementError(code, message, _RETRY_REASONS.get(code))
        return answer["rows"]

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()


def _text_rows(rows: list[list[Any]]) -> list[Row]:
    return [tuple(None if value is None else str(value).encode() for value in row) for row in rows]


def connect(
    address: Mapping[str, Any], database: str | None, timeout_s: float, like: driver.Connection | None = None
) -> driver.Connection:
    """A connection of this driver."""
    return Connection(address, database, timeout_s)
