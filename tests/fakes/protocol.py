"""As much of a MySQL server's side of the protocol as clients need that log in and send statements."""

from __future__ import annotations

import socket
import struct

COM_QUIT, COM_QUERY, COM_PING, COM_STMT_PREPARE, COM_STMT_EXECUTE = 0x01, 0x03, 0x0E, 0x16, 0x17

DEPRECATE_EOF = 1 << 24
# LONG_PASSWORD LONG_FLAG CONNECT_WITH_DB PROTOCOL_41 TRANSACTIONS SECURE_CONNECTION MULTI_RESULTS PLUGIN_AUTH
_CAPABILITIES = 1 | 4 | 8 | 0x200 | 0x2000 | 0x8000 | 0x20000 | 0x80000
_AUTOCOMMIT = 2
_SALT = b"0123456789abcdefghij"


def packet(number: int, body: bytes) -> bytes:
    """One packet with its header."""
    return len(body).to_bytes(3, "little") + bytes([number & 0xFF]) + body


def greeting(*, deprecate_eof: bool) -> bytes:
    """Handshake version 10 of a server that has mysql_native_password."""
    capabilities = _CAPABILITIES | (DEPRECATE_EOF if deprecate_eof else 0)
    return packet(
        0,
        b"\x0a10.11.0-fake\0"
        + struct.pack("<I8sB", 1, _SALT[:8], 0)
        + struct.pack("<HBHHB10x", capabilities & 0xFFFF, 45, _AUTOCOMMIT, capabilities >> 16, len(_SALT) + 1)
        + _SALT[8:]
        + b"\0mysql_native_password\0",
    )


def ok(rows: int = 0, number: int = 1) -> bytes:
    """The answer to a statement that changed `rows` rows."""
    return packet(number, b"\0" + _length_encoded(rows) + b"\0" + struct.pack("<HH", _AUTOCOMMIT, 0))


def error(code: int, message: str) -> bytes:
    """An error packet."""
    return packet(1, b"\xff" + struct.pack("<H", code) + b"#HY000" + message.encode())


def result(rows: int, *, deprecate_eof: bool, binary: bool = False) -> bytes:
    """The answer to a query that returned `rows` rows of one number."""
    bodies = [b"\x01", _definition()]
    if not deprecate_eof:
        bodies.append(_eof())
    bodies += [b"\0\0" + (7).to_bytes(8, "little") if binary else b"\x017"] * rows
    bodies.append(b"\xfe\0\0" + struct.pack("<HH", _AUTOCOMMIT, 0) if deprecate_eof else _eof())
    return b"".join(packet(number, body) for number, body in enumerate(bodies, start=1))


def prepared(parameters: int, columns: int, *, deprecate_eof: bool) -> bytes:
    """The answer to COM_STMT_PREPARE; the statement's id is 1."""
    bodies = [b"\0" + struct.pack("<IHHBH", 1, columns, parameters, 0, 0)]
    for count in (parameters, columns):
        bodies += [_definition()] * count
        if count and not deprecate_eof:
            bodies.append(_eof())
    return b"".join(packet(number, body) for number, body in enumerate(bodies, start=1))


class Commands:
    """Whole packets from a socket."""

    def __init__(self, connected: socket.socket) -> None:
        self._receive = connected.recv
        self._buffer = b""

    def next(self) -> bytes | None:
        """The next packet's body; None when the client has gone."""
        while len(self._buffer) < 4 or len(self._buffer) < self._size():
            try:
                data = self._receive(1 << 16)
            except ConnectionError:
                return None
            if not data:
                return None
            self._buffer = self._buffer + data if self._buffer else data
        size = self._size()
        body, self._buffer = self._buffer[4:size], self._buffer[size:]
        return body

    def _size(self) -> int:
        return int.from_bytes(self._buffer[:3], "little") + 4


def _length_encoded(number: int) -> bytes:
    if number < 0xFB:
        return bytes([number])
    return b"\xfd" + number.to_bytes(3, "little")


def _definition() -> bytes:
    names = b"".join(bytes([len(name)]) + name for name in (b"def", b"", b"", b"", b"v", b""))
    return names + b"\x0c" + struct.pack("<HIBHB2x", 63, 20, 8, 0, 0)


def _eof() -> bytes:
    return b"\xfe" + struct.pack("<HH", 0, _AUTOCOMMIT)
