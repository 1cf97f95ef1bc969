"""What `benchmarks.stall_causes` does to a PostgreSQL: locks, checkpoints and vacuums at a time that we choose."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator

from benchmarks.injections import CaptureTarget, Forced
from ibench_lib.families.postgres.driver import Connection

DATABASE = "ibench"
_FIRST = -20
"""The niceness of workers of autovacuum: at that of others, they take too little of two CPUs for a dip."""
_LOOK_S = 0.05
_INDEXES = 12
_BLOATED, _ROWS, _BATCH = ("bloated1", "bloated2"), 4_000_000, 200_000
_WORKERS = "FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'"


@contextlib.contextmanager
def _connected(scene: CaptureTarget) -> Iterator[Connection]:
    connection = Connection(scene.address, DATABASE, 60.0)
    try:
        yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def table_lock(scene: CaptureTarget) -> Iterator[None]:
    """No client reads or writes any table."""
    with _connected(scene) as connection:
        connection.query("BEGIN")
        connection.query(f"LOCK TABLE {', '.join(scene.tables)} IN ACCESS EXCLUSIVE MODE")
        yield
        connection.query("ROLLBACK")


@contextlib.contextmanager
def row_locks(scene: CaptureTarget) -> Iterator[None]:
    """The oldest rows of each table, which its deleter is about to delete."""
    with _connected(scene) as connection:
        connection.query("BEGIN")
        for table in scene.tables:
            connection.query(f"SELECT transactionid FROM {table} ORDER BY transactionid LIMIT 20000 FOR UPDATE")
        yield
        connection.query("ROLLBACK")


@contextlib.contextmanager
def checkpoints(scene: CaptureTarget) -> Iterator[None]:
    """One immediate checkpoint after the other: pages are written and synced, and each is logged as a whole again."""
    with _repeated(lambda connection: connection.query("CHECKPOINT"), scene, 0.0):
        yield


@contextlib.contextmanager
def autovacuum(scene: CaptureTarget) -> Iterator[None]:
    """Autovacuum, which was off, is on, without delays and before all others; at the end its workers are ended.

    It gets tables of its own, with a few dead rows in each page, so it has to read all of them and of their indexes. On
    the clients' tables, a vacuum makes them faster. To make the dead rows takes seconds in which nothing is forced yet.
    """
    with _connected(scene) as connection:
        for name in _BLOATED:
            connection.query(
                f"CREATE TABLE IF NOT EXISTS {name} AS SELECT id, id AS a FROM generate_series(1, {_ROWS}) id"
            )
            for number in range(_INDEXES):
                connection.query(f"CREATE INDEX IF NOT EXISTS {name}_{number} ON {name} (id, a)")
        for begin in range(1, _ROWS, _BATCH):
            for name in _BLOATED:
                connection.query(
                    f"UPDATE {name} SET a = a + 1 WHERE id BETWEEN {begin} AND {begin + _BATCH - 1} AND id % 50 = 0"
                )
            time.sleep(_LOOK_S)
        connection.query("ALTER SYSTEM SET autovacuum = on")
        connection.query("SELECT pg_reload_conf()")
        try:
            with _repeated(_hasten, scene, _LOOK_S):
                yield
        finally:
            connection.query("ALTER SYSTEM RESET autovacuum")
            connection.query("SELECT pg_reload_conf()")
            connection.query(f"SELECT pg_terminate_backend(pid) {_WORKERS}")


def _hasten(connection: Connection) -> None:
    for (pid,) in connection.fetch(connection.command(f"SELECT pid {_WORKERS}".encode())):
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, int(pid or 0), _FIRST)


@contextlib.contextmanager
def _repeated(act: Callable[[Connection], object], scene: CaptureTarget, every_s: float) -> Iterator[None]:
    """Do something on a connection of its own, again and again, until the block ends. Raises what it raises."""
    over = threading.Event()
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with _connected(scene) as connection:
                while not over.is_set():
                    act(connection)
                    over.wait(every_s)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    if failed:
        raise failed[0]


FORCED = {
    each.name: each
    for each in (
        Forced("table_lock", table_lock, family="postgres"),
        Forced("tuple_lock", row_locks, needs=frozenset({"insert_benchmark"}), family="postgres"),
        # It slows the clients down by a third or so: with less time between two of them that would be the usual rate.
        Forced("forced_checkpoint", checkpoints, cause_name="checkpointer", between_s=15.0, family="postgres"),
        Forced(
            "autovacuum",
            autovacuum,
            # The launcher waits for its nap first.
            "autovacuum_naptime = 1s\nautovacuum_vacuum_cost_delay = 0\nautovacuum_vacuum_scale_factor = 0\n",
            frozenset({"root user"}),
            "vacuum",
            lasts_s=10.0,
            between_s=24.0,
            ready_s=12.0,
            first_s=60.0,
            family="postgres",
        ),
    )
}
