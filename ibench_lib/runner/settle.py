"""Settle a database between writes and queries: fresh statistics, no dirty pages left to flush.

What the original does after its last write-only step: have statistics made, then change settings so that the server
flushes at its full rate, wait, and restore. The original waits for a time, in which purge works as well; by default we
wait only until few pages are dirty. Which statements these are, the server's flavour says. Binary logs of the
load go, so that their disk space is free again. Every action is returned with its duration.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ibench_lib.client.driver import Connection, StatementError
from ibench_lib.servers.flavours.flavour import Settling

_POLL_S = 0.5


@dataclass(frozen=True)
class Action:
    """One thing done, how long it took, and what it found."""

    action: str
    seconds: float
    result: str


def settle(
    connection: Connection,
    settling: Settling,
    tables: list[str],
    timeout_s: float,
    reset_binary_log: str | None = None,
    wait_s: float | None = None,
) -> list[Action]:
    """Run the settle actions. The settings are back at their old values when this returns, also after an error.

    `reset_binary_log` is the statement that deletes the binary logs which the load has filled, None to leave them.
    With `wait_s` the server flushes for so long, whatever is dirty; else until at most 1 % of the data pages are, and
    no longer than `timeout_s`.

    Raises
    ------
    StatementError, ConnectionLost : a statement failed.
    """
    statements = (*(settling.table.format(table=table) for table in tables), *settling.then)
    actions = [_timed(statement, partial(_run, connection, statement)) for statement in statements]
    if reset_binary_log is not None:
        actions.append(_timed(reset_binary_log, partial(_run, connection, reset_binary_log)))
    before = {}
    for setting in settling.hastened:
        try:
            old = connection.text(setting.read)
            connection.query(setting.write.format(value=setting.value))
        except StatementError as error:
            if setting.unknown is not None and error.code == setting.unknown:
                continue
            raise
        before[setting] = old
    try:
        if wait_s is None and settling.dirty is not None:
            wait = partial(_wait_for_clean_pages, connection, settling, timeout_s)
            actions.append(_timed("wait for dirty pages", wait))
        elif wait_s is not None:
            actions.append(_timed(f"wait for {wait_s:.1f} s", partial(_wait, connection, settling, wait_s)))
    finally:
        for setting, old in reversed(before.items()):
            connection.query(setting.write.format(value=old))
    return actions


def _run(connection: Connection, statement: str) -> str:
    connection.query(statement)
    return "done"


def _wait(connection: Connection, settling: Settling, wait_s: float) -> str:
    time.sleep(wait_s)
    return "done" if settling.dirty is None else "{} of {} pages dirty".format(*_dirty_and_data(connection, settling))


def _dirty_and_data(connection: Connection, settling: Settling) -> tuple[int, int]:
    queries = (str(settling.dirty), str(settling.data))
    dirty, data = (connection.text(query, column=settling.column) for query in queries)
    return int(dirty), int(data)


def _wait_for_clean_pages(connection: Connection, settling: Settling, timeout_s: float) -> str:
    """Until at most 1 % of the data pages are dirty, or until waiting brings nothing more."""
    deadline = time.monotonic() + timeout_s
    while True:
        dirty, data = _dirty_and_data(connection, settling)
        if dirty <= data // 100:
            return f"{dirty} of {data} pages dirty"
        if time.monotonic() >= deadline:
            return f"{dirty} of {data} pages still dirty after {timeout_s:g} s"
        time.sleep(_POLL_S)


def _timed(name: str, act: Callable[[], str]) -> Action:
    began = time.monotonic()
    result = act()
    return Action(name, time.monotonic() - began, result)
