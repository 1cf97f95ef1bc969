"""Prepared statements in the extended protocol: Bind, Execute and Sync in one write; integers and dates are binary."""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from ibench_lib.base.later import later
from ibench_lib.families.postgres.wire import SYNC, message

if TYPE_CHECKING:
    import numpy as np
else:
    np = later("numpy")

MARK = b"B"
"""The first byte of the command of a prepared statement; the messages follow it."""

_VALUE = re.compile(r"'%b'|%[dib]")
_INT8, _INT4, _TIMESTAMP, _VARCHAR, _INFERRED = 20, 23, 1114, 1043, 0
_TYPES = {"%d": (_INT8, 8), "%i": (_INT4, 4)}
"""Placeholder -> type and width. Others are sent as text, and the server infers their types as of a literal."""

_EPOCH = datetime(2000, 1, 1)
_EXECUTE = message(b"E", b"\0\0\0\0\0") + SYNC
_names = itertools.count(1)

Array: TypeAlias = "np.ndarray[Any, Any]"


def parse(text: str, types: Sequence[int]) -> tuple[bytes, bytes]:
    """A name for a statement, and the messages that prepare it."""
    name = b"s%d\0" % next(_names)
    content = name + text.encode() + b"\0" + struct.pack(f">H{len(types)}I", len(types), *types)
    return name, message(b"P", content) + SYNC


class Prepared:
    """A text whose values are sent apart from it (`driver.PreparedStatement`).

    `opening` are the messages that prepare it, before its first execution. A command is `head`, the values, each after
    its length, and `tail`.
    """

    def __init__(self, text: str) -> None:
        numbers = itertools.count(1)
        self._types = [_TYPES.get(found, (_INFERRED, 0)) for found in _VALUE.findall(text)]
        name, self.opening = parse(_VALUE.sub(lambda _: f"${next(numbers)}", text), [oid for oid, _ in self._types])
        count = len(self._types)
        formats = [1 if width else 0 for _, width in self._types]
        self._head = b"\0" + name + struct.pack(f">H{count}HH", count, *formats, count)
        self.head, self.tail = MARK + message(b"B", b"") + self._head, b"\0\0" + _EXECUTE

    @property
    def codes(self) -> str:
        """A letter for each parameter: q for an integer of 8 bytes, i of 4, and s for bytes."""
        return "".join({8: "q", 4: "i", 0: "s"}[width] for _, width in self._types)

    def __mod__(self, values: Any) -> bytes:
        """The command with these values."""
        given = values if isinstance(values, tuple) else (values,)
        parts = [self._head]
        for value, (_, width) in zip(given, self._types, strict=True):
            text = int(value).to_bytes(width, "big", signed=True) if width else bytes(memoryview(value))
            parts.append(struct.pack(">i", len(text)) + text)
        return MARK + message(b"B", b"".join([*parts, b"\0\0"])) + _EXECUTE

    def each(self, values: Array) -> list[bytes]:
        """The commands with each of these values."""
        rows = values.reshape(len(values), -1)
        if not all(width for _, width in self._types):
            return [self % tuple(row) for row in rows.tolist()]
        template = self % tuple([0] * len(self._types))
        matrix = np.tile(np.frombuffer(template, dtype=np.uint8), (len(rows), 1))
        at = 1 + 5 + len(self._head)
        for column, (_, width) in enumerate(self._types):
            at += 4
            numbers = rows[:, column].astype(f">i{width}")
            matrix[:, at : at + width] = numbers.view(np.uint8).reshape(len(rows), width)
            at += width
        data, size = matrix.tobytes(), len(template)
        return [data[start : start + size] for start in range(0, len(data), size)]


class PreparedRows:
    """An INSERT of several rows whose values are sent apart from it (`driver.PreparedRows`)."""

    def __init__(self, insert: str, rows: int, integers: int, strings: Sequence[bytes]) -> None:
        width = integers + 2
        numbers = itertools.count(1)
        row_texts = ["(" + ",".join(f"${next(numbers)}" for _ in range(width)) + ")" for _ in range(rows)]
        types = [_TIMESTAMP, *[_INT4] * integers, _VARCHAR] * rows
        name, self.opening = parse(insert + ",".join(row_texts), types)
        self._rows, self._integers = rows, integers
        self._head = b"\0" + name + struct.pack(">HHH", 1, 1, rows * width)  # all values are binary
        self._sizes = np.array([len(string) for string in strings])
        longest = int(self._sizes.max())
        self._strings = np.array([list(string.rjust(longest, b"\0")) for string in strings], dtype=np.uint8)

    def commands(self, moment: datetime, integers: Sequence[Array], sizes: Any, letters: Any) -> list[bytes]:
        """The commands of a block of rows. A row is as wide as it can be, and what it does not need is cut out."""
        rows, longest = len(sizes), self._strings.shape[1]
        lengths = self._sizes.take(sizes)
        fixed = [("moment_size", ">i4"), ("moment", ">i8")]
        fixed += [field for n in range(self._integers) for field in ((f"size{n}", ">i4"), (f"value{n}", ">i4"))]
        fixed += [("length", ">i4")]
        record = np.zeros(rows, dtype=[*fixed, ("string", np.uint8, (longest,))])
        record["moment_size"], record["moment"] = 8, (moment - _EPOCH) // timedelta(microseconds=1)
        for number, column in enumerate(integers):
            record[f"size{number}"], record[f"value{number}"] = 4, column
        record["length"] = lengths
        own = np.asarray(letters)[:, -longest:]
        string = self._strings.take(sizes, axis=0)
        string[:, longest - own.shape[1] :] |= own
        record["string"] = string
        matrix = record.view(np.uint8).reshape(rows, -1)
        before = matrix.shape[1] - longest
        wanted = np.ones(matrix.shape, dtype=bool)
        wanted[:, before:] = np.arange(longest)[None, :] >= (longest - lengths)[:, None]
        data = matrix[wanted].tobytes()
        ends = np.cumsum(before + lengths)[self._rows - 1 :: self._rows].tolist()
        return [
            MARK + message(b"B", self._head + data[start:end] + b"\0\0") + _EXECUTE
            for start, end in zip([0, *ends], ends, strict=False)
        ]
