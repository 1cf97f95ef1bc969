"""The SQL of PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from ibench_lib.workloads.insert_benchmark.rows import CLOCK_START

# A build is refused before it would need them: it has no such engine.
NO_UNIQUE_CHECKS = BULK_LOAD_ON = BULK_LOAD_OFF = "SELECT 'there is no such setting'"

PLANS: tuple[str, ...] = ("EXPLAIN (FORMAT JSON, SUMMARY, BUFFERS)", "EXPLAIN (FORMAT JSON, SUMMARY)")
"""What asks for the cost of planning a statement, which follows it. Version 12 refuses the first."""


def create_table(table: str, engine: str) -> str:
    """The statements that make a table without secondary indexes: step l.x creates them.

    A connection takes 1,000 keys at a time, as in the original: an INSERT of 100 rows would log each of them.
    """
    return (
        f"CREATE TABLE {table} (transactionid bigserial PRIMARY KEY, dateandtime timestamp without time zone, "
        "cashregisterid int NOT NULL, customerid int NOT NULL, productid int NOT NULL, price int NOT NULL, "
        f"data varchar(4000)); ALTER SEQUENCE {table}_transactionid_seq CACHE 1000"
    )


def clock_of(table: str) -> str:
    """The query for the clock of the table's last row, in seconds; NULL if it has none."""
    last = f"SELECT dateandtime FROM {table} ORDER BY transactionid DESC LIMIT 1"
    return f"SELECT extract(epoch FROM ({last}) - timestamp '{CLOCK_START}')::bigint"


def delete_from(table: str, rows: int) -> str:
    """The statement that deletes so many rows, from a key on."""
    old = f"SELECT transactionid FROM {table} WHERE transactionid >= %d ORDER BY transactionid ASC LIMIT {rows}"
    return f"DELETE FROM {table} WHERE transactionid IN ({old})"


def query_by(table: str, index: str, columns: str, condition: str, order: str, limit: int) -> str:
    """The query for rows by an index, which the planner chooses. The value of `condition` follows it."""
    return f"SELECT {columns} FROM {table} WHERE {condition} %i ORDER BY {order} LIMIT {limit}"


def add_indexes(table: str, indexes: Sequence[tuple[str, str]], engine: str) -> list[str]:
    """One text that makes all indexes, one after the other, in one transaction."""
    return ["; ".join(f"CREATE INDEX {name} ON {table} ({columns})" for name, columns in indexes)]
