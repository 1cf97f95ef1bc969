"""Values of prepared statements: parameters as the server wants them, and values of rows as a text result has them.

A statement is prepared once for each connection. `Prepared` completes it with `%`, as bytes complete a text, so that a
transaction can be written once for both protocols.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np

_TINY, _SHORT, _LONG, _FLOAT, _DOUBLE, _NULL, _TIMESTAMP, _LONGLONG, _INT24 = 1, 2, 3, 4, 5, 6, 7, 8, 9
_DATE, _TIME, _DATETIME, _YEAR, _NEWDECIMAL, _VAR_STRING = 10, 11, 12, 13, 246, 253
_UNSIGNED, _ZEROFILL = 0x20, 0x40
_WIDEST = 255  # the display width of a ZEROFILL column
_LONG_TEXT = 0xFB  # from here on, the first byte of a length says how many bytes follow
_INTEGERS: Final = {_TINY: "b", _SHORT: "h", _YEAR: "H", _LONG: "i", _INT24: "i", _LONGLONG: "q"}
_DEFINITION = struct.Struct("<IBHB").unpack_from  # length, type, flags, decimals

Reader = Callable[[bytes, int], tuple[bytes, int]]
"""Reads the value at a position of a row. Returns it as text, and the position after it."""

_PARAMETER = re.compile(r"%d|%i|'%b'|%b")
_TYPES: Final = {
    "%d": bytes([_LONGLONG, 0]),
    "%i": bytes([_LONG, 0]),
    "'%b'": bytes([_VAR_STRING, 0]),
    "%b": bytes([_NEWDECIMAL, 0]),
}
_CODES: Final = {"%d": "q", "%i": "i"}


def with_markers(text: str) -> str:
    """A text to be completed with `%`, as a text to be prepared (`driver.Statement` says what stands for what)."""
    return _PARAMETER.sub("?", text)


class Prepared:
    """A prepared statement of one connection. `prepared % values` is the command that executes it.

    Parameters
    ----------
    execute : the start of the command: its byte, the statement's id, no cursor, one iteration.
    text : the statement before `with_markers`, which has the types of its parameters.

    `head` is what comes before the values.
    """

    def __init__(self, execute: bytes, text: str) -> None:
        kinds = _PARAMETER.findall(text)
        # No parameter is NULL, and types are sent each time: the command does not depend on those before it.
        bound = bytes((len(kinds) + 7) // 8) + b"\x01" + b"".join(_TYPES[kind] for kind in kinds) if kinds else b""
        self.head = execute + bound
        self._codes = codes = [_CODES.get(kind) for kind in kinds]
        self._integers = None if None in codes else struct.Struct("<" + "".join(map(str, codes))).pack
        self._packs = [length_encoded if code is None else struct.Struct(f"<{code}").pack for code in codes]

    @property
    def codes(self) -> str:
        """A letter for each parameter: q for an integer of 8 bytes, i of 4, and s for bytes after their length."""
        return "".join(code or "s" for code in self._codes)

    def __mod__(self, values: Any) -> bytes:
        """The command with these values: integers, and bytes for strings and decimals. A single one needs no tuple."""
        given = values if isinstance(values, tuple) else (values,)
        if self._integers is not None:
            return self.head + self._integers(*given)
        parts = [self.head]
        for value, pack in zip(given, self._packs, strict=True):
            parts.append(pack(value))
        return b"".join(parts)

    def each(self, values: np.ndarray[Any, Any]) -> list[bytes]:
        """The commands with each of these values (`driver.PreparedStatement`)."""
        commands, columns = np.empty(len(values), dtype=self._command), values.reshape(len(values), -1)
        commands["head"] = np.void(self.head)
        for number, column in enumerate(columns.T):
            commands[str(number)] = column
        width, block = self._command.itemsize, commands.tobytes()
        return [block[start : start + width] for start in range(0, len(block), width)]

    @cached_property
    def _command(self) -> np.dtype[Any]:
        """A command whose values are all integers."""
        values = [(str(number), f"<{code}") for number, code in enumerate(self._codes)]
        return np.dtype([("head", f"V{len(self.head)}"), *values])


class PreparedRows:
    """An INSERT of several rows, prepared on one connection: see `driver.PreparedRows`.

    A row is a DATETIME, LONGs and a string. Only the string's length varies, so a block of rows is one matrix with the
    unused bytes, those before the string's length, masked out.

    Parameters
    ----------
    execute : as that of `Prepared`.
    rows : rows of one command.
    integers, strings : see `driver.Connection.prepared_rows`. A string has at most 250 bytes.
    """

    def __init__(self, execute: bytes, rows: int, integers: int, strings: Sequence[bytes]) -> None:
        lengths = np.array([len(string) for string in strings])
        longest = int(lengths.max())
        assert longest < _LONG_TEXT, "its length has one byte"
        head = execute + bytes((rows * (integers + 2) + 7) // 8)
        types = bytes([_DATETIME, 0] + [_LONG, 0] * integers + [_VAR_STRING, 0])
        self._first_head: bytes | None = head + b"\x01" + types * rows
        self._head = head + b"\x00"  # the server remembers the types
        self._rows = rows
        padded = [(bytes([len(string)]) + string).rjust(longest + 1, b"\0") for string in strings]
        self._strings = np.array([list(string) for string in padded], dtype=np.uint8)
        self._fields = [f"integer_{number}" for number in range(integers)]
        fixed = [("moment", "V8"), *((name, "<i4") for name in self._fields)]
        self._row = np.dtype([*fixed, ("string", f"V{longest + 1}")])
        position, before = np.arange(self._row.itemsize)[None, :], self._row.itemsize - longest - 1
        self._is_used = (position < before) | (position >= before + (longest - lengths)[:, None])
        self._widths = before + 1 + lengths

    def commands(
        self, moment: datetime, integers: Sequence[np.ndarray[Any, Any]], sizes: Any, letters: Any
    ) -> list[bytes]:
        """The commands of a block of rows, one after another."""
        rows = np.empty(len(sizes), dtype=self._row)
        packed = struct.pack("<BHBBBBB", 7, *moment.timetuple()[:6])
        rows["moment"] = np.void(packed)
        for name, values in zip(self._fields, integers, strict=True):
            rows[name] = values
        strings = letters | self._strings.take(sizes, axis=0)
        rows["string"] = strings.view(rows["string"].dtype)[:, 0]
        matrix = rows.view(np.uint8).reshape(len(rows), -1)
        block = matrix[self._is_used.take(sizes, axis=0)].tobytes()
        ends = np.cumsum(self._widths.take(sizes))[self._rows - 1 :: self._rows].tolist()
        head, made = self._head, [block[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        first, self._first_head = self._first_head or head, None
        return [first + made[0], *(head + values for values in made[1:])]


def length_encoded(value: bytes) -> bytes:
    """Bytes after their length."""
    size = len(value)
    if size < 0xFB:
        return bytes([size]) + value
    if size < 1 << 16:
        return b"\xfc" + size.to_bytes(2, "little") + value
    return (b"\xfd" + size.to_bytes(3, "little") if size < 1 << 24 else b"\xfe" + size.to_bytes(8, "little")) + value


@lru_cache(maxsize=1024)
def reader_of(definition: bytes) -> Reader:
    """What reads the values of a column, by its definition packet.

    Raises ValueError for a column of FLOAT or DOUBLE, whose digits as text depend on the server, and for a definition
    that is incomplete, or wider than the protocol's servers make one.
    """
    try:
        position = 0
        for _ in range(6):  # catalog, schema, table and column, both with their own and original names
            _, position = _text(definition, position)
        length, kind, flags, decimals = _DEFINITION(definition, position + 3)
    except (IndexError, OverflowError, struct.error) as error:
        raise ValueError("a column definition is incomplete") from error
    if kind in (_FLOAT, _DOUBLE):
        raise ValueError("a FLOAT or DOUBLE is not read")
    if kind in _INTEGERS:
        if flags & _ZEROFILL and length > _WIDEST:
            raise ValueError(f"a display width of {length}")
        code = _INTEGERS[kind].upper() if flags & _UNSIGNED else _INTEGERS[kind]
        return _integers(code, 4 if kind == _YEAR else length if flags & _ZEROFILL else 0)
    if kind in (_DATE, _DATETIME, _TIMESTAMP):
        return _dates(kind != _DATE, decimals)
    return _times(decimals) if kind == _TIME else _text


def row_of(body: bytes, readers: Sequence[Reader]) -> tuple[bytes | None, ...]:
    """The values of one row as a text result has them, None for NULL. Raises ValueError if the row is malformed."""
    position = 1 + (len(readers) + 9) // 8
    nulls = int.from_bytes(body[1:position], "little") >> 2  # two bits of the bitmap are reserved
    values: list[bytes | None] = []
    try:
        for read in readers:
            if nulls & 1:
                values.append(None)
            elif read is _text and body[position] < _LONG_TEXT:  # most of them
                begin = position + 1
                position = begin + body[position]
                values.append(body[begin:position])
            else:
                value, position = read(body, position)
                values.append(value)
            nulls >>= 1
    except (IndexError, OverflowError, struct.error) as error:
        raise ValueError("a row is incomplete") from error
    if position != len(body):
        raise ValueError("the length of a row does not match its values")
    return tuple(values)


def _integers(code: str, digits: int) -> Reader:
    form = struct.Struct(f"<{code}")
    unpack, size = form.unpack_from, form.size

    def read(body: bytes, position: int) -> tuple[bytes, int]:
        return b"%0*d" % (digits, unpack(body, position)[0]), position + size

    def read_plain(body: bytes, position: int) -> tuple[bytes, int]:
        return b"%d" % unpack(body, position)[0], position + size

    return read if digits else read_plain


def _text(body: bytes, position: int) -> tuple[bytes, int]:
    size = body[position]
    position += 1
    if size >= _LONG_TEXT:
        width = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(size)
        if width is None:
            raise ValueError("a length is malformed")
        size = int.from_bytes(body[position : position + width], "little")
        position += width
    return body[position : position + size], position + size


def _dates(with_time: bool, decimals: int) -> Reader:
    def read(body: bytes, position: int) -> tuple[bytes, int]:
        size, end = body[position], position + 1 + body[position]
        if size not in (0, 4, 7, 11) or end > len(body):
            raise ValueError("a date is malformed")
        year, month, day, hour, minute, second, micros = struct.unpack(
            "<HBBBBBI", body[position + 1 : end].ljust(11, b"\0")
        )
        text = b"%04d-%02d-%02d" % (year, month, day)
        if with_time:
            text += b" %02d:%02d:%02d" % (hour, minute, second) + _fraction(micros, decimals)
        return text, end

    return read


def _times(decimals: int) -> Reader:
    def read(body: bytes, position: int) -> tuple[bytes, int]:
        size, end = body[position], position + 1 + body[position]
        if size not in (0, 8, 12) or end > len(body):
            raise ValueError("a time is malformed")
        negative, days, hours, minute, second, micros = struct.unpack(
            "<BIBBBI", body[position + 1 : end].ljust(12, b"\0")
        )
        sign = b"-" if negative else b""
        return sign + b"%02d:%02d:%02d" % (24 * days + hours, minute, second) + _fraction(micros, decimals), end

    return read


def _fraction(micros: int, decimals: int) -> bytes:
    return b".%0*d" % (decimals, micros // 10 ** (6 - decimals)) if 0 < decimals <= 6 else b""
