"""What connections wait for: by event, without the collectors."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from ibench_lib.families.postgres.collectors.server_counters import ServerCounters
from ibench_lib.families.postgres.collectors.thread_states import ThreadStates
from ibench_lib.servers.sandbox import Sandbox
from tests.capture.scenes import Sink, clock, scene
from tests.families.postgres.boxes import connected
from tests.waiting import until


@pytest.mark.slow
def test_a_connection_that_waits_for_a_lock_is_in_its_state_and_collectors_are_not(
    shared_box: Sandbox, tmp_path: Path
) -> None:
    sink = Sink()
    watched = scene(tmp_path, shared_box.address.arguments(), family="postgres", database="postgres")
    collector, other = ThreadStates(watched, sink), ServerCounters(watched, sink)
    other.sample(0, clock(watched))
    collector.sample(0, clock(watched))
    assert [(row["state"], row["connections"]) for row in sink["thread_states"]] == [("", 0)]
    holder, waiter = connected(shared_box), connected(shared_box)
    holder.query("DROP TABLE IF EXISTS held; CREATE TABLE held (a int)")
    holder.query("BEGIN; LOCK TABLE held")
    thread = threading.Thread(target=waiter.query, args=["INSERT INTO held VALUES (1)"])
    thread.start()

    def waits() -> bool:
        sink.rows.clear()
        collector.sample(1, clock(watched))
        return [(row["state"], row["connections"]) for row in sink["thread_states"]] == [("Lock: relation", 1)]

    try:
        until(waits, "one waits for the table, and nobody works")
    finally:
        holder.query("COMMIT")
        thread.join(60)
    other.sample(1, clock(watched))
    assert not any(
        row["value"] for row in sink["server_counters"] if "client" in row["name"] and "waiting" in row["name"]
    )
    for each in (collector, other, holder, waiter):
        each.close()


def test_a_server_that_does_not_answer_is_a_missed_sample(tmp_path: Path) -> None:
    watched = scene(tmp_path, family="postgres")
    collector = ThreadStates(watched, Sink())
    with pytest.raises(RuntimeError, match="no connection"):
        collector.sample(0, clock(watched))
    collector.close()
