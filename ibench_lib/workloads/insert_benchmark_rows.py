"""Rows of the Insert Benchmark, made by numpy in blocks, as SQL text or as parameters of a prepared statement.

The same seed gives the same rows either way. A block is about 2,000 rows and one second of the simulated clock that
fills `dateandtime`: it rises as in a real load and does not depend on when the load runs.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Protocol

import numpy as np

from ibench_lib.client.wire import COM_QUERY, COM_STMT_EXECUTE

CASH_REGISTERS = 1_000
CUSTOMERS = 100_000
PRODUCTS = 10_000
PRICES = 500

COLUMNS = "dateandtime,cashregisterid,customerid,productid,price,data"

_BLOCK_ROWS = 2_000
_ALPHABET = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", dtype=np.uint8)
_CLOCK_START = datetime(2023, 1, 1)

_TYPE_LONG, _TYPE_DATETIME, _TYPE_VAR_STRING = 0x03, 0x0C, 0xFD

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Block:
    """Rows of one block. The first half of each `data` (rounded up) is random letters, the rest is `a`.

    `letters` has enough random letters for the longest `data`; `size` is the length of `data` less the shortest one.
    """

    moment: datetime
    register: Array
    customer: Array
    product: Array
    price: Array
    letters: Array
    size: Array


class RowSource:
    """Endless blocks of random rows. Values are uniform in the ranges that the benchmark defines."""

    def __init__(self, rows: int, data_length: tuple[int, int], seed: np.random.SeedSequence) -> None:
        self._rows = rows
        self._sizes = data_length[1] - data_length[0] + 1
        self._half = (data_length[1] + 1) // 2
        self._random = np.random.Generator(np.random.PCG64(seed))
        self._blocks = 0

    def next_block(self) -> Block:
        """The next block."""
        random, rows = self._random, self._rows
        register, customer, product, price, size = (
            random.integers(0, limit, rows, dtype=np.int32)
            for limit in (CASH_REGISTERS, CUSTOMERS, PRODUCTS, PRICES, self._sizes)
        )
        noise = np.frombuffer(random.bytes(rows * self._half), dtype=np.uint8)
        letters = _ALPHABET[noise & (len(_ALPHABET) - 1)].reshape(rows, self._half)
        moment = _CLOCK_START + timedelta(seconds=self._blocks)
        self._blocks += 1
        return Block(moment, register, customer, product, price, letters, size)


def _is_random(data_length: tuple[int, int]) -> Array:
    """Row per length of `data`: which of its letters are random."""
    lengths = np.arange(data_length[0], data_length[1] + 1)
    return np.asarray(np.arange((data_length[1] + 1) // 2)[None, :] < ((lengths + 1) // 2)[:, None])


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
        low, high = data_length
        # What stands where `data` does, by its length: its fixed letters, the quote, and spaces up to the full width.
        endings = [("a" * length + "'").ljust(high + 1) for length in range(low, high + 1)]
        self._endings = np.array([list(ending.encode()) for ending in endings], dtype=np.uint8)
        self._is_random = _is_random(data_length)
        template = f"('0000-00-00 00:00:00',000,00000,0000,000,'{' ' * high} ),".encode()
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
        matrix[:, 23:26] = _digits(3)[block.register]
        matrix[:, 27:32] = _digits(5)[block.customer]
        matrix[:, 33:37] = _digits(4)[block.product]
        matrix[:, 38:41] = _digits(3)[block.price]
        matrix[:, 43:-2] = self._endings[block.size]
        np.copyto(matrix[:, 43 : 43 + block.letters.shape[1]], block.letters, where=self._is_random[block.size])
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
        self._shortest, self._width = data_length
        self._is_random = _is_random(data_length)
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
        rows, half = block.letters.shape
        fixed = np.empty(rows, dtype=self._ROW)
        day, time = block.moment.date(), block.moment.time()
        packed = struct.pack("<BHBBBBB", 7, day.year, day.month, day.day, time.hour, time.minute, time.second)
        fixed["moment"] = np.frombuffer(packed, dtype=np.uint8)
        fixed["register"], fixed["customer"] = block.register, block.customer
        fixed["product"], fixed["price"] = block.product, block.price
        start = self._ROW.itemsize + 1
        matrix = np.full((rows, start + self._width), ord("a"), dtype=np.uint8)
        matrix[:, : start - 1] = fixed.view(np.uint8).reshape(rows, start - 1)
        matrix[:, start - 1] = block.size + self._shortest
        np.copyto(matrix[:, start : start + half], block.letters, where=self._is_random[block.size])
        used = start + self._shortest + block.size
        self._block = matrix[np.arange(matrix.shape[1])[None, :] < used[:, None]].tobytes()
        self._ends = [0, *np.cumsum(used)[self._rows_per_commit - 1 :: self._rows_per_commit].tolist()]
        self._next = 0


def execute_head(statement_id: bytes) -> bytes:
    """The fixed start of COM_STMT_EXECUTE: no cursor, one iteration."""
    return COM_STMT_EXECUTE + statement_id + b"\x00\x01\x00\x00\x00"


@cache
def _digits(width: int) -> Array:
    """Row n: the decimal digits of n as text, with leading zeros."""
    numbers = np.arange(10**width)
    columns = [numbers // 10**place % 10 + ord("0") for place in range(width - 1, -1, -1)]
    return np.stack(columns, axis=1).astype(np.uint8)
