"""The SQL of MySQL and the servers that descend from it."""

from __future__ import annotations

from collections.abc import Sequence

from ibench_lib.workloads.insert_benchmark.rows import CLOCK_START

_ENGINES = {"innodb": "InnoDB", "rocksdb": "ROCKSDB"}

NO_UNIQUE_CHECKS = "SET SESSION unique_checks = 0"
BULK_LOAD_ON, BULK_LOAD_OFF = (f"SET SESSION rocksdb_bulk_load = {value}" for value in (1, 0))
PLANS: tuple[str, ...] = ()


def create_table(table: str, engine: str) -> str:
    """The statement that makes a table without secondary indexes: step l.x creates them."""
    return (
        f"CREATE TABLE {table} (transactionid BIGINT NOT NULL AUTO_INCREMENT, dateandtime DATETIME, "
        "cashregisterid INT NOT NULL, customerid INT NOT NULL, productid INT NOT NULL, price INT NOT NULL, "
        f"data VARCHAR(4000), PRIMARY KEY (transactionid)) ENGINE={_ENGINES[engine]}"
    )


def clock_of(table: str) -> str:
    """The query for the clock of the table's last row, in seconds; NULL if it has none."""
    last = f"SELECT dateandtime FROM {table} ORDER BY transactionid DESC LIMIT 1"
    return f"SELECT TIMESTAMPDIFF(SECOND, '{CLOCK_START}', ({last}))"


def delete_from(table: str, rows: int) -> str:
    """The statement that deletes so many rows, from a key on."""
    return f"DELETE FROM {table} WHERE transactionid >= %d ORDER BY transactionid ASC LIMIT {rows}"


def query_by(table: str, index: str, columns: str, condition: str, order: str, limit: int) -> str:
    """The query for rows by an index, which is forced. The value of `condition` follows it."""
    return f"SELECT {columns} FROM {table} FORCE INDEX ({index}) WHERE {condition} %i ORDER BY {order} LIMIT {limit}"


def add_indexes(table: str, indexes: Sequence[tuple[str, str]], engine: str) -> list[str]:
    """The statements that make indexes, by name and columns: all in one on InnoDB, one each on MyRocks."""
    wanted = [f"ADD INDEX {name} ({columns})" for name, columns in indexes]
    groups = [[clause] for clause in wanted] if engine == "rocksdb" else [wanted]
    return [f"ALTER TABLE {table} {', '.join(group)}" for group in groups]
