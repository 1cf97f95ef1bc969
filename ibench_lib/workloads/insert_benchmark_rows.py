"""Rows of the Insert Benchmark, made by numpy in blocks, as SQL text or as parameters of a prepared statement.

The same seed gives the same rows either way. A block is about 1,000 rows and one second of the simulated clock that
fills `dateandtime`: it rises as in a real load and does not depend on when the load runs.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

import numpy as np

from ibench_lib.client.wire import COM_QUERY, COM_STMT_EXECUTE

CASH_REGISTERS = 1_000
CUSTOMERS = 100_000
PRODUCTS = 10_000
PRICES = 500

COLUMNS = "dateandtime,cashregisterid,customerid,productid,price,data"

_BLOCK_ROWS = 1_000
_ALPHABET = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", dtype=np.uint8)
_CLOCK_START = datetime(2023, 1, 1)

_TYPE_LONG, _TYPE_DATETIME, _TYPE_VAR_STRING = 0x03, 0x0C, 0xFD

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Block:
    """Rows of one block: four number columns, and `text`, whose first `length` characters of each row are the data."""

    moment: datetime
    register: Array
    customer: Array
    product: Array
    price: Array
    text: Array
    length: Array


class RowSource:
    """Endless blocks of random rows. Values are uniform in the ranges that the benchmark defines."""

    def __init__(self, rows: int, data_length: tuple[int, int], seed: np.random.SeedSequence) -> None:
        self._rows = rows
        self._low, self._high = data_length
        self._random = np.random.Generator(np.random.PCG64(seed))
        self._blocks = 0

    def next_block(self) -> Block:
        """The next block. The first half of each `data` is random text, which does not compress; the rest is not."""
        random, rows = self._random, self._rows
        register, customer = random.integers(0, CASH_REGISTERS, rows), random.integers(0, CUSTOMERS, rows)
        product, price = random.integers(0, PRODUCTS, rows), random.integers(0, PRICES, rows)
        length = random.integers(self._low, self._high + 1, rows)
        half = (self._high + 1) // 2
        text = np.full((rows, self._high), ord("a"), dtype=np.uint8)
        is_random = np.arange(half)[None, :] < ((length + 1) // 2)[:, None]
        text[:, :half] = np.where(is_random, _ALPHABET[random.integers(0, len(_ALPHABET), (rows, half))], ord("a"))
        moment = _CLOCK_START + timedelta(seconds=self._blocks)
        self._blocks += 1
        return Block(moment, register, customer, product, price, text, length)


class Statements(Protocol):
    """A source of INSERT commands."""

    def next_statement(self) -> bytes:
        """One INSERT, ready for `Connection.execute`."""


class TextInserts:
    """INSERTs as SQL text.

    Every row has the same width: numbers carry leading zeros, and spaces follow the closing quote of `data`. So a
    statement is one slice of its block.
    """

    def __init__(
        self, table: str, rows_per_commit: int, data_length: tuple[int, int], seed: np.random.SeedSequence
    ) -> None:
        self._prefix = COM_QUERY + f"INSERT INTO {table} ({COLUMNS}) VALUES ".encode()
        self._per_block = max(1, _BLOCK_ROWS // rows_per_commit)
        self._source = RowSource(self._per_block * rows_per_commit, data_length, seed)
        template = f"('0000-00-00 00:00:00',000,00000,0000,000,'{' ' * data_length[1]} ),".encode()
        self._statement_width = len(template) * rows_per_commit
        self._matrix = np.tile(np.frombuffer(template, dtype=np.uint8), (self._per_block * rows_per_commit, 1))
        self._block = b""
        self._next = self._per_block

    def next_statement(self) -> bytes:
        """One INSERT of `rows_per_commit` rows."""
        if self._next == self._per_block:
            self._make_block()
        start = self._next * self._statement_width
        self._next += 1
        return self._prefix + self._block[start : start + self._statement_width - 1]

    def _make_block(self) -> None:
        block, matrix = self._source.next_block(), self._matrix
        matrix[:, 2:21] = np.frombuffer(str(block.moment).encode(), dtype=np.uint8)
        _write_digits(matrix[:, 23:26], block.register)
        _write_digits(matrix[:, 27:32], block.customer)
        _write_digits(matrix[:, 33:37], block.product)
        _write_digits(matrix[:, 38:41], block.price)
        area = matrix[:, 43:-2]
        position, length = np.arange(area.shape[1])[None, :], block.length[:, None]
        area[:, :-1] = block.text
        area[position == length] = ord("'")
        area[position > length] = ord(" ")
        self._block = matrix.tobytes()
        self._next = 0


class PreparedInserts:
    """INSERTs as parameters of a prepared statement of `rows_per_commit` rows.

    A row is a DATETIME, four LONGs and a string; only the string's length varies, so a block is one matrix with the
    unused bytes masked out.
    """

    _ROW = np.dtype(
        [("moment", "u1", 8), ("register", "<i4"), ("customer", "<i4"), ("product", "<i4"), ("price", "<i4")]
    )
    _TYPES = bytes([_TYPE_DATETIME, 0] + [_TYPE_LONG, 0] * 4 + [_TYPE_VAR_STRING, 0])

    def __init__(
        self, statement_id: bytes, rows_per_commit: int, data_length: tuple[int, int], seed: np.random.SeedSequence
    ) -> None:
        if data_length[1] > 250:
            raise ValueError("prepared inserts carry data of at most 250 characters")
        parameters = rows_per_commit * 6
        nulls = bytes((parameters + 7) // 8)
        head = execute_head(statement_id) + nulls
        self._first_head: bytes | None = head + b"\x01" + self._TYPES * rows_per_commit
        self._head = head + b"\x00"  # the server remembers the types
        self._rows_per_commit = rows_per_commit
        self._per_block = max(1, _BLOCK_ROWS // rows_per_commit)
        self._source = RowSource(self._per_block * rows_per_commit, data_length, seed)
        self._block = b""
        self._ends: list[int] = []
        self._next = self._per_block

    @staticmethod
    def sql(table: str, rows_per_commit: int) -> str:
        """The statement to prepare."""
        return f"INSERT INTO {table} ({COLUMNS}) VALUES " + ",".join(["(?,?,?,?,?,?)"] * rows_per_commit)

    def next_statement(self) -> bytes:
        """One execution with `rows_per_commit` rows."""
        if self._next == self._per_block:
            self._make_block()
        values = self._block[self._ends[self._next] : self._ends[self._next + 1]]
        self._next += 1
        if self._first_head is not None:
            head, self._first_head = self._first_head, None
            return head + values
        return self._head + values

    def _make_block(self) -> None:
        block = self._source.next_block()
        rows, width = block.text.shape
        fixed = np.empty(rows, dtype=self._ROW)
        moment = block.moment
        packed = struct.pack(
            "<BHBBBBB", 7, moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second
        )
        fixed["moment"] = np.frombuffer(packed, dtype=np.uint8)
        fixed["register"], fixed["customer"] = block.register, block.customer
        fixed["product"], fixed["price"] = block.product, block.price
        size = self._ROW.itemsize
        matrix = np.empty((rows, size + 1 + width), dtype=np.uint8)
        matrix[:, :size] = fixed.view(np.uint8).reshape(rows, size)
        matrix[:, size] = block.length
        matrix[:, size + 1 :] = block.text
        used = size + 1 + block.length
        self._block = matrix[np.arange(matrix.shape[1])[None, :] < used[:, None]].tobytes()
        self._ends = [0, *np.cumsum(used)[self._rows_per_commit - 1 :: self._rows_per_commit].tolist()]
        self._next = 0


def execute_head(statement_id: bytes) -> bytes:
    """The fixed start of COM_STMT_EXECUTE: no cursor, one iteration."""
    return COM_STMT_EXECUTE + statement_id + b"\x00\x01\x00\x00\x00"


def _write_digits(area: Array, numbers: Array) -> None:
    """Decimal digits of `numbers` into the columns of `area`, most significant first, with leading zeros."""
    remaining = numbers
    for column in range(area.shape[1] - 1, -1, -1):
        remaining, digit = np.divmod(remaining, 10)
        area[:, column] = digit + ord("0")
