"""Rows of the Insert Benchmark, made by numpy in blocks, as SQL text or as parameters of a prepared statement.

The same seed gives the same rows either way. A block is about 2,000 rows and one second of the simulated clock that
fills `dateandtime`. Each step takes the clock on from where the step before it may have left it (`clock_seconds`), so
time never goes back within a run, as in a real load. It does not depend on when the load runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import numpy as np

from ibench_lib.client.driver import LONGEST_PARAMETER, Connection
from ibench_lib.workloads.insert_benchmark.clock import statements_per_block

CASH_REGISTERS = 1_000
CUSTOMERS = 100_000
PRODUCTS = 10_000
PRICES = 500

COLUMNS = "dateandtime,cashregisterid,customerid,productid,price,data"

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
CLOCK_START = datetime(2023, 1, 1)

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Block:
    """Rows of one block. `data` ends with random letters (`random_letters`); the letters before them are all `a`.

    `letters` has a row of bytes per row, one longer than the longest `data`: zeros, then its random letters; `size` is
    the length of `data` less the shortest one.
    """

    moment: datetime
    register: Array
    customer: Array
    product: Array
    price: Array
    letters: Array
    size: Array


class RowSource:
    """Endless blocks of random rows. Values are uniform in the ranges that the benchmark defines.

    The clock begins `clock_s` seconds after its start.
    """

    def __init__(self, rows: int, data_length: tuple[int, int], seed: np.random.SeedSequence, clock_s: int) -> None:
        shortest, longest = data_length
        self._rows = rows
        self._sizes = longest - shortest + 1
        self._random = np.random.Generator(np.random.PCG64(seed))
        self._clock_s = clock_s
        width = longest + 1
        self._pairs = random_letters(longest) // 2 + 1
        self._letters = np.zeros((rows, width), dtype=np.uint8)
        self._last_letters = fields(self._letters, letters=(width - 2 * self._pairs, f"V{2 * self._pairs}"))["letters"]
        firsts = np.array([width - random_letters(length) for length in range(shortest, longest + 1)])
        self._is_random = np.where(np.arange(width)[None, :] >= firsts[:, None], 0xFF, 0).astype(np.uint8)

    def next_block(self) -> Block:
        """The next block."""
        random, rows = self._random, self._rows
        register, customer, product, price, size = (
            random.integers(0, limit, rows, dtype=np.int32)
            for limit in (CASH_REGISTERS, CUSTOMERS, PRODUCTS, PRICES, self._sizes)
        )
        noise = np.frombuffer(random.bytes(rows * self._pairs * 2), dtype=np.uint16)
        self._last_letters[:] = _letter_pairs().take(noise & 0xFFF).view(self._last_letters.dtype)
        letters = self._letters & self._is_random.take(size, axis=0)
        moment = CLOCK_START + timedelta(seconds=self._clock_s)
        self._clock_s += 1
        return Block(moment, register, customer, product, price, letters, size)


def random_letters(length: int) -> int:
    """How many letters of a `data` of this length are random: 3 of 10, 7 of 20, as in the original."""
    return int(length * 0.75 * 0.5)


def fields(matrix: Array, **wanted: tuple[int, str]) -> Array:
    """The rows of a matrix of bytes as records, each field given by (offset, dtype); they may overlap.

    To set a field of few bytes in all rows is several times faster than to set its columns.
    """
    offsets, formats = zip(*wanted.values(), strict=True)
    layout = {"names": list(wanted), "formats": formats, "offsets": offsets, "itemsize": matrix.shape[1]}
    return np.ndarray((len(matrix),), dtype=np.dtype(layout), buffer=matrix)  # type: ignore[call-overload]


class TextInserts:
    """INSERTs as SQL text.

    Every row has the same width: numbers carry leading zeros, and spaces precede the opening quote of `data`. So a
    statement is one slice of its block.
    """

    def __init__(
        self,
        connection: Connection,
        table: str,
        rows_per_commit: int,
        data_length: tuple[int, int],
        seed: np.random.SeedSequence,
        clock_s: int = 0,
    ) -> None:
        self._prefix = connection.command(_insert(table).encode())
        self._per_block = statements_per_block(rows_per_commit)
        rows = self._per_block * rows_per_commit
        self._source = RowSource(rows, data_length, seed, clock_s)
        low, high = data_length
        # What is before the random letters, by the length of `data`: spaces up to the width, the quote, fixed letters.
        heads = [
            (b"'" + _fixed_letters(length)).rjust(high + 1 - random_letters(length)) + bytes(random_letters(length))
            for length in range(low, high + 1)
        ]
        self._heads = np.array([list(head) for head in heads], dtype=np.uint8)
        template = f"('0000-00-00 00:00:00',000,00000,0000,000,{' ' * (high + 1)}'),".encode()
        self._statement_width = len(template) * rows_per_commit
        self._matrix = np.tile(np.frombuffer(template, dtype=np.uint8), (rows, 1))
        self._fields = fields(
            self._matrix,
            moment=(2, "S19"),
            register=(23, "<u4"),
            customer=(27, "<u8"),  # five digits, the comma and two that `product` writes after it
            product=(33, "<u4"),
            price=(38, "<u4"),
            data=(42, f"V{high + 1}"),
        )
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
        block, row = self._source.next_block(), self._fields
        row["moment"] = str(block.moment).encode()
        row["register"] = _digits(3, "<u4").take(block.register)
        row["customer"] = _digits(5, "<u8").take(block.customer)
        row["product"] = _digits(4, "<u4").take(block.product)
        row["price"] = _digits(3, "<u4").take(block.price)
        data = block.letters | self._heads.take(block.size, axis=0)
        row["data"] = data.view(row["data"].dtype)[:, 0]
        self._block = self._matrix.tobytes()
        self._next = 0


class PreparedInserts:
    """INSERTs as parameters of a prepared statement of `rows_per_commit` rows."""

    def __init__(
        self,
        connection: Connection,
        table: str,
        rows_per_commit: int,
        data_length: tuple[int, int],
        seed: np.random.SeedSequence,
        clock_s: int = 0,
    ) -> None:
        low, high = data_length
        assert high <= LONGEST_PARAMETER, "the experiment file is refused"
        strings = [_fixed_letters(length) + bytes(random_letters(length)) for length in range(low, high + 1)]
        self._rows = connection.prepared_rows(_insert(table), rows_per_commit, 4, strings)
        self._source = RowSource(statements_per_block(rows_per_commit) * rows_per_commit, data_length, seed, clock_s)
        self._pending: list[bytes] = []

    def next_statement(self) -> bytes:
        """One execution with `rows_per_commit` rows."""
        if not self._pending:
            block = self._source.next_block()
            integers = (block.register, block.customer, block.product, block.price)
            self._pending = self._rows.commands(block.moment, integers, block.size, block.letters)[::-1]
        return self._pending.pop()


def _insert(table: str) -> str:
    """The text of an INSERT up to its rows."""
    return f"INSERT INTO {table} ({COLUMNS}) VALUES "


def _fixed_letters(length: int) -> bytes:
    """The letters of a `data` of this length before its random ones."""
    return b"a" * (length - random_letters(length))


@cache
def _digits(width: int, word: str) -> Array:
    """Entry n: the digits of n as text, with leading zeros, then a comma and zeros as far as the word has room."""
    size = np.dtype(word).itemsize
    return np.frombuffer(b"".join((b"%0*d,00" % (width, n))[:size] for n in range(10**width)), dtype=word)


@cache
def _letter_pairs() -> Array:
    """All 4,096 pairs of letters, a pair per entry."""
    alphabet = np.frombuffer(_ALPHABET, dtype=np.uint8).astype(np.uint16)
    return (alphabet[:, None] | alphabet[None, :] << 8).reshape(-1)
