"""Dips on PostgreSQL and what they are put down to, by its own rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ibench_lib.ask.selection import choose
from ibench_lib.store import reader
from tests.shared import lake_of
from tests.synthetic import Run

pytestmark = pytest.mark.lake

START_S, SECONDS = 15, 20  # of l.i1 on the run's clock
DIP = (9, 10, 11)
IN_DIP = range(START_S + 9, START_S + 13)  # ticks whose interval touches the dip
TICKS = range(START_S, START_S + SECONDS)
STALLED = Run(
    "slow", flavour="postgres", l_i1_s=SECONDS, stall=DIP,
    sampled=(("tick", tuple(TICKS)), ("uptime_s", tuple(TICKS)), ("incarnation", (0,) * SECONDS)),
)  # fmt: skip

Rows = tuple[tuple[str, dict[str, Any]], ...]


def level(name: str, in_dip: int, else_: int = 0, of: range = IN_DIP) -> Rows:
    """A value of now, a row where it changes."""
    return _rows(name, {tick: in_dip if tick in of else else_ for tick in TICKS})


def grows(name: str, in_dip: int, else_: int, of: range = IN_DIP) -> Rows:
    """A counter that grows by so much a second."""
    total, values = 0, {}
    for tick in TICKS:
        total += in_dip if tick in of else else_
        values[tick] = total
    return _rows(name, values)


def _rows(name: str, values: Mapping[int, int]) -> Rows:
    rows, before = [], None
    for tick, value in values.items():
        if value != before:
            rows.append(
                ("server_counters", {"tick": tick, "source": "status", "name": name, "value": value, "incarnation": 0})
            )
        before = value
    return tuple(rows)


def states(in_dip: str, else_: str = "") -> Rows:
    """Both clients are in this state."""
    return tuple(
        ("thread_states", {"tick": t, "t_s": t + 0.25, "state": in_dip if t in IN_DIP else else_, "connections": 2})
        for t in TICKS
    )


CHECKPOINT = level("now.checkpoints_under_way", 1) + grows("pg_stat_bgwriter.buffers_checkpoint", 900, 0)
IMAGES = grows("pg_stat_wal.wal_fpi", 900, 10) + grows("pg_stat_wal.wal_bytes", 9_000_000, 2_000_000)
VACUUM = level("now.vacuums_under_way", 1) + level("now.checkpoints_under_way", 0)
CASES: dict[str, tuple[Rows, str | None, str | None]] = {
    "a lock of a table": (states("Lock: relation"), "table_lock", "medium"),
    "row locks": (states("Lock: transactionid"), "tuple_lock", "medium"),
    "a queue to extend a table": (states("Lock: extend"), None, None),
    "a forced checkpoint": (CHECKPOINT, "checkpointer", "high"),
    "a forced checkpoint and its images": (CHECKPOINT + IMAGES, "checkpointer", "high"),
    "images after a checkpoint": (IMAGES, "full_pages", "high"),
    "images while a slow checkpoint goes on": (level("now.checkpoints_under_way", 1, 1) + IMAGES, "full_pages", "high"),
    "images all the time": (
        grows("pg_stat_wal.wal_fpi", 900, 900) + grows("pg_stat_wal.wal_bytes", 9_000_000, 9_000_000), None, None
    ),
    "a lock, and what is made up for after it": (
        states("Lock: relation") + grows("pg_stat_wal.wal_fpi", 900, 10, of=range(START_S + 13, START_S + 14))
        + grows("pg_stat_wal.wal_bytes", 9_000_000, 2_000_000, of=range(START_S + 13, START_S + 14)),
        "table_lock", "medium",
    ),
    "vacuum": (VACUUM, "vacuum", "high"),
    "vacuum that sleeps": (VACUUM + level("waiting.autovacuum_worker.Timeout.VacuumDelay", 1), "vacuum", "medium"),
    "vacuum of a server that does not tell of its sleep": (level("now.vacuums_under_way", 1), "vacuum", "medium"),
    "vacuum in its last second": (level("now.vacuums_under_way", 1, of=range(START_S + 12, START_S + 14)), None, None),
    "three vacuums in its last second": (
        level("now.vacuums_under_way", 3, of=range(START_S + 12, START_S + 14)), None, None
    ),
    "vacuum all the time": (level("now.vacuums_under_way", 1, 1), None, None),
    "the log": (states("IO: WALSync") + grows("pg_stat_wal.wal_buffers_full", 50, 0), "wal", "high"),
    "the log as ever": (states("IO: WALSync", "IO: WALSync"), None, None),
    "since 17": (
        level("now.checkpoints_under_way", 1) + grows("pg_stat_checkpointer.buffers_written", 900, 0),
        "checkpointer", "high",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", [
    pytest.param(case, marks=() if n < 4 else pytest.mark.long) for n, case in enumerate(CASES)
])  # fmt: skip
def test_a_dip_has_the_cause_that_its_evidence_shows(case: str) -> None:
    rows, cause, confidence = CASES[case]
    (dip,) = choose(lake_of(replace(STALLED, also=rows)), "demo", steps=["l.i1"]).ask("dips").to_dicts()
    assert (dip["from_s"], dip["to_s"]) == (9, 12)
    assert (dip["cause"], dip["confidence"]) == (cause, confidence), dip


@pytest.mark.slow
def test_a_log_in_which_nothing_is_written_does_not_consist_of_images() -> None:
    idle = grows("pg_stat_wal.wal_fpi", 0, 10) + grows("pg_stat_wal.wal_bytes", 0, 2_000_000)
    post = choose(lake_of(replace(STALLED, also=idle + states("Lock: relation"))), "demo", steps=["l.i1"])
    evidence = post.ask("dip_evidence").filter(measure="postgres.full_page_share")
    assert len(evidence) and evidence["holds"].to_list() == [None] * len(evidence), evidence


def test_every_rule_has_a_measure_and_every_cause_a_rule() -> None:
    lake = lake_of(replace(STALLED, also=CHECKPOINT + IMAGES + states("")))
    own = "FROM {} WHERE family = 'postgres'"
    rules = reader.sql(lake, own.format("dip_rules"))
    assert set(rules["cause"]) == set(reader.sql(lake, own.format("dip_causes"))["cause"])
    ids = choose(lake, "demo").run_ids
    measured = set(reader.sql(lake, f"SELECT DISTINCT measure FROM dip_measures({ids}, ['l.i1'])")["measure"])
    missing = {name for name in rules["measure"] if name not in measured}
    assert {name.partition(".")[0] for name in missing} <= {"process", "device"}, "of the host, which is not here"
