"""What the Insert Benchmark's client processes send: inserts, deletes, queries, index DDL.

The same seed gives each client the same rows and the same queries. A role is a source of commands for the load loop
(`client/load.py`), made outside of the timed part. The SQL that families of servers have in different forms is in
`statements/`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from ibench_lib.client.driver import Connection, PreparedStatement, StatementError, each, statements_of
from ibench_lib.client.role import Probe, Role
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.insert_benchmark import statements
from ibench_lib.workloads.insert_benchmark.rows import (
    CASH_REGISTERS,
    PRICES,
    PRODUCTS,
    PreparedInserts,
    TextInserts,
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


class _TableRole(Role):
    """A role with a table and a connection; its probe is the client's get_min."""

    def __init__(self, spec: Spec, connection: Connection) -> None:
        self._connection = connection
        self._sql = statements_of(statements, connection.family)
        self._table: str = spec.details["table"]
        self._prepares = spec.details["protocol"] == "prepared"
        if spec.details["engine"] == "rocksdb" and spec.role in ("inserter", "deleter"):
            connection.query(self._sql.NO_UNIQUE_CHECKS)

    def _statement(self, text: str) -> bytes | PreparedStatement:
        """A statement as text or prepared, as the workload has it."""
        connection = self._connection
        return connection.prepared(text) if self._prepares else connection.command(text.encode())

    def probe(self) -> list[Probe]:
        return [Probe.of(self._connection, "get_min", f"SELECT min(transactionid) FROM {self._table}")]


class Inserter(_TableRole):
    """Multi-row INSERTs. The clock of the rows goes on from the plan's time, or from the table's last row if later."""

    def __init__(self, spec: Spec, connection: Connection) -> None:
        super().__init__(spec, connection)
        rows, length = spec.details["rows_per_commit"], (spec.details["data_length"][0], spec.details["data_length"][1])
        clock_s = max(spec.details["clock_s"], self._clock_of_table())
        inserts = PreparedInserts if self._prepares else TextInserts
        self._inserts = inserts(connection, self._table, rows, length, _seed(spec), clock_s)
        self._bulk_load = spec.details["bulk_load"]
        if self._bulk_load:
            connection.query(self._sql.BULK_LOAD_ON)

    def next_statement(self) -> bytes:
        return self._inserts.next_statement()

    def _clock_of_table(self) -> int:
        """The second after that of the table's last row: it is later than planned where a step is done again."""
        seconds = self._connection.scalar(self._sql.clock_of(self._table))
        return 0 if seconds is None else seconds + 1

    def finish(self) -> None:
        if self._bulk_load:  # what has been collected becomes visible here, which is part of the load
            self._connection.query(self._sql.BULK_LOAD_OFF)

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
        self._delete = self._statement(self._sql.delete_from(self._table, self._rows_per_commit))
        self._pending: list[bytes] = []

    def probe(self) -> list[Probe]:
        return [self._read_min("get_min"), *self._plan_of_first()]

    def next_statement(self) -> bytes:
        if self._statements and self._statements % MIN_REREAD_STATEMENTS == 0:
            self.late_probes.append(self._read_min("min_reread"))
        elif self._statements:
            self._low += self._rows_per_commit
            self.shared.value = self._low
        self._statements += 1
        if not self._pending:
            lows = self._low + self._rows_per_commit * np.arange(MIN_REREAD_STATEMENTS)
            self._pending = each(self._delete, lows)[::-1]
        return self._pending.pop()

    def rows_by_table(self, rows: Mapping[str, int]) -> dict[str, int]:
        return {self._table: -rows["delete"]}

    def _plan_of_first(self) -> list[Probe]:
        """What planning the first DELETE costs, where the server says so: seconds, and blocks as the result.

        It comes after get_min, which it would make faster: both look at the low end of the keys. A prepared statement
        is not planned each time.
        """
        if self._prepares:
            return []
        delete = self._sql.delete_from(self._table, self._rows_per_commit) % self._low
        for plan in self._sql.PLANS:
            sent = time.monotonic_ns()
            try:
                (about,) = json.loads(self._connection.text(f"{plan} {delete}"))
            except StatementError:
                continue  # an older version does not know an option
            return [Probe("plan_delete", sent, about["Planning Time"] / 1e3, _blocks_of(about))]
        return []

    def _read_min(self, name: str) -> Probe:
        probe = Probe.of(self._connection, name, f"SELECT min(transactionid) FROM {self._table}")
        self._low = self.shared.value = probe.result or 0
        self._pending = []
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
        self._queries = [
            self._statement(self._sql.query_by(table, f"{table}_{index}", columns, condition, order, limit))
            for (columns, condition, order, _), (index, _) in zip(shapes, INDEXES, strict=True)
        ]
        self._limits = np.array([values for *_, values in shapes])
        self._random = np.random.Generator(np.random.PCG64(_seed(spec)))
        self._pending: list[int] = []

    def next_statement(self) -> bytes:
        if not self._pending:
            self._make_block()
        return self._commands[self._pending.pop()].pop()

    def _make_block(self) -> None:
        shapes = self._random.integers(0, len(self._queries), _PENDING)
        values = self._random.integers(0, self._limits[shapes])
        self._commands = [each(query, values[shapes == shape]) for shape, query in enumerate(self._queries)]
        self._pending = shapes.tolist()


class PointQuerier(_TableRole):
    """Ten random keys in [min, max), where the rows move: both are taken again every 100 queries.

    max is read from the table. min is what the client's deleter shares: to ask for it is what old row versions make
    slow, so queries that had to wait for it would measure the debt of purge, not themselves.
    """

    def __init__(self, spec: Spec, connection: Connection) -> None:
        super().__init__(spec, connection)
        self._random = np.random.Generator(np.random.PCG64(_seed(spec)))
        ids = ",".join(["%d"] * POINT_IDS)
        self._query = self._statement(
            f"SELECT transactionid,productid,data FROM {self._table} WHERE transactionid IN ({ids})"
        )
        self._pending: list[bytes] = []

    def probe(self) -> list[Probe]:
        return []

    def next_statement(self) -> bytes:
        if not self._pending:
            low = self.shared.value
            high = self._connection.scalar(f"SELECT max(transactionid) FROM {self._table}") or 0
            ids = self._random.integers(low, max(low + 1, high), (MAX_REREAD_QUERIES, POINT_IDS))
            self._pending = each(self._query, ids)
        return self._pending.pop()


class Indexer(_TableRole):
    """The secondary indexes of one table: all in one ALTER on InnoDB, one ALTER each on MyRocks."""

    def __init__(self, spec: Spec, connection: Connection) -> None:
        super().__init__(spec, connection)
        wanted = [(f"{self._table}_{name}", columns) for name, columns in INDEXES[: spec.details["secondary_indexes"]]]
        self._pending = self._sql.add_indexes(self._table, wanted, spec.details["engine"])

    def next_statement(self) -> bytes:
        return self._connection.command(self._pending.pop(0).encode())


def make_role(spec: Spec, connection: Connection) -> Role:
    """The role that `spec` (see `workers.spec`) asks for."""
    role = spec.role
    if role == "querier":
        return RangeQuerier(spec, connection) if spec.details["query"] == "range" else PointQuerier(spec, connection)
    return {"inserter": Inserter, "deleter": Deleter, "indexer": Indexer}[role](spec, connection)


def _blocks_of(about: dict[str, Any]) -> int | None:
    """The blocks that a plan was made with, read or found in the cache; None if the server does not say."""
    planning = about.get("Planning")
    if planning is None:
        return None
    return int(planning["Shared Hit Blocks"]) + int(planning["Shared Read Blocks"])


def _seed(spec: Spec) -> np.random.SeedSequence:
    return np.random.SeedSequence(
        [spec.seed, spec.details["step_id"], spec.client, _ROLES.index(spec.role), spec.number]
    )
