"""Answers that start as one before them: their rows are counted or read without a scan of every packet's bytes.

Column count and definitions are the same for every answer to one form of query. Once a scan (`wire.Answer`) has found
such a start good, the next answer with it is walked from row to row. What is not whole, or not as expected, is left to
the scan, which finds out what is wrong with it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from ibench_lib.client.mysql.binary import Reader, reader_of, row_of

Row = tuple[bytes | None, ...]

NOT_KNOWN: Final = -1

GOES_ON: Final[tuple[int, list[Row]]] = (-1, [])
"""An answer that is good and known so far, and whose last result says that another one follows."""

KEY: Final = slice(4, 60)
"""Of an answer: column count and most of the first definition, which has schema, table and column."""

_LARGEST_PACKET = 0xFFFFFF
_OK, _NULL, _LENGTH_OF_TWO, _EOF, _ERROR = 0x00, 0xFB, 0xFC, 0xFE, 0xFF
_SHORT_EOF = 9
_STATUS_AT = 7  # in an EOF packet, in either form, and in an OK packet whose two numbers are small
_MORE_RESULTS = 0x08
_WIDTHS = {_LENGTH_OF_TWO: 2, 0xFD: 3, _EOF: 8, _ERROR: 1 << 30}  # of a length, by its first byte
_KEY_BYTES = KEY.stop - KEY.start
_MOST_HEADS = 512
_MOST_SHORT = 32
_MOST_LAYOUTS = 4

_header = struct.Struct("<I").unpack_from  # three bytes of length, one of sequence


class _Layout(NamedTuple):
    """Where an answer of one length had its packets: all their headers, unpacked at once, and what they were."""

    headers: Callable[[bytes], tuple[int, ...]]
    expected: tuple[int, ...]
    rows: int


class Head:
    """Column count, definitions and the EOF packet after them: the same for every answer to one form of query.

    Rows of one width, as those of a prepared statement, make answers that differ in nothing but their values: the
    layouts of such answers are kept by length. Rows as text vary too much for that; after a few lengths it is given up.
    """

    __slots__ = ("columns", "layouts", "learns", "next", "packets", "readers", "size", "text")

    def __init__(self, text: bytes, packets: int) -> None:
        self.text = text
        self.size = len(text)
        self.packets = packets
        self.columns = text[4]
        self.layouts: dict[int, _Layout] = {}
        self.learns = True
        self.readers: list[Reader] | None = None
        self.next: Head | None = None  # of those that have the same KEY

    def rows_of(self, data: bytes) -> int:
        """Rows of an answer that starts as this one, where it is whole and good; else NOT_KNOWN."""
        layout = self.layouts.get(len(data))
        if layout is not None and layout.headers(data) == layout.expected:
            return layout.rows
        rows = self.walk(data)
        if rows >= 0 and self.learns:
            self.learn(data, rows)
        return rows

    def walk(self, data: bytes) -> int:
        """The same, from packet to packet."""
        size, position, count = len(data), self.size, self.packets
        last, limit = 0, size - 4
        while position < limit:
            last = position
            position += (_header(data, position)[0] & _LARGEST_PACKET) + 4
            count += 1
        # Sequence numbers rise by one per packet: the last one vouches for the whole walk.
        if (
            position == size
            and data[last + 4] == _EOF
            and size - last - 4 < _SHORT_EOF
            and data[last + 3] == count & 0xFF
            and not data[last + _STATUS_AT] & _MORE_RESULTS
        ):
            return count - self.packets - 1
        return NOT_KNOWN

    def learn(self, data: bytes, rows: int) -> None:
        """Keep the layout of a whole and good answer."""
        if len(self.layouts) == _MOST_LAYOUTS:
            self.layouts = {}
            self.learns = False
            return
        form, position = [f"<{self.size}x"], self.size
        while position < len(data):
            length = _header(data, position)[0] & _LARGEST_PACKET
            position += length + 4
            form.append(f"I{length}x" if position < len(data) else f"IB{length - 1}x")  # B: the end says that it is one
        headers = struct.Struct("".join(form)).unpack
        self.layouts[len(data)] = _Layout(headers, headers(data), rows)

    def readers_of_rows(self) -> list[Reader]:
        """What reads the rows of a prepared statement. Raises ValueError as `reader_of` does."""
        if self.readers is None:
            position, readers = _next(self.text, 0), []
            for _ in range(self.columns):
                end = _next(self.text, position)
                readers.append(reader_of(self.text[position + 4 : end]))
                position = end
            self.readers = readers
        return self.readers


class Heads:
    """The starts that connections have seen in good answers, `known` by their KEY, and those too short for one.

    `deprecate_eof`: whether CLIENT_DEPRECATE_EOF was negotiated, by each of them.
    """

    def __init__(self, *, deprecate_eof: bool) -> None:
        self.known: dict[bytes, Head] = {}
        self.short: list[Head] = []
        self._kept = 0
        self.deprecate_eof = deprecate_eof

    def rows_of(self, data: bytes) -> int:
        """Rows changed or returned by an answer that is whole and known, or an OK packet; else NOT_KNOWN."""
        head = self.find(data, 0)
        return rows_changed(data) if head is None else head.rows_of(data)

    def find(self, data: bytes, position: int) -> Head | None:
        """The known start of the result at `position`, or None."""
        head = self.known.get(data[position + 4 : position + 4 + _KEY_BYTES])
        while head is not None and not data.startswith(head.text, position):
            head = head.next
        if head is None and self.short and data[position + 4 : position + 5] != b"\0":
            return next((one for one in self.short if data.startswith(one.text, position)), None)
        return head

    def read(self, data: bytes, *, prepared: bool, several: bool) -> tuple[int, list[Row]] | None:
        """Rows changed or returned, and the rows, of an answer that is whole and known; else None, or GOES_ON.

        `prepared`: rows are those of a prepared statement. `several`: of all results together.
        """
        fetched: list[Row] = []
        changed = position = number = 0
        size = len(data)
        try:
            while True:
                if data[position + 4] == _OK:
                    end = position + 4 + (_header(data, position)[0] & _LARGEST_PACKET)
                    number += 1
                    rows, inserted_id = data[position + 5], data[position + 6]
                    if data[position + 3] != number & 0xFF or rows >= _NULL or inserted_id >= _NULL:
                        return None
                    changed += rows
                    status = data[position + _STATUS_AT]
                else:
                    head = self.find(data, position)
                    if head is None:
                        return None
                    walked = _rows(data, position, head, fetched, prepared=prepared)
                    if walked is None:
                        return None
                    status, end, number = walked
                position = end
                if not status & _MORE_RESULTS:
                    return (changed + len(fetched), fetched) if position == size else None
                if not several:
                    return None
                if position == size:
                    return GOES_ON
        except (IndexError, OverflowError, struct.error, ValueError):
            return None

    def remember(self, data: bytes) -> None:
        """Keep the starts of all results of a good answer."""
        position, size = 0, len(data)
        while position < size:
            begin, number, columns = position, data[position + 3], data[position + 4]
            if columns == _OK:
                position = _next(data, position)
                continue
            if columns >= _NULL:
                return
            packets = 1 + columns + (0 if self.deprecate_eof else 1)
            for _ in range(packets):
                position = _next(data, position)
            if self.find(data, begin) is None:
                self._keep(Head(data[begin:position], number + packets - 1))
            limit = _LARGEST_PACKET if self.deprecate_eof else _SHORT_EOF
            while not (data[position + 4] == _EOF and _next(data, position) - position - 4 < limit):
                position = _next(data, position)
            position = _next(data, position)

    def _keep(self, head: Head) -> None:
        """Keep one. Where there are too many, all are forgotten: those in use come back at once."""
        if self._kept == _MOST_HEADS:
            self.known.clear()
            self.short.clear()
            self._kept = 0
        self._kept += 1
        if head.size < KEY.stop:  # its KEY would contain values of the first row
            self.short = [head, *self.short[: _MOST_SHORT - 1]]
            return
        key = head.text[KEY]
        head.next = self.known.get(key)
        self.known[key] = head


def rows_changed(data: bytes) -> int:
    """Rows changed, when `data` is exactly one OK packet that answers a command; else NOT_KNOWN."""
    size = len(data)
    if size < 11 or data[4] != _OK or data[3] != 1 or (data[0] | data[1] << 8 | data[2] << 16) + 4 != size:
        return NOT_KNOWN
    rows = data[5]
    if rows < _NULL:
        return NOT_KNOWN if data[6] < _NULL and data[_STATUS_AT] & _MORE_RESULTS else rows
    return data[6] | data[7] << 8 if rows == _LENGTH_OF_TWO else NOT_KNOWN


def _next(data: bytes, position: int) -> int:
    """Where the next packet starts."""
    return position + 4 + int((_header(data, position)[0]) & _LARGEST_PACKET)


def _rows(data: bytes, position: int, head: Head, into: list[Row], *, prepared: bool) -> tuple[int, int, int] | None:
    """Append the rows of a result. Returns its status, its end and the number of its last packet, or None.

    Raises IndexError, OverflowError, ValueError or struct.error if it is malformed.
    """
    position, number = position + head.size, head.packets
    readers = head.readers_of_rows() if prepared else None
    while True:
        begin = position + 4
        header = _header(data, position)[0]
        position = begin + (header & _LARGEST_PACKET)
        number += 1
        if header >> 24 != number & 0xFF:
            return None
        first = data[begin]
        if first == _EOF and position - begin < _SHORT_EOF:
            return data[begin - 4 + _STATUS_AT], position, number
        if first == _ERROR:
            return None
        if readers is not None:
            into.append(row_of(data[begin:position], readers))
            continue
        into.append(text_row(data, begin, position))


def text_row(data: bytes, at: int, end: int) -> Row:
    """The values of a row of a text result, None for NULL. Raises ValueError or IndexError if it is incomplete."""
    values: list[bytes | None] = []
    while at < end:
        length = data[at]
        at += 1
        if length == _NULL:
            values.append(None)
            continue
        if length > _NULL:
            width = _WIDTHS[length]
            length = int.from_bytes(data[at : at + width], "little")
            at += width
        values.append(data[at : at + length])
        at += length
    if at != end:
        raise ValueError("a value is incomplete")
    return tuple(values)
