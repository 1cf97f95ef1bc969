"""The MySQL client/server protocol after authentication: one command, one answer, rows counted and never decoded.

PyMySQL connects, authenticates and negotiates; its cost per query is decoding rows that nobody reads. Here an answer is
walked packet by packet: each packet's length says where the next one starts, so that an error packet, the end of the
rows, a torn answer and a server out of step are all noticed, at a few microseconds of Python.

The fast path (`heads`) takes an answer that arrives whole with one read and, if it has rows, starts as one before it:
nearly all of them. Everything else (the first of its kind, pieces, errors, packets of 16 MB) goes to `Answer`, which
checks every packet and can stop at any byte.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar, overload

from ibench_lib.client.driver import CHANGED, DEADLOCK, LOCK_TIMEOUT, ConnectionLost, StatementError
from ibench_lib.client.mysql.binary import Reader, reader_of, row_of
from ibench_lib.client.mysql.heads import GOES_ON, KEY, Heads, Row, rows_changed, text_row

COM_QUERY: Final = b"\x03"
COM_STMT_PREPARE: Final = b"\x16"
COM_STMT_EXECUTE: Final = b"\x17"
_EXECUTE = COM_STMT_EXECUTE[0]

LARGEST_PACKET: Final = 0xFFFFFF

_header = struct.Struct("<I").unpack_from  # three bytes of length, one of sequence

_READ_SIZE = 1 << 14
_MORE_SIZE = 1 << 16  # where the first read did not take the whole answer
_OK, _LOCAL_INFILE, _EOF, _ERROR = 0x00, 0xFB, 0xFE, 0xFF
_NULL = 0xFB  # in a row
_SHORT_EOF = 9
_MORE_RESULTS = 0x0008


class ProtocolError(ConnectionLost):
    """The server sent what this protocol does not allow here. The connection cannot be used any further."""


# 1020 is MariaDB's with innodb_snapshot_isolation.
_RETRY_REASONS: Final = {1213: DEADLOCK, 1205: LOCK_TIMEOUT, 1020: CHANGED}


def refused(code: int, message: str) -> StatementError:
    """The error of an answer of the server."""
    return StatementError(code, message, _RETRY_REASONS.get(code))


def packets(payload: bytes) -> bytes:
    """`payload` with packet headers, in as many packets as it needs."""
    if len(payload) < LARGEST_PACKET:
        return len(payload).to_bytes(4, "little") + payload  # the fourth byte is the sequence number, 0
    parts = []
    for number, start in enumerate(range(0, len(payload) + 1, LARGEST_PACKET)):
        part = payload[start : start + LARGEST_PACKET]
        parts.append(len(part).to_bytes(3, "little") + bytes([number & 0xFF]) + part)
    return b"".join(parts)


def number_after(command: bytes) -> int:
    """The number of the packet that follows those of a command."""
    return 1 + len(command) // LARGEST_PACKET


class Answer:
    """Scans one answer that arrives in any pieces.

    `feed` returns True when the answer is whole; `rows` is then the rows changed or returned. With `several` there is
    a result for each statement of a command, and `rows` is the sum over them. `due` is the number of its first packet:
    it goes on from those of the command (`number_after`).

    Raises
    ------
    StatementError : an error packet, also in the middle of a result.
    ProtocolError : anything that cannot be an answer, or bytes after its end.
    """

    def __init__(self, *, deprecate_eof: bool, several: bool = False, due: int = 1) -> None:
        self.rows = 0
        self.status = 0
        self._several = several
        self._deprecate_eof = deprecate_eof
        self._buffer = bytearray()
        self._position = 0
        self._sequence = due
        self._continues = False
        self._definitions_left: int | None = None
        self._eof_due = False
        self._whole = False
        self._kept: list[bytes] | None = None

    def feed(self, data: bytes) -> bool:
        """Take in what arrived; True when the answer is whole."""
        self._buffer += data
        buffer = self._buffer
        while not self._whole and len(buffer) - self._position >= 4:
            if self._definitions_left == 0 and not (self._eof_due or self._continues) and self._rows_ahead():
                continue
            length = int.from_bytes(buffer[self._position : self._position + 3], "little")
            if len(buffer) - self._position - 4 < length:
                break
            number, due = buffer[self._position + 3], self._sequence & 0xFF
            # A server that ends a connection says so in an error packet of any number.
            if number != due and buffer[self._position + 4 : self._position + 5] != b"\xff":
                raise ProtocolError(f"packet number {number} instead of {due}")
            self._sequence += 1
            body = memoryview(buffer)[self._position + 4 : self._position + 4 + length]
            self._position += 4 + length
            self._packet(body, length)
            body.release()
        if self._whole and self._position != len(buffer):
            raise ProtocolError("bytes after the end of an answer")
        if self._position > _READ_SIZE:
            del buffer[: self._position]
            self._position = 0
        return self._whole

    def _rows_ahead(self) -> bool:
        """Take in the rows that are there as whole packets, as a list has them by the thousand. False if none is."""
        with memoryview(self._buffer)[self._position :] as ahead:
            data = bytes(ahead)
        position, size, before, number, kept = 0, len(data), self.rows, self._sequence & 0xFF, self._kept
        while position + 4 < size:
            header = _header(data, position)[0]
            begin = position + 4
            end = begin + (header & LARGEST_PACKET)
            # Whatever may be no row is left to `_packet`, and so is a row without an end in its packet.
            if end > size or end == begin or end - begin == LARGEST_PACKET:
                break
            if data[begin] >= _EOF or header >> 24 != number:
                break
            if kept is not None:
                kept.append(data[begin:end])
            self.rows += 1
            number = number + 1 & 0xFF
            position = end
        taken = self.rows - before
        self._sequence += taken
        self._position += position
        return taken > 0

    def _packet(self, body: memoryview, length: int) -> None:
        if self._continues:  # the rest of a row of 16 MB and more
            self._continues = length == LARGEST_PACKET
            return
        kind = body[0] if length else _OK
        if kind == _ERROR and length >= 3:
            raise _statement_error(bytes(body))
        if self._definitions_left is None:
            self._first(body, kind)
        elif self._definitions_left:
            self._definition(body)
            self._definitions_left -= 1
            self._eof_due = self._definitions_left == 0 and not self._deprecate_eof
        elif self._eof_due:
            if kind != _EOF or length >= _SHORT_EOF:
                raise ProtocolError("no EOF packet after the column definitions")
            self._eof_due = False
        elif kind == _EOF and length < (LARGEST_PACKET if self._deprecate_eof else _SHORT_EOF):
            self._end(body)
        else:
            self.rows += 1
            self._continues = length == LARGEST_PACKET
            self._row(body)

    def _definition(self, body: memoryview) -> None:
        """The definition of one column, which nobody reads here."""

    def _row(self, body: memoryview) -> None:
        """One row of the result, which nobody reads here."""

    def _first(self, body: memoryview, kind: int) -> None:
        if len(body) == 0:
            raise ProtocolError("an empty packet is no answer")
        if kind == _OK:
            changed, position = _length_encoded(body, 1)
            self.rows += changed
            _, position = _length_encoded(body, position)
            self._finish(int.from_bytes(body[position : position + 2], "little"))
        elif kind in (_LOCAL_INFILE, _EOF):
            raise ProtocolError(f"an answer starts with 0x{kind:02x}")
        else:
            self._definitions_left, end = _length_encoded(body, 0)
            if end != len(body):
                raise ProtocolError("unexpected data after the column count")

    def _end(self, body: memoryview) -> None:
        if self._deprecate_eof:
            _, position = _length_encoded(body, 1)
            _, position = _length_encoded(body, position)
            self._finish(int.from_bytes(body[position : position + 2], "little"))
        else:
            self._finish(int.from_bytes(body[3:5], "little"))

    def _finish(self, status: int) -> None:
        if status & _MORE_RESULTS:
            if not self._several:
                raise ProtocolError("more than one result for a single statement")
            self._definitions_left = None  # the next result begins
            return
        self.status = status
        self._whole = True


class FetchedRows(Sequence[Row]):
    """The rows of a result, equal to a sequence of the same rows. A row is read when it is asked for.

    Raises ProtocolError there if the row is malformed.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, bodies: list[bytes], read: Callable[[bytes], Row]) -> None:
        self._bodies = bodies
        self._read = read

    def __len__(self) -> int:
        return len(self._bodies)

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            return [self._row(body) for body in self._bodies[place]]
        return self._row(self._bodies[place])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def _row(self, body: bytes) -> Row:
        try:
            return self._read(body)
        except (ValueError, IndexError) as error:
            raise ProtocolError(str(error)) from error


class Rows(Answer):
    """The same, and keeps the rows of a text result.

    `fetched` has a tuple for each row: values as they were sent, None for NULL.
    """

    def __init__(self, *, deprecate_eof: bool, several: bool = False, due: int = 1) -> None:
        super().__init__(deprecate_eof=deprecate_eof, several=several, due=due)
        self._bodies: list[bytes] = []
        self._kept = self._bodies
        self.fetched: Sequence[Row] = FetchedRows(self._bodies, lambda body: text_row(body, 0, len(body)))

    def _row(self, body: memoryview) -> None:
        if len(body) == LARGEST_PACKET:
            raise ProtocolError("a row of 16 MB and more is not read")
        self._bodies.append(bytes(body))


class BinaryRows(Rows):
    """The same for the result of a prepared statement: `fetched` has the values that a text result would have."""

    def __init__(self, *, deprecate_eof: bool, several: bool = False, due: int = 1) -> None:
        super().__init__(deprecate_eof=deprecate_eof, several=several, due=due)
        self._readers: list[Reader] = []
        self.fetched = FetchedRows(self._bodies, lambda body: row_of(body, self._readers))

    def _definition(self, body: memoryview) -> None:
        try:
            self._readers.append(reader_of(bytes(body)))
        except ValueError as error:
            raise ProtocolError(str(error)) from error


_Scanner = TypeVar("_Scanner", bound=Answer)


class Wire:
    """Sends commands on an authenticated socket and counts the rows of their answers.

    Parameters
    ----------
    connected : the socket, TCP, Unix or TLS; its timeouts are taken over.
    deprecate_eof : whether CLIENT_DEPRECATE_EOF was negotiated.
    timeout_s : how long the server may be silent.
    heads : starts of answers that other connections have seen, to share with them.
    """

    def __init__(
        self, connected: socket.socket, *, deprecate_eof: bool, timeout_s: float, heads: Heads | None = None
    ) -> None:
        self._socket = connected
        self._plain = not isinstance(connected, ssl.SSLSocket)
        self._deprecate_eof = deprecate_eof
        self._timeout_s = timeout_s
        self.heads = heads or Heads(deprecate_eof=deprecate_eof)
        self._known = self.heads.known
        self._answer: Answer | None = None
        self._early = b""
        self._due = 1
        self._begun = self._reads = self._several = self._prepared = False
        self._send, self._receive = connected.sendall, connected.recv
        self.take_over()

    def give_back(self) -> None:
        """Make the socket one with a timeout of Python's, as PyMySQL expects it, until `take_over`."""
        self._socket.settimeout(self._timeout_s)

    def take_over(self) -> None:
        """Make the socket block in the kernel, with the kernel's own timeout: Python's costs a poll() per read.

        TLS keeps Python's: OpenSSL takes the kernel's for a reason to try again, for ever.
        """
        if not self._plain:
            self._socket.settimeout(self._timeout_s)
            return
        self._socket.settimeout(None)
        seconds, fraction = divmod(self._timeout_s, 1)
        limit = struct.pack("@ll", int(seconds), max(1, int(fraction * 1e6)))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)

    def execute(self, command: bytes) -> int:
        """Send one command (its first byte says which) and return the rows that it changed or returned.

        Raises
        ------
        StatementError : the server answered with an error; the connection stays usable.
        ConnectionLost : broken, timed out or out of step; the outcome is unknown.
        """
        try:
            size = len(command)
            self._send(size.to_bytes(4, "little") + command if size < LARGEST_PACKET else packets(command))
            data = self._receive(_READ_SIZE)
            # What `Heads.rows_of` does, without its calls: they would take 2 % of the client's CPU.
            head = self._known.get(data[KEY])
            if head is not None and data.startswith(head.text):
                if head.layouts:
                    layout = head.layouts.get(len(data))
                    if layout is not None and layout.headers(data) == layout.expected:
                        return layout.rows
                rows = head.walk(data)
                if rows >= 0:
                    if head.learns:
                        head.learn(data, rows)
                    return rows
            elif (rows := rows_changed(data) if head is None else self.heads.rows_of(data)) >= 0:
                return rows
            return self._scan(data, Answer(deprecate_eof=self._deprecate_eof, due=number_after(command))).rows
        except OSError as error:
            raise self._lost(error) from error

    def execute_several(self, command: bytes) -> int:
        """Send one command of several statements, separated by semicolons, and return the sum of their rows.

        The first error ends it: later statements are not done. Raises as `execute` does.
        """
        try:
            self._send(packets(command))
            data = self._receive(_READ_SIZE)
            known = self.heads.read(data, prepared=False, several=True)
            if known is GOES_ON:
                data += self._receive(_READ_SIZE)
                known = self.heads.read(data, prepared=False, several=True)
            if known is not None and known is not GOES_ON:
                return known[0]
            due = number_after(command)
            return self._scan(data, Answer(deprecate_eof=self._deprecate_eof, several=True, due=due)).rows
        except OSError as error:
            raise self._lost(error) from error

    def begin(self, command: bytes, *, fetch: bool, several: bool = False) -> None:
        """Send one command and do not wait; `arrived` gives its answer. With `fetch` that is the rows (`fetch`).

        With `several` the command has several statements (`execute_several`).

        Raises
        ------
        ConnectionLost : broken.
        """
        self._expect(command, fetch=fetch, several=several)
        try:
            size = len(command)
            self._send(size.to_bytes(4, "little") + command if size < LARGEST_PACKET else packets(command))
        except OSError as error:
            raise self._lost(error) from error

    def _expect(self, command: bytes, *, fetch: bool, several: bool) -> None:
        """The next answer is that to a command."""
        self._answer = None
        self._early = b""
        self._begun, self._reads, self._several = True, fetch, several
        self._prepared = command[0] == _EXECUTE
        self._due = number_after(command)

    def arrived(self) -> int | Sequence[Row] | None:
        """Take in what has arrived of the answer. None where it is not whole yet. Raises as `execute` does."""
        while True:
            data = self._there(_READ_SIZE if self._answer is None else _MORE_SIZE)
            if data is None:
                return None
            if not data or not self._begun:
                raise ConnectionLost("the server closed the connection")
            first = self._answer is None
            if first:
                if self._reads or self._several:
                    self._early = data = self._early + data
                    known = self.heads.read(data, prepared=self._prepared, several=self._several)
                    if known is GOES_ON:
                        continue
                    if known is not None:
                        self._begun = False
                        return known[1] if self._reads else known[0]
                else:
                    rows = self.heads.rows_of(data)
                    if rows >= 0:
                        self._begun = False
                        return rows
            answer = self._feed(data)
            if answer is not None:
                if first:
                    self.heads.remember(data)
                return answer

    def _feed(self, data: bytes) -> int | Sequence[Row] | None:
        """Scan what has arrived of the answer that is due. None where it is not whole yet."""
        answer = self._answer = self._answer or self._scanner()
        try:
            whole = answer.feed(data)
        except StatementError:
            self._begun = False
            raise
        if not whole:
            return None
        self._begun = False
        return answer.fetched if isinstance(answer, Rows) else answer.rows

    def _scanner(self) -> Answer:
        """What scans the answer to the command that was begun."""
        if self._reads:
            return self._rows_scanner(prepared=self._prepared, several=self._several, due=self._due)
        return Answer(deprecate_eof=self._deprecate_eof, several=self._several, due=self._due)

    def fileno(self) -> int:
        """The socket's descriptor, to wait on for `arrived`."""
        return self._socket.fileno()

    def _there(self, size: int) -> bytes | None:
        """Bytes that have arrived; none at the end of the connection, None where nothing has arrived."""
        try:
            if self._plain:
                return self._socket.recv(size, socket.MSG_DONTWAIT)
            self._socket.settimeout(0.0)
            try:
                return self._socket.recv(size)
            finally:
                self._socket.settimeout(self._timeout_s)
        except (BlockingIOError, ssl.SSLWantReadError):
            return None
        except OSError as error:
            raise self._lost(error) from error

    def fetch(self, command: bytes, *, several: bool = False) -> Sequence[Row]:
        """Send one query, as text or prepared, and return its rows, values as text and None for NULL.

        With `several` the command has several statements, and the rows are those of all of them.

        Raises as `execute` does.
        """
        try:
            self._send(packets(command))
            data, prepared = self._receive(_READ_SIZE), command[0] == _EXECUTE
            known = self.heads.read(data, prepared=prepared, several=several)
            if known is GOES_ON:
                data += self._receive(_READ_SIZE)
                known = self.heads.read(data, prepared=prepared, several=several)
            if known is not None and known is not GOES_ON:
                return known[1]
            scanner = self._rows_scanner(prepared=prepared, several=several, due=number_after(command))
            return self._scan(data, scanner).fetched
        except OSError as error:
            raise self._lost(error) from error

    def _rows_scanner(self, *, prepared: bool, several: bool, due: int) -> Rows:
        of_command = BinaryRows if prepared else Rows
        return of_command(deprecate_eof=self._deprecate_eof, several=several, due=due)

    def _scan(self, data: bytes, answer: _Scanner) -> _Scanner:
        """Feed an answer up to its end, from what has arrived of it."""
        first, deadline = data, time.monotonic() + self._timeout_s
        while True:
            if not data:
                raise ConnectionLost("the server closed the connection")
            if answer.feed(data):
                break
            if time.monotonic() > deadline:  # one that sends a byte now and then does not hold us for ever
                raise ConnectionLost(f"no whole answer within {self._timeout_s:g} s")
            data = self._receive(_MORE_SIZE)
        if data is first:
            self.heads.remember(data)
        return answer

    def _lost(self, error: OSError) -> ConnectionLost:
        if isinstance(error, BlockingIOError | TimeoutError):
            return ConnectionLost(f"no answer within {self._timeout_s:g} s")
        return ConnectionLost(error.strerror or str(error) or type(error).__name__)


def _statement_error(body: bytes) -> StatementError:
    code = int.from_bytes(body[1:3], "little")
    text = body[9:] if body[3:4] == b"#" else body[3:]
    return refused(code, text.decode(errors="replace"))


def _length_encoded(body: memoryview, position: int) -> tuple[int, int]:
    """A length-encoded integer at `position`, and the position after it."""
    first = body[position] if position < len(body) else _ERROR
    if first < 0xFB:
        return first, position + 1
    width = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(first)
    if width is None or position + 1 + width > len(body):
        raise ProtocolError("a length-encoded number is malformed")
    return int.from_bytes(body[position + 1 : position + 1 + width], "little"), position + 1 + width
