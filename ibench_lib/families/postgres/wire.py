"""The frontend/backend protocol, version 3: log in, send messages, take answers apart.

A message is a type byte, an int32 length that includes itself, and the content. An answer ends with ReadyForQuery.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import socket
import ssl
import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from ibench_lib.client.driver import CHANGED, DEADLOCK, LOCK_TIMEOUT, ConnectionLost, Row, StatementError

SYNC: Final = b"S\0\0\0\4"
TEXT: Final = b"Q"
"""The first byte of the command of a text. Behind any other byte are the messages themselves."""

_PROTOCOL, _TLS_REQUEST = 196608, 80877103
_CONNECT_S = 10.0
_OK, _CLEARTEXT, _MD5, _SASL, _SASL_CONTINUE, _SASL_FINAL = 0, 3, 5, 10, 11, 12
_MECHANISM = b"SCRAM-SHA-256"
_CHUNK = 1 << 16
_MOST_BYTES = 1 << 30
_DIGITS = 20

_RETRY_REASONS = {"40P01": DEADLOCK, "55P03": LOCK_TIMEOUT, "40001": CHANGED}
_LOST = ("57P01", "57P02", "57P03", "57P05", "08")
"""SQLSTATEs, or their classes, after which the server closes the connection."""

_READY, _ROW, _COMPLETE, _ERROR, _DESCRIPTION, _EMPTY = b"ZDCETI"
_PASSED = frozenset(b"NSAK123nst")
"""Notices, settings, and what says that a step of the extended protocol is done."""
_SILENT = (BlockingIOError, TimeoutError)
_UNASKED = frozenset(b"NSAE")
"""What a server may send at any time: notices, changed settings, and why it ends the connection."""

_PEER = struct.Struct("3i")
"""What SO_PEERCRED has: process, user and group."""

_head = struct.Struct(">BI").unpack_from
_unsigned16, _signed32 = struct.Struct(">H").unpack_from, struct.Struct(">i").unpack_from


def message(kind: bytes, content: bytes) -> bytes:
    """A message of the frontend."""
    return kind + struct.pack(">I", len(content) + 4) + content


def framed(command: bytes) -> bytes:
    """What a command is on the wire."""
    if command[:1] == TEXT:
        return b"%b%b%b\0" % (TEXT, struct.pack(">I", len(command) + 4), command[1:])
    return command[1:]


class Wire:
    """A connection that has logged in. Its methods raise as those of `driver.Connection`.

    Parameters
    ----------
    address : `unix_socket`, or `host` and `port`, and `ssl` with the path of a CA's certificate for TLS; `user`,
        `password`. `listener`, with the numbers of a `process` and of its `user`, is for a server before 10, whose
        logins prove nothing of the server: nothing is sent unless this process listens on the socket.
    database : the database, by default the one that every server has.
    timeout_s : how long the server may be silent.
    """

    def __init__(self, address: Mapping[str, Any], database: str | None, timeout_s: float) -> None:
        self.id: int | None = None
        self._unread = b""
        self._begin_answer()
        self._timeout_s = timeout_s
        try:
            self._socket = _connected(address)
            self._is_tls = isinstance(self._socket, ssl.SSLSocket)
            try:
                is_known = "unix_socket" in address and address.get("listener") is not None
                self._log_in(str(address["user"]), str(address["password"]), database or "postgres", is_known)
            except BaseException:
                self._socket.close()
                raise
        except OSError as error:
            raise ConnectionLost(f"no connection: {error}") from error
        if not self._is_tls:
            # The kernel keeps the time: Python would ask for the socket's state before each call.
            self._socket.setblocking(True)
            limit = struct.pack("ll", int(timeout_s), int(timeout_s % 1 * 1e6))
            for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                self._socket.setsockopt(socket.SOL_SOCKET, option, limit)

    def execute(self, command: bytes) -> int:
        """Send one command and return the rows that it changed or returned, of all its statements."""
        self.send(framed(command), fetch=False)
        return cast(int, self.answer())

    def execute_several(self, command: bytes) -> int:
        """The same: each command may have several statements."""
        return self.execute(command)

    def fetch(self, command: bytes, *, several: bool = False) -> Sequence[Row]:
        """Send one command and return its rows: values as text, and None for NULL."""
        self.send(framed(command), fetch=True)
        return cast("list[Row]", self.answer())

    def begin(self, command: bytes, *, fetch: bool, several: bool = False) -> None:
        """Send one command and do not wait; `arrived` gives its answer."""
        self.send(framed(command), fetch=fetch)

    def send(self, data: bytes, *, fetch: bool) -> None:
        """Send messages that one answer follows; with `fetch` its rows are kept."""
        self._begin_answer(fetch=fetch)
        try:
            if self._is_tls:
                self._socket.settimeout(self._timeout_s)
            self._socket.sendall(data)
        except OSError as error:
            raise self.lost(error) from error

    def answer(self) -> int | list[Row]:
        """Wait for the whole answer: the number of rows changed or returned, or the rows."""
        while True:
            try:
                if self._is_tls:
                    self._socket.settimeout(self._timeout_s)
                data = self._socket.recv(_CHUNK)
            except OSError as error:
                raise self.lost(error) from (None if isinstance(error, _SILENT) else error)
            if self._take(data):
                return self._result()

    def lost(self, error: OSError) -> ConnectionLost:
        """What an error of the socket means."""
        if isinstance(error, _SILENT):
            return ConnectionLost(f"the server was silent for {self._timeout_s:g} s")
        return ConnectionLost(f"the connection broke: {error}")

    def arrived(self) -> int | list[Row] | None:
        """What has arrived by now of the answer; None if it is not whole."""
        while True:
            try:
                if self._is_tls:
                    self._socket.settimeout(0)
                    data = self._socket.recv(_CHUNK)
                else:
                    data = self._socket.recv(_CHUNK, socket.MSG_DONTWAIT)
            except (BlockingIOError, ssl.SSLWantReadError):
                return None
            except OSError as error:
                raise self.lost(error) from error
            if self._take(data):
                return self._result()

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return self._socket.fileno()

    def close(self) -> None:
        """Say good-bye where that does not take long, and close."""
        try:
            self._socket.settimeout(0)
            self._socket.send(message(b"X", b""))
        except OSError:
            pass
        self._socket.close()

    def _begin_answer(self, *, fetch: bool = False) -> None:
        self._fetch = fetch
        self._rows: list[Row] = []
        self._returned = self._total = 0
        self._described = False
        self._error: Exception | None = None

    def _take(self, data: bytes) -> bool:
        """Take in bytes of an answer. Returns whether it is whole."""
        if not data:
            raise self._error or ConnectionLost("the server closed the connection")
        if self._unread:
            data = self._unread + data
        at, end = 0, len(data)
        while at + 5 <= end:
            kind, length = _head(data, at)
            after = at + 1 + length
            if not 4 <= length <= _MOST_BYTES:
                raise ConnectionLost(f"out of step: a message of {length} bytes")
            if after > end:
                break
            if kind == _ROW:
                self._returned += 1
                if self._fetch:
                    self._rows.append(_row(data[at + 5 : after]))
            elif kind == _COMPLETE:
                self._complete(data[at + 5 : after - 1])
            elif kind == _READY:
                # A part of what nobody asked for comes before the next answer.
                self._unread = _after_the_end(data[after:])
                return True
            elif kind == _ERROR:
                self._error = self._error or refusal(data[at + 5 : after])
            elif kind == _DESCRIPTION:
                self._described = True
            elif kind != _EMPTY and kind not in _PASSED:
                raise ConnectionLost(f"out of step: a message of type {bytes([kind])!r}")
            at = after
        self._unread = data[at:]
        return False

    def _complete(self, tag: bytes) -> None:
        """The end of one statement: `INSERT 0 100`, `SELECT 10`, `VACUUM`."""
        word, _, number = tag.rpartition(b" ")
        count = int(number) if number.isdigit() and len(number) < _DIGITS else self._returned
        if word == b"SELECT" and (self._returned or self._described) and count != self._returned:
            raise ConnectionLost(f"out of step: {count} rows said, {self._returned} sent")
        self._total += count
        self._returned, self._described = 0, False

    def _result(self) -> int | list[Row]:
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self._rows if self._fetch else self._total

    def _log_in(self, user: str, password: str, database: str, is_known: bool) -> None:
        """`is_known`: the kernel has said that it is our server, which then need not prove it."""
        words = {"user": user, "database": database, "client_encoding": "UTF8", "application_name": "ibench"}
        content = b"".join(f"{name}\0{value}\0".encode() for name, value in words.items()) + b"\0"
        self._socket.sendall(struct.pack(">II", len(content) + 8, _PROTOCOL) + content)
        scram: Scram | None = None
        proven = is_known or not password or self._is_tls
        while True:
            kind, said = self._message()
            if kind == _ERROR:
                raise refusal(said)
            if kind == _READY:
                return
            if kind == ord("K"):
                self.id = _number(said)
            if kind != ord("R"):
                continue
            wanted = _number(said)
            if wanted == _CLEARTEXT and scram is None and self._is_tls:
                self._socket.sendall(message(b"p", password.encode() + b"\0"))
            elif wanted == _CLEARTEXT:
                raise StatementError(
                    "28000",
                    "the server asks for the password in clear text, and proves nothing of itself: use TLS with its "
                    "certificate",
                )
            elif wanted == _MD5 and is_known:
                self._socket.sendall(message(b"p", md5_of(user, password, said[4:]) + b"\0"))
            elif wanted == _MD5:
                raise StatementError(
                    "28000",
                    "the server asks for an MD5 hash of the password, and proves nothing of itself: only a server that "
                    "ibench starts may do so",
                )
            elif wanted == _SASL and _MECHANISM in said[4:].split(b"\0"):
                scram, proven = Scram(password), False
                first = scram.first()
                self._socket.sendall(message(b"p", _MECHANISM + b"\0" + struct.pack(">I", len(first)) + first))
            elif wanted == _SASL_CONTINUE and scram is not None:
                self._socket.sendall(message(b"p", scram.final(said[4:])))
            elif wanted == _SASL_FINAL and scram is not None:
                scram.check(said[4:])
                proven = True
            elif wanted != _OK:
                raise StatementError("28000", "the server asks for a way of logging in that ibench does not have")
            elif not proven:
                raise ConnectionLost(
                    "the server lets us in without a proof that it knows the password; if it needs none, leave it out"
                )

    def _message(self) -> tuple[int, bytes]:
        kind, length = struct.unpack(">BI", self._exactly(5))
        if not 4 <= length <= _CHUNK:
            raise ConnectionLost("what answers is no PostgreSQL server")
        return kind, self._exactly(length - 4)

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            data = self._socket.recv(size - len(found))
            if not data:
                raise ConnectionLost("the server closed the connection")
            found += data
        return found


def _number(said: bytes) -> int:
    """The first number of a message. Raises ConnectionLost where it has none."""
    if len(said) < 4:
        raise ConnectionLost("what answers is no PostgreSQL server")
    return int.from_bytes(said[:4], "big")


def md5_of(user: str, password: str, salt: bytes) -> bytes:
    """The answer to a server before 10, which knows `md5` of password and user."""
    kept = hashlib.md5((password + user).encode(), usedforsecurity=False).hexdigest()
    return b"md5" + hashlib.md5(kept.encode() + salt, usedforsecurity=False).hexdigest().encode()


class Scram:
    """The client's side of SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel binding."""

    def __init__(self, password: str, nonce: str | None = None) -> None:
        self._password = password.encode()
        self._bare = f"n=,r={nonce or secrets.token_urlsafe(18)}".encode()
        self._signature = b""

    def first(self) -> bytes:
        """What the client says first."""
        return b"n,," + self._bare

    def final(self, said: bytes) -> bytes:
        """The proof, in answer to the server's first message. Raises ConnectionLost where that is none."""
        try:
            parts = dict(part.split(b"=", 1) for part in said.split(b","))
            nonce, salt, rounds = parts[b"r"], base64.b64decode(parts[b"s"]), int(parts[b"i"])
            if not nonce.startswith(self._bare.partition(b",r=")[2]):
                raise ValueError("another nonce")
            salted = hashlib.pbkdf2_hmac("sha256", self._password, salt, rounds)
        except (ValueError, KeyError, OverflowError) as error:
            raise ConnectionLost(f"the server's side of SCRAM is wrong: {error}") from error
        key = _hmac(salted, b"Client Key")
        without_proof = b"c=biws,r=" + nonce
        signed = b",".join([self._bare, said, without_proof])
        proof = bytes(a ^ b for a, b in zip(key, _hmac(hashlib.sha256(key).digest(), signed), strict=True))
        self._signature = _hmac(_hmac(salted, b"Server Key"), signed)
        return without_proof + b",p=" + base64.b64encode(proof)

    def check(self, said: bytes) -> None:
        """Whether the server knows the password, too. Raises ConnectionLost if it does not."""
        proof = b"v=" + base64.b64encode(self._signature)
        if not self._signature or not hmac.compare_digest(said, proof):
            raise ConnectionLost("the server does not know the password that it asked for")


def refusal(fields: bytes) -> Exception:
    """The exception that the fields of an ErrorResponse stand for."""
    found = {field[:1]: field[1:].decode("utf-8", "replace") for field in fields.split(b"\0") if field}
    code, text = found.get(b"C", "XX000"), found.get(b"M", "no message")
    if code.startswith(_LOST):
        return ConnectionLost(f"({code}) {text}")
    return StatementError(code, text, _RETRY_REASONS.get(code))


def _after_the_end(data: bytes) -> bytes:
    """The part of a message that nobody asked for, of those that follow an answer.

    Raises
    ------
    ConnectionLost : the server ends the connection, or what follows belongs to another answer.
    """
    at = 0
    while at < len(data):
        if data[at] not in _UNASKED:
            raise ConnectionLost("out of step: bytes after the end of an answer")
        if at + 5 > len(data):
            break
        kind, length = _head(data, at)
        after = at + 1 + max(length, 4)
        if after > len(data):
            break
        if kind == _ERROR:
            raise ConnectionLost(str(refusal(data[at + 5 : after])))
        at = after
    return data[at:]


def _row(content: bytes) -> Row:
    """The values of a DataRow. Raises ConnectionLost where they are not those that it says it has."""
    values: list[bytes | None] = []
    at = 2
    try:
        for _ in range(_unsigned16(content)[0]):
            (size,) = _signed32(content, at)
            at += 4
            values.append(None if size < 0 else content[at : at + size])
            at += max(size, 0)
    except struct.error:
        at = -1
    if at != len(content):
        raise ConnectionLost("out of step: a row is not as long as it says")
    return tuple(values)


def _connected(address: Mapping[str, Any]) -> socket.socket:
    if "unix_socket" in address:
        plain = socket.socket(socket.AF_UNIX)
        plain.settimeout(_CONNECT_S)
        plain.connect(address["unix_socket"])
        if (listener := address.get("listener")) is not None:
            _require_listener(plain, listener)
        return plain
    host, port = str(address["host"]), int(address["port"])
    connected = socket.create_connection((host, port), _CONNECT_S)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    certificate = (address.get("ssl") or {}).get("ca")
    if certificate is None:
        return connected
    connected.sendall(struct.pack(">II", 8, _TLS_REQUEST))
    if connected.recv(1) != b"S":
        connected.close()
        raise ConnectionLost("the server has no TLS")
    return ssl.create_default_context(cafile=certificate).wrap_socket(connected, server_hostname=host)


def _require_listener(connected: socket.socket, listener: Mapping[str, int]) -> None:
    """Close a socket behind which another process or user listens than it should. Raises ConnectionLost.

    The kernel has noted both when the process began to listen: neither can be forged.
    """
    process, user, _ = _PEER.unpack(connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    if (process, user) != (listener["process"], listener["user"]):
        connected.close()
        raise ConnectionLost(f"not our server: process {process} of user {user} listens on its socket")


def _hmac(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")
