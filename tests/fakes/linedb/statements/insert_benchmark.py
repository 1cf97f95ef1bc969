"""The SQL of the fake family for the Insert Benchmark's clients, which is SQLite's."""

from __future__ import annotations

from collections.abc import Sequence

NO_UNIQUE_CHECKS = BULK_LOAD_ON = BULK_LOAD_OFF = "SELECT 'there is no such setting'"
PLANS = ()


def create_table(table: str, engine: str) -> str:
    return (
        f"CREATE TABLE {table} (transactionid INTEGER PRIMARY KEY, dateandtime TEXT, cashregisterid INT, "
        "customerid INT, productid INT, price INT, data TEXT)"
    )


def clock_of(table: str) -> str:
    last = f"SELECT dateandtime FROM {table} ORDER BY transactionid DESC LIMIT 1"
    return f"SELECT strftime('%s', ({last})) - strftime('%s', '2023-01-01')"


def delete_from(table: str, rows: int) -> str:
    old = f"SELECT transactionid FROM {table} WHERE transactionid >= %d ORDER BY transactionid LIMIT {rows}"
    return f"DELETE FROM {table} WHERE transactionid IN ({old})"


def query_by(table: str, index: str, columns: str, condition: str, order: str, limit: int) -> str:
    return f"SELECT {columns} FROM {table} INDEXED BY {index} WHERE {condition} %i ORDER BY {order} LIMIT {limit}"


def add_indexes(table: str, indexes: Sequence[tuple[str, str]], engine: str) -> list[str]:
    """It has no statement for several indexes: one by one, or several statements in one text."""
    made = [f"CREATE INDEX {name} ON {table} ({columns})" for name, columns in indexes]
    return made if engine == "rocksdb" else [";".join(made)]
