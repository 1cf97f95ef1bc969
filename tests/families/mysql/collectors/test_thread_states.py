"""How many of the server's connections are in which state."""

import threading
from pathlib import Path

from ibench_lib.families.mysql.collectors.thread_states import ThreadStates
from ibench_lib.families.mysql.connection import connect, rows
from tests.capture.scenes import Booted, Sink, clock, scene
from tests.waiting import until


def test_connections_that_wait_for_a_lock_are_counted_by_their_state(running: Booted, tmp_path: Path) -> None:
    address = running.address.arguments()
    sink, watched = Sink(), scene(tmp_path, address, database="locked")
    collector = ThreadStates(watched, sink)
    holder = connect(address)
    rows(holder, "CREATE DATABASE IF NOT EXISTS locked")
    waiters = [connect({**address, "database": "locked"}) for _ in range(3)]
    rows(holder, "CREATE TABLE IF NOT EXISTS locked.t (id int)")
    rows(holder, "FLUSH TABLES WITH READ LOCK")
    waiting = [threading.Thread(target=rows, args=(each, "INSERT INTO locked.t VALUES (1)")) for each in waiters]

    def held() -> dict[str, int]:
        sink.rows.clear()
        collector.sample(7, clock(watched))
        return {row["state"]: row["connections"] for row in sink["thread_states"]}

    for thread in waiting:
        thread.start()
    until(lambda: any("lock" in state and n == 3 for state, n in held().items()), "all three wait for the lock")
    rows(holder, "UNLOCK TABLES")
    for thread in waiting:
        thread.join()
    until(lambda: held() == {"": 0}, "nobody is at work, and the second has a row")
    assert {row["tick"] for row in sink["thread_states"]} == {7}
    rows(holder, "DROP DATABASE locked")
    collector.close()
    for each in (holder, *waiters):
        each.close()
    assert "thread_states" not in collector.null_reasons


def test_without_the_privilege_the_reason_is_told(running: Booted, tmp_path: Path) -> None:
    address = running.address.arguments()
    owner = connect(address)
    rows(owner, "CREATE USER IF NOT EXISTS 'narrow'@'%' IDENTIFIED BY 'n4rrow'")
    try:
        sink, watched = Sink(), scene(tmp_path, {**address, "user": "narrow", "password": "n4rrow"})
        collector = ThreadStates(watched, sink)
        collector.sample(1, clock(watched))
        assert collector.null_reasons["thread_states"].startswith("access denied: without PROCESS")
        collector.close()
    finally:
        rows(owner, "DROP USER 'narrow'@'%'")
        owner.close()
