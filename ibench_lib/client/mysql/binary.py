"""Values of prepared statements: parameters as the server wants them, and values of rows as a text result has them.

A statement is prepared once for each connection. `Prepared` completes it with `%`, as bytes complete a text, so that a
transaction can be written once for both protocols.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

_TINY, _SHORT, _LONG, _FLOAT, _DOUBLE, _NULL, _TIMESTAMP, _LONGLONG, _INT24 = 1, 2, 3, 4, 5, 6, 7, 8, 9
_DATE, _TIME, _DATETIME, _YEAR, _NEWDECIMAL, _VAR_STRING = 10, 11, 12, 13, 246, 253
_UNSIGNED, _ZEROFILL = 0x20, 0x40
_LONG_TEXT = 0xFB  # from here on, the first byte of a length says how many bytes follow
_INTEGERS: Final = {_TINY: "b", _SHORT: "h", _YEAR: "H", _LONG: "i", _INT24: "i", _LONGLONG: "q"}
_DEFINITION = struct.Struct("<IBHB").unpack_from  # length, type, flags, decimals

Reader = Callable[[bytes, int], tuple[bytes, int]]
"""Reads the value at a position of a row. Returns it as text, and the position after it."""

_PARAMETER = re.compile(r"%d|'%b'|%b")
_TYPES: Final = {"%d": bytes([_LONGLONG, 0]), "'%b'": bytes([_VAR_STRING, 0]), "%b": bytes([_NEWDECIMAL, 0])}


def with_markers(text: str) -> str:
    """A text to be completed with `%`, as a text to be prepared: %d is an integer, '%b' a string, %b a decimal."""
    return _PARAMETER.sub("?", text)


class Prepared:
    """A prepared statement of one connection. `prepared % values` is the command that executes it.

    Parameters
    ----------
    execute : the start of the command: its byte, the statement's id, no cursor, one iteration.
    text : the statement before `with_markers`, which has the types of its parameters.
    """

    def __init__(self, execute: bytes, text: str) -> None:
        kinds = _PARAMETER.findall(text)
        # No parameter is NULL, and types are sent each time: the command does not depend on those before it.
        bound = bytes((len(kinds) + 7) // 8) + b"\x01" + b"".join(_TYPES[kind] for kind in kinds) if kinds else b""
        self._head = execute + bound
        self._integers = struct.Struct(f"<{len(kinds)}q").pack if set(kinds) <= {"%d"} else None
        self._is_integer = [kind == "%d" for kind in kinds]

    def __mod__(self, values: Any) -> bytes:
        """The command with these values: integers, and bytes for strings and decimals. A single one needs no tuple."""
        given = values if isinstance(values, tuple) else (values,)
        if self._integers is not None:
            return self._head + self._integers(*given)
        parts = [self._head]
        for value, is_integer in zip(given, self._is_integer, strict=True):
            parts.append(_integer(value) if is_integer else length_encoded(value))
        return b"".join(parts)


_integer = struct.Struct("<q").pack


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
    that is incomplete.
    """
    try:
        position = 0
        for _ in range(6):  # catalog, schema, table and column, both with their own and original names
            _, position = _text(definition, position)
        length, kind, flags, decimals = _DEFINITION(definition, position + 3)
    except (IndexError, struct.error) as error:
        raise ValueError("a column definition is incomplete") from error
    if kind in (_FLOAT, _DOUBLE):
        raise ValueError("a FLOAT or DOUBLE is not read")
    if kind in _INTEGERS:
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
    except (IndexError, struct.error) as error:
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
