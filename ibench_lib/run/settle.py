"""Settle an InnoDB database between writes and queries: fresh statistics, no dirty pages left to flush.

What the original does after its last write-only step: ANALYZE TABLE, then lower the dirty page limits so that the
page cleaners flush at their full rate, wait, and restore. Binary logs of the load go, so that their disk space comes
back. Every action is returned with its duration.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.wire import StatementError

# In this order: a server refuses a low-water mark above the limit.
_LIMITS = (("innodb_max_dirty_pages_pct_lwm", "1"), ("innodb_max_dirty_pages_pct", "1"))
_IDLE_FLUSH = ("innodb_idle_flush_pct", "100")
_POLL_S = 0.5


@dataclass(frozen=True)
class Action:
    """One thing done, how long it took, and what it found."""

    action: str
    seconds: float
    result: str


def settle(
    connection: Connection, tables: list[str], timeout_s: float, reset_binary_log: str | None = None
) -> list[Action]:
    """Run the settle actions. The settings are back at their old values when this returns, also after an error.

    `reset_binary_log` is the statement that deletes the binary logs which the load has filled, None to leave them.

    Raises
    ------
    StatementError, ConnectionLost : a statement failed.
    """
    actions = [
        _timed(statement, partial(_run, connection, statement))
        for statement in (f"ANALYZE TABLE {table}" for table in tables)
    ]
    if reset_binary_log is not None:
        actions.append(_timed(reset_binary_log, partial(_run, connection, reset_binary_log)))
    before = {}
    for name, value in (*_LIMITS, _IDLE_FLUSH):
        try:
            old = connection.text(f"SELECT @@GLOBAL.{name}")
            connection.query(f"SET GLOBAL {name} = {value}")
        except StatementError as error:
            if name == _IDLE_FLUSH[0] and error.code == 1193:  # unknown system variable: MariaDB has none
                continue
            raise
        before[name] = old
    try:
        actions.append(_timed("wait for dirty pages", partial(_wait_for_clean_pages, connection, timeout_s)))
    finally:
        for name, old in reversed(before.items()):
            connection.query(f"SET GLOBAL {name} = {old}")
    return actions


def _run(connection: Connection, statement: str) -> str:
    connection.query(statement)
    return "done"


def _wait_for_clean_pages(connection: Connection, timeout_s: float) -> str:
    """Until at most 1 % of the data pages are dirty, or until waiting brings nothing more."""
    deadline = time.monotonic() + timeout_s
    while True:
        dirty = int(connection.text("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'", column=1))
        data = int(connection.text("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_data'", column=1))
        if dirty <= data // 100:
            return f"{dirty} of {data} pages dirty"
        if time.monotonic() >= deadline:
            return f"{dirty} of {data} pages still dirty after {timeout_s:g} s"
        time.sleep(_POLL_S)


def _timed(name: str, act: Callable[[], str]) -> Action:
    began = time.monotonic()
    result = act()
    return Action(name, time.monotonic() - began, result)
