"""What the Insert Benchmark's client processes send: inserts, deletes, queries, index DDL.

A statement is a whole command of the protocol, its first byte included (`client/wire.py`). The same seed gives each
client the same rows and the same queries. A role is a source of statements for the load loop (`client/load.py`), made
outside of the timed part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.wire import COM_QUERY
from ibench_lib.client.role import Probe, Role
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.insert_benchmark.rows import (
    CASH_REGISTERS,
    CLOCK_START,
    PRICES,
    PRODUCTS,
    PreparedInserts,
    Statements,
    TextInserts,
    execute_head,
)

POINT_IDS = 10
MIN_REREAD_STATEMENTS = 1_000
MAX_REREAD_QUERIES = 100

# The secondary indexes in the order in which `secondary_indexes` counts them: suffix and columns.
INDEXES = (
    ("marketsegment", "productid, customerid, price"),
    ("registersegment", "cashregisterid, customerid, price"),
    ("pdc", "price, dateandtime, customerid"),
)

_ROLES = ("inserter", "deleter", "querier", "indexer")
_PENDING = 512
_LONG, _LONGLONG = b"\x03\x00", b"\x08\x00"


class _TableRole(Role):
    """A role with a table and a connection; its probe is the client's get_min."""

    def __init__(self, spec: Spec, connection: Connection) -> None:
        self._connection = connection
        self._table: str = spec.details["table"]
        if spec.details["engine"] == "rocksdb" and spec.role in ("inserter", "deleter"):
            connection.query("SET SESSION unique_checks = 0")

    def probe(self) -> list[Probe]:
        return [Probe.of(self._connection, "get_min", f"SELECT min(transactionid) FROM {self._table}")]


class Inserter(_TableRole):
    """Multi-row INSERTs. The clock of the rows goes on from the plan's time, or from the table's last row if later."""

    def __init__(self, spec: Spec, connection: Connection) -> None:
        super().__init__(spec, connection)
        rows, length = spec.details["rows_per_commit"], (spec.details["data_length"][0], spec.details["data_length"][1])
        clock_s = max(spec.details["clock_s"], self._clock_of_table())
        self._inserts: Statements
        if spec.details["protocol"] == "prepared":
            statement_id = connection.prepare(PreparedInserts.sql(self._table, rows))
            self._inserts = PreparedInserts(statement_id, rows, length, _seed(spec), clock_s)
        else:
            self._inserts = TextInserts(self._table, rows, length, _seed(spec), clock_s)
        self._bulk_load = spec.details["bulk_load"]
        if self._bulk_load:
            connection.query("SET SESSION rocksdb_bulk_load = 1")

    def next_statement(self) -> bytes:
        return self._inserts.next_statement()

    def _clock_of_table(self) -> int:
        """The second after that of the table's last row: it is later than planned where a step is done again."""
        last = f"SELECT dateandtime FROM {self._table} ORDER BY transactionid DESC LIMIT 1"
        seconds = self._connection.scalar(f"SELECT TIMESTAMPDIFF(SECOND, '{CLOCK_START}', ({last}))")
        return 0 if seconds is None else seconds + 1

    def finish(self) -> None:
        if self._bulk_load:  # what has been collected becomes visible here, which is part of the load
            self._connection.query("SET SESSION rocksdb_bulk_load = 0")

    def rows_by_table(self, rows: Mapping[str, int]) -> dict[str, int]:
        return {self._table: rows["insert"]}


class Deleter(_TableRole):
    """Deletes from the tail: LOW rises by `rows_per_commit` and is re-read every 1,000 statements.

    LOW is shared with the point queriers of the client, who take it for the smallest key.
    """

    def __init__(self, spec: Spec, connection: Connection) -> None:
        super().__init__(spec, connection)
        self._rows_per_commit = spec.details["rows_per_commit"]
        self._low = 0
        self._statements = 0
        self._head: bytes | None = None
        if spec.details["protocol"] == "prepared":
            self._head = execute_head(connection.prepare(self._sql("?"))) + b"\x00\x01" + _LONGLONG

    def probe(self) -> list[Probe]:
        return [self._read_min("get_min")]

    def next_statement(self) -> bytes:
        if self._statements and self._statements % MIN_REREAD_STATEMENTS == 0:
            self.late_probes.append(self._read_min("min_reread"))
        elif self._statements:
            self._low += self._rows_per_commit
            self.shared.value = self._low
        self._statements += 1
        if self._head is not None:
            return self._head + self._low.to_bytes(8, "little")
        return COM_QUERY + self._sql(self._low).encode()

    def _sql(self, low: int | str) -> str:
        return (
            f"DELETE FROM {self._table} WHERE transactionid >= {low} "
            f"ORDER BY transactionid ASC LIMIT {self._rows_per_commit}"
        )

    def rows_by_table(self, rows: Mapping[str, int]) -> dict[str, int]:
        return {self._table: -rows["delete"]}

    def _read_min(self, name: str) -> Probe:
        probe = Probe.of(self._connection, name, f"SELECT min(transactionid) FROM {self._table}")
        self._low = self.shared.value = probe.result or 0
        return probe


class RangeQuerier(_TableRole):
    """One of three covering range queries at random, each with its index forced and a LIMIT."""

    def __init__(self, spec: Spec, connection: Connection) -> None:
        super().__init__(spec, connection)
        table, limit = self._table, spec.details["query_rows"]
        # `>`: the last cash register would find nothing, so it is never asked for.
        shapes = (
            ("productid,customerid,price", "productid >=", "productid,customerid,price", PRODUCTS),
            (
                "cashregisterid,customerid,price",
                "cashregisterid >",
                "cashregisterid,customerid,price",
                CASH_REGISTERS - 1,
            ),
            ("price,dateandtime,customerid", "price >=", "price,dateandtime,customerid", PRICES),
        )
        self._parts = []
        self._prepared = spec.details["protocol"] == "prepared"
        for (columns, condition, order, _), (index, _) in zip(shapes, INDEXES, strict=True):
            start = f"SELECT {columns} FROM {table} FORCE INDEX ({table}_{index}) WHERE {condition} "
            end = f" ORDER BY {order} LIMIT {limit}"
            if self._prepared:
                head = execute_head(connection.prepare(start + "?" + end)) + b"\x00\x01" + _LONG
                self._parts.append((head, b""))
            else:
                self._parts.append((COM_QUERY + start.encode(), end.encode()))
        self._limits = np.array([values for *_, values in shapes])
        self._random = np.random.Generator(np.random.PCG64(_seed(spec)))
        self._pending: list[bytes] = []

    def next_statement(self) -> bytes:
        if not self._pending:
            self._make_block()
        return self._pending.pop()

    def _make_block(self) -> None:
        shapes = self._random.integers(0, len(self._parts), _PENDING)
        values = self._random.integers(0, self._limits[shapes]).tolist()
        chosen = [self._parts[shape] for shape in shapes.tolist()]
        if self._prepared:
            self._pending = [start + low.to_bytes(4, "little") for (start, _), low in zip(chosen, values, strict=True)]
        else:
            self._pending = [start + b"%d" % low + end for (start, end), low in zip(chosen, values, strict=True)]


class PointQuerier(_TableRole):
    """Ten random keys in [min, max), where the rows move: both are taken again every 100 queries.

    max is read from the table. min is what the client's deleter shares: to ask for it is what old row versions make
    slow, so queries that had to wait for it would measure the debt of purge, not themselves.
    """

    def __init__(self, spec: Spec, connection: Connection) -> None:
        super().__init__(spec, connection)
        self._random = np.random.Generator(np.random.PCG64(_seed(spec)))
        self._head: bytes | None = None
        if spec.details["protocol"] == "prepared":
            statement_id = connection.prepare(self._sql(",".join("?" * POINT_IDS)))
            self._head = execute_head(statement_id) + bytes((POINT_IDS + 7) // 8) + b"\x01" + _LONGLONG * POINT_IDS
        self._pending: list[Any] = []

    def probe(self) -> list[Probe]:
        return []

    def next_statement(self) -> bytes:
        if not self._pending:
            low = self.shared.value
            high = self._connection.scalar(f"SELECT max(transactionid) FROM {self._table}") or 0
            ids = self._random.integers(low, max(low + 1, high), (MAX_REREAD_QUERIES, POINT_IDS))
            self._pending = ids.tolist() if self._head is None else [row.tobytes() for row in ids.astype("<i8")]
        ids_of_query = self._pending.pop()
        if self._head is not None:
            return self._head + bytes(ids_of_query)
        return COM_QUERY + self._sql(",".join(map(str, ids_of_query))).encode()

    def _sql(self, ids: str) -> str:
        return f"SELECT transactionid,productid,data FROM {self._table} WHERE transactionid IN ({ids})"


class Indexer(_TableRole):
    """The secondary indexes of one table: all in one ALTER on InnoDB, one ALTER each on MyRocks."""

    def __init__(self, spec: Spec, connection: Connection) -> None:
        super().__init__(spec, connection)
        wanted = [
            f"ADD INDEX {self._table}_{name} ({columns})"
            for name, columns in INDEXES[: spec.details["secondary_indexes"]]
        ]
        groups = [[clause] for clause in wanted] if spec.details["engine"] == "rocksdb" else [wanted]
        self._pending = [f"ALTER TABLE {self._table} {', '.join(group)}" for group in groups]

    def next_statement(self) -> bytes:
        return COM_QUERY + self._pending.pop(0).encode()


def make_role(spec: Spec, connection: Connection) -> Role:
    """The role that `spec` (see `workers.spec`) asks for."""
    role = spec.role
    if role == "querier":
        return RangeQuerier(spec, connection) if spec.details["query"] == "range" else PointQuerier(spec, connection)
    return {"inserter": Inserter, "deleter": Deleter, "indexer": Indexer}[role](spec, connection)


def _seed(spec: Spec) -> np.random.SeedSequence:
    return np.random.SeedSequence(
        [spec.seed, spec.details["step_id"], spec.client, _ROLES.index(spec.role), spec.number]
    )
