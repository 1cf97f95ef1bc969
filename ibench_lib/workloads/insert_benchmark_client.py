"""What the Insert Benchmark's client processes send: rows, deletes, queries, index DDL.

A statement is a whole command of the protocol, its first byte included (`client/wire.py`). The same seed gives each
client the same rows and the same queries. A role is a source of statements for the load loop (`client/load.py`), made
outside the timed part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ibench_lib.client.connection import Connection
from ibench_lib.client.load import Probe, Role
from ibench_lib.client.wire import COM_QUERY

CASH_REGISTERS = 1_000
CUSTOMERS = 100_000
PRODUCTS = 10_000
PRICES = 500
DATA_LENGTH = (10, 20)
QUERY_LIMIT = 10
POINT_IDS = 10
MIN_REREAD_STATEMENTS = 1_000
MAX_REREAD_QUERIES = 100

_BLOCK_ROWS = 1_000
_ALPHABET = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", dtype=np.uint8)
_FIRST_TIMESTAMP = np.datetime64("2023-01-01T00:00:00")


class InsertRows:
    """Endless rows as SQL text, made by numpy in blocks of about 1,000.

    Every row has the same width: numbers carry leading zeros and spaces follow the closing quote of `data`, so a
    statement is one slice of its block. `dateandtime` advances one second per block, so that it rises as in a real
    load and is still the same for the same seed.
    """

    def __init__(self, table: str, rows_per_commit: int, seed: np.random.SeedSequence) -> None:
        columns = "dateandtime,cashregisterid,customerid,productid,price,data"
        self._prefix = COM_QUERY + f"INSERT INTO {table} ({columns}) VALUES ".encode()
        self._random = np.random.Generator(np.random.PCG64(seed))
        self._statements_per_block = max(1, _BLOCK_ROWS // rows_per_commit)
        self._rows_per_commit = rows_per_commit
        template = f"('0000-00-00 00:00:00',000,00000,0000,000,'{' ' * DATA_LENGTH[1]} ),".encode()
        self._width = len(template)
        rows = self._statements_per_block * rows_per_commit
        self._matrix = np.tile(np.frombuffer(template, dtype=np.uint8), (rows, 1))
        self._block = b""
        self._next = self._statements_per_block
        self._blocks = 0

    def next_statement(self) -> bytes:
        """One INSERT of `rows_per_commit` rows."""
        if self._next == self._statements_per_block:
            self._make_block()
        start = self._next * self._rows_per_commit * self._width
        self._next += 1
        return self._prefix + self._block[start : start + self._rows_per_commit * self._width - 1]

    def _make_block(self) -> None:
        matrix, random, rows = self._matrix, self._random, len(self._matrix)
        timestamp = str(_FIRST_TIMESTAMP + np.timedelta64(self._blocks, "s")).replace("T", " ")
        matrix[:, 2:21] = np.frombuffer(timestamp.encode(), dtype=np.uint8)
        _write_digits(matrix[:, 23:26], random.integers(0, CASH_REGISTERS, rows))
        _write_digits(matrix[:, 27:32], random.integers(0, CUSTOMERS, rows))
        _write_digits(matrix[:, 33:37], random.integers(0, PRODUCTS, rows))
        _write_digits(matrix[:, 38:41], random.integers(0, PRICES, rows))
        self._write_data(matrix[:, 43:])
        self._block = matrix.tobytes()
        self._next = 0
        self._blocks += 1

    def _write_data(self, area: np.ndarray[Any, Any]) -> None:
        """Uniform length; the first half random text, which does not compress, the rest one letter, which does."""
        low, high = DATA_LENGTH
        rows = len(area)
        length = self._random.integers(low, high + 1, rows)[:, None]
        position = np.arange(high + 1)[None, :]
        text = np.full((rows, high + 1), ord("a"), dtype=np.uint8)
        random_part = _ALPHABET[self._random.integers(0, len(_ALPHABET), (rows, high // 2))]
        text[:, : high // 2] = np.where(position[:, : high // 2] < (length + 1) // 2, random_part, ord("a"))
        text[position == length] = ord("'")
        text[position > length] = ord(" ")
        area[:, : high + 1] = text


class Inserter(Role):
    """Multi-row INSERTs; its probe is the client's get_min in steps without a deleter."""

    def __init__(self, spec: dict[str, Any], connection: Connection) -> None:
        self._connection = connection
        self._table = spec["table"]
        self._rows = InsertRows(self._table, spec["rows_per_commit"], _seed(spec))

    def probe(self) -> list[Probe]:
        return [Probe.of(self._connection, "get_min", f"SELECT min(transactionid) FROM {self._table}")]

    def next_statement(self) -> bytes:
        return self._rows.next_statement()


class Deleter(Role):
    """Deletes from the tail: LOW rises by `rows_per_commit` and is re-read every 1,000 statements."""

    def __init__(self, spec: dict[str, Any], connection: Connection) -> None:
        self._connection = connection
        self._table = spec["table"]
        self._rows_per_commit = spec["rows_per_commit"]
        self._low = 0
        self._statements = 0

    def probe(self) -> list[Probe]:
        return [self._read_min("get_min")]

    def next_statement(self) -> bytes:
        if self._statements and self._statements % MIN_REREAD_STATEMENTS == 0:
            self.late_probes.append(self._read_min("min_reread"))
        elif self._statements:
            self._low += self._rows_per_commit
        self._statements += 1
        return (
            COM_QUERY
            + (
                f"DELETE FROM {self._table} WHERE transactionid >= {self._low} "
                f"ORDER BY transactionid ASC LIMIT {self._rows_per_commit}"
            ).encode()
        )

    def _read_min(self, name: str) -> Probe:
        probe = Probe.of(self._connection, name, f"SELECT min(transactionid) FROM {self._table}")
        self._low = probe.result or 0
        return probe


class RangeQuerier(Role):
    """One of three covering range queries at random, each with its index forced and LIMIT 10."""

    def __init__(self, spec: dict[str, Any], connection: Connection) -> None:
        table = spec["table"]
        shapes = (
            ("productid,customerid,price", "marketsegment", "productid >=", "productid,customerid,price", PRODUCTS),
            # `>`: the last cash register would find nothing, so it is never asked for.
            (
                "cashregisterid,customerid,price",
                "registersegment",
                "cashregisterid >",
                "cashregisterid,customerid,price",
                CASH_REGISTERS - 1,
            ),
            ("price,dateandtime,customerid", "pdc", "price >=", "price,dateandtime,customerid", PRICES),
        )
        self._heads = [
            COM_QUERY + f"SELECT {columns} FROM {table} FORCE INDEX ({table}_{index}) WHERE {condition} ".encode()
            for columns, index, condition, _, _ in shapes
        ]
        self._tails = [f" ORDER BY {order} LIMIT {QUERY_LIMIT}".encode() for _, _, _, order, _ in shapes]
        self._limits = np.array([values for *_, values in shapes])
        self._random = np.random.Generator(np.random.PCG64(_seed(spec)))
        self._pending: list[tuple[int, int]] = []

    def next_statement(self) -> bytes:
        if not self._pending:
            shape = self._random.integers(0, len(self._heads), 1024)
            value = self._random.integers(0, self._limits[shape])
            self._pending = list(zip(shape.tolist(), value.tolist(), strict=True))
        shape_index, low = self._pending.pop()
        return self._heads[shape_index] + b"%d" % low + self._tails[shape_index]


class PointQuerier(Role):
    """Ten random keys in [min, max); both are re-read every 100 queries because the rows move."""

    def __init__(self, spec: dict[str, Any], connection: Connection) -> None:
        self._connection = connection
        self._table = spec["table"]
        self._random = np.random.Generator(np.random.PCG64(_seed(spec)))
        self._queries = 0
        self._low, self._high = 0, 1

    def next_statement(self) -> bytes:
        if self._queries % MAX_REREAD_QUERIES == 0:
            self._low = self._connection.scalar(f"SELECT min(transactionid) FROM {self._table}") or 0
            highest = self._connection.scalar(f"SELECT max(transactionid) FROM {self._table}") or 0
            self._high = max(self._low + 1, highest)
        self._queries += 1
        ids = ",".join(map(str, self._random.integers(self._low, self._high, POINT_IDS).tolist()))
        query = f"SELECT transactionid,productid,data FROM {self._table} WHERE transactionid IN ({ids})"
        return COM_QUERY + query.encode()


class Indexer(Role):
    """The three secondary indexes of one table in one ALTER, then done."""

    def __init__(self, spec: dict[str, Any], connection: Connection) -> None:
        self._connection = connection
        self._table = spec["table"]

    def probe(self) -> list[Probe]:
        return [Probe.of(self._connection, "get_min", f"SELECT min(transactionid) FROM {self._table}")]

    def next_statement(self) -> bytes:
        table = self._table
        return (
            COM_QUERY
            + (
                f"ALTER TABLE {table} ADD INDEX {table}_marketsegment (productid, customerid, price), "
                f"ADD INDEX {table}_registersegment (cashregisterid, customerid, price), "
                f"ADD INDEX {table}_pdc (price, dateandtime, customerid)"
            ).encode()
        )


def make_role(spec: dict[str, Any], connection: Connection) -> Role:
    """The role that `spec` (a Worker's and its Step's fields, and the seed) asks for."""
    role = spec["role"]
    if role == "querier":
        return RangeQuerier(spec, connection) if spec["query"] == "range" else PointQuerier(spec, connection)
    return {"inserter": Inserter, "deleter": Deleter, "indexer": Indexer}[role](spec, connection)


def _seed(spec: dict[str, Any]) -> np.random.SeedSequence:
    role = ("inserter", "deleter", "querier", "indexer").index(spec["role"])
    return np.random.SeedSequence([spec["seed"], spec["step_id"], spec["client"], role])


def _write_digits(area: np.ndarray[Any, Any], numbers: np.ndarray[Any, Any]) -> None:
    """Decimal digits of `numbers` into the columns of `area`, most significant first, with leading zeros."""
    remaining = numbers
    for column in range(area.shape[1] - 1, -1, -1):
        remaining, digit = np.divmod(remaining, 10)
        area[:, column] = digit + ord("0")
