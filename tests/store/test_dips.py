"""Dips and what they are put down to: each cause by its evidence, and nothing where the evidence does not tell."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from ibench_lib.ask.selection import choose
from ibench_lib.store import reader
from tests.places import ROOT
from tests.shared import lake_of
from tests.synthetic import Run

pytestmark = pytest.mark.lake

START_S, SECONDS = 15, 20  # of l.i1 on the run's clock
DIP = (9, 10, 11)
IN_DIP = range(START_S + 9, START_S + 14)  # ticks whose interval touches the dip
STALLED = Run("slow", l_i1_s=SECONDS, stall=DIP)

Rows = tuple[tuple[str, dict[str, Any]], ...]


def grown(in_dip: int, else_: int = 0) -> tuple[int, ...]:
    """A counter of server_samples that grows by so much a second."""
    total, values = 0, []
    for second in range(SECONDS):
        total += in_dip if second in range(9, 13) else else_
        values.append(total)
    return tuple(values)


def level(in_dip: int, else_: int) -> tuple[int, ...]:
    return tuple(in_dip if second in range(9, 13) else else_ for second in range(SECONDS))


def states(state: str, connections: int) -> Rows:
    return tuple(
        (
            "thread_states",
            {"tick": t, "t_s": t + 0.25, "state": state if t in IN_DIP else "", "connections": connections},
        )
        for t in range(START_S, START_S + SECONDS)
    )


def at_work(in_dip: int, else_: int) -> Rows:
    return tuple(
        ("thread_states", {"tick": t, "t_s": t + 0.25, "state": "", "connections": in_dip if t in IN_DIP else else_})
        for t in range(START_S, START_S + SECONDS)
    )


def process(cpu_in_dip: float, state: str = "S", blocked: int | None = None) -> Rows:
    """The server uses 1.5 CPUs outside of the dip. `blocked` threads are in state D all the time."""
    rows, cpu = [], 0.0
    for tick in range(START_S - 1, START_S + SECONDS + 1):
        inside = tick in IN_DIP
        cpu += cpu_in_dip if inside else 1.5
        row = {
            "tick": tick, "t_s": tick + 0.25, "pid": 7, "cpu_user_s": cpu, "cpu_system_s": 0.0, "resident_bytes": 1,
            "virtual_bytes": 1, "threads": 9, "state": state if inside else "S", "blocked_threads": blocked,
        }  # fmt: skip
        rows.append(("process_samples", row))
    return tuple(rows)


def host(late: bool = False, **grows: tuple[float, float]) -> Rows:
    """Cumulative columns that grow by the first number in the dip, by the second one outside."""
    fixed = {
        "runnable": 1, "blocked": 0, "memory_available_bytes": 1, "memory_free_bytes": 1, "page_cache_bytes": 1,
        "dirty_bytes": 0, "writeback_bytes": 0, "swap_used_bytes": 0,
    }  # fmt: skip
    cumulative: dict[str, tuple[float, float]] = {
        "cpu_user_s": (2.0, 2.0), "cpu_system_s": (0, 0), "cpu_iowait_s": (0, 0), "cpu_steal_s": (0, 0),
        "cpu_idle_s": (2.0, 2.0), "context_switches": (1, 1), "interrupts": (1, 1), "swapped_in_pages": (0, 0),
        "swapped_out_pages": (0, 0), "major_faults": (0, 0), **grows,
    }  # fmt: skip
    rows, sums = [], dict.fromkeys(cumulative, 0.0)
    for tick in range(START_S - 1, START_S + SECONDS + 1):
        for name, (inside, outside) in cumulative.items():
            sums[name] += inside if tick in IN_DIP else outside
        if late and START_S + 9 <= tick < START_S + 12:
            continue
        values = {name: value if name.endswith("_s") else int(value) for name, value in sums.items()}
        rows.append(("host_samples", {"tick": tick, "t_s": tick + 0.25, **fixed, **values}))
    return tuple(rows)


def device(reads: int, read_s: float, in_flight: int, begins: int = IN_DIP.start) -> Rows:
    """100 requests of 1 ms a second outside of the dip, and until `begins`."""
    rows, count, seconds = [], 0, 0.0
    for tick in range(START_S - 1, START_S + SECONDS + 1):
        inside = tick in IN_DIP and tick >= begins
        count, seconds = count + (reads if inside else 100), seconds + (read_s if inside else 0.1)
        row = {
            "device": "vda", "tick": tick, "t_s": tick + 0.25, "holds_data": True, "reads": count, "read_bytes": 0,
            "read_s": seconds, "writes": 0, "written_bytes": 0, "write_s": 0.0, "busy_s": 0.0, "queue_s": 0.0,
            "in_flight": in_flight if inside else 1,
        }  # fmt: skip
        rows.append(("device_samples", row))
    return tuple(rows)


def sampled(**columns: tuple[int | None, ...]) -> Run:
    return replace(STALLED, sampled=tuple(columns.items()))


def queued(in_dip: float, else_: float) -> Rows:
    """How long threads of the server waited for a CPU in each second."""
    return tuple(
        (
            "thread_samples",
            {
                "tick": t, "t_s": t + 0.25, "seconds": 1.0, "name": "", "threads": 30, "cpu_s": 1.0,
                "queued_s": in_dip if t in IN_DIP else else_,
            },
        )
        for t in range(START_S, START_S + SECONDS)
    )  # fmt: skip


STOLEN = host(cpu_user_s=(0.4, 1.6), cpu_steal_s=(1.5, 0.0), cpu_idle_s=(0.1, 0.4))
"""Of two CPUs, of which server and clients use 1.5, the hypervisor keeps 1.5 in the dip."""
BURNT = host(cpu_user_s=(2.0, 2.0), cpu_idle_s=(0.0, 0.0))
"""Others always use what the server leaves of two CPUs."""

CASES = {
    "server_stopped": (replace(STALLED, also=process(0.0, "T")), "medium"),
    "lock": (replace(STALLED, also=states("Waiting for global read lock", 4) + process(0.0)), "high"),
    "client_pause": (replace(STALLED, also=at_work(0, 4)), "medium"),
    "row_locks": (sampled(row_locks_awaited=level(2, 0), row_lock_wait_ms=grown(2000)), "high"),
    "checkpoint": (sampled(redo_file_waits=grown(50), pages_flushed_sync=grown(500)), "high"),
    "redo": (sampled(redo_waits=grown(100)), "medium"),
    "free_pages": (sampled(free_page_waits=grown(50), free_pages=level(0, 500), pages=level(1000, 1000)), "high"),
    "purge": (sampled(purge_delay_us=level(5000, 0)), "medium"),
    "machine_paused": (replace(STALLED, also=host(late=True)), "medium"),
    "cpu_starved": (replace(STALLED, worker_cpu_s=0.01, also=STOLEN + process(0.3)), "high"),
    "memory": (replace(STALLED, also=host(swapped_in_pages=(5000, 0), major_faults=(5000, 1))), "high"),
    "storage": (replace(STALLED, also=device(0, 0.0, 30) + host(io_some_pressed_s=(0.9, 0.1))), "high"),
}
"""Cause -> a run with evidence of it, and how sure that is."""


# (of each process, that wait for a row lock): the two clients count once each, though each has two processes.
SHARES = [(None, 2, True), (1, 2, True), (8, 2, False), (8, 7, False), (8, 8, True)]


def dips_of(run: Run, step: str = "l.i1") -> list[dict[str, Any]]:
    return choose(lake_of(run), "demo", steps=[step]).ask("dips").to_dicts()


@pytest.mark.parametrize(
    ("seconds", "found"),
    [
        ("low high", [None, None]),
        ("low low high low low", [1, 1, None, 2, 2]),
        ("low not_recorded low", [None, None]),
        ("stalled high low stalled", [1, None, 2, 2]),
        ("low ended ended", [None, None, None]),
    ],
)
def test_seconds_in_dips_stall_or_are_low_next_to_low_ones(seconds: str, found: list[int | None]) -> None:
    rates = {"high": 100.0, "low": 75.0, "stalled": 10.0, "ended": 75.0}
    words = [*["high"] * 10, *seconds.split()]
    rated = [
        f"('a', 1, {second}, {rates[word]}, 100.0, {1 if word == 'stalled' else 'NULL'}, {word != 'ended'})"
        for second, word in enumerate(words)
        if word in rates
    ]
    lake = lake_of(Run()).cursor()
    columns = "run_id, step_id, second, rate, median_rate, stall, all_at_work"
    lake.execute(
        f"CREATE TEMP MACRO rated_seconds(ids, names) AS TABLE FROM (VALUES {', '.join(rated)}) AS t({columns})"
    )
    dips = reader.sql(lake, "SELECT second, dip FROM dip_seconds([], []) ORDER BY second")
    assert dips["second"].to_list() == [second for second, word in enumerate(words) if word in rates]
    assert dips["dip"].to_list() == [None] * 10 + found


@pytest.mark.slow
@pytest.mark.parametrize(
    "cause",
    [pytest.param(each, marks=() if each == "lock" else pytest.mark.long) for each in CASES],
)
def test_a_dip_has_the_cause_that_its_evidence_shows(cause: str) -> None:
    run, confidence = CASES[cause]
    (dip,) = dips_of(run)
    assert (dip["from_s"], dip["to_s"], dip["seconds"]) == (9, 12, 3)
    assert (dip["cause"], dip["confidence"]) == (cause, confidence), dip
    assert dip["evidence"] and dip["words"] and dip["rate"] == 0
    assert dip["lost"] == 3 * dip["median_rate"]


@pytest.mark.slow
@pytest.mark.parametrize(("connections", "waiting", "named"), SHARES)
def test_half_of_the_clients_waits_for_row_locks_or_not_however_many_a_process_serves(
    connections: int | None, waiting: int, named: bool
) -> None:
    (dip,) = dips_of(replace(sampled(row_locks_awaited=level(waiting, 0)), connections=connections))
    assert dip["cause"] == ("row_locks" if named else None), dip


@pytest.mark.slow
def test_without_evidence_a_dip_is_unexplained_and_says_what_would_have_decided() -> None:
    (dip,) = dips_of(STALLED)
    assert (dip["cause"], dip["confidence"], dip["label"], dip["evidence"]) == (None, None, "unexplained", [])
    assert dip["candidates"] == []
    (dip,) = dips_of(sampled(pages_flushed_sync=grown(500)))
    assert dip["cause"] is None
    assert dip["candidates"] == [{"cause": "checkpoint", "points": 2}]
    assert "server.redo_file_waits_per_s" in dip["undecided"]


@pytest.mark.long
def test_strong_evidence_without_decisive_one_is_medium() -> None:
    """MariaDB does not count waits for space in the redo files, and its limit is not quite reached here."""
    run = sampled(
        pages_flushed_sync=grown(500), sync_flush_waits=grown(50), checkpoint_age_bytes=level(97, 10),
        checkpoint_age_limit_bytes=level(100, 100),
    )  # fmt: skip
    (dip,) = dips_of(run)
    assert (dip["cause"], dip["points"], dip["confidence"]) == ("checkpoint", 6, "medium")


@pytest.mark.long
@pytest.mark.parametrize(
    ("limit", "cause", "via"),
    [
        ({"checkpoint_age_sync_bytes": 100}, "checkpoint", "row locks"),
        ({"checkpoint_age_sync_bytes": 50, "checkpoint_age_limit_bytes": 102}, "checkpoint", "row locks"),
        ({"checkpoint_age_sync_bytes": 50, "checkpoint_age_limit_bytes": 104}, "row_locks", None),
    ],
)
def test_transactions_that_wait_for_redo_space_hold_their_row_locks_for_longer(
    limit: dict[str, int], cause: str, via: str | None
) -> None:
    """Row locks have as many points as the checkpoint: they are its symptom. The third age is 97 % of its limit."""
    limits = {name: level(value, value) for name, value in limit.items()}
    run = sampled(
        row_locks_awaited=level(2, 0), row_lock_wait_ms=grown(2000), checkpoint_age_bytes=level(101, 60), **limits
    )
    (dip,) = dips_of(run)
    assert (dip["cause"], dip["via"], dip["points"], dip["confidence"]) == (cause, via, 5, "high")


@pytest.mark.long
@pytest.mark.slow
def test_an_origin_is_named_before_the_mechanism_that_it_came_through() -> None:
    run = replace(
        sampled(free_page_waits=grown(50), free_pages=level(0, 500), pages=level(1000, 1000)),
        also=device(0, 0.0, 30) + host(io_some_pressed_s=(0.9, 0.1)),
    )
    (dip,) = dips_of(run)
    assert (dip["cause"], dip["via"], dip["confidence"]) == ("storage", "free pages", "high")


@pytest.mark.long
def test_an_origin_that_begins_after_the_dip_is_not_named_before_the_mechanism() -> None:
    """A server that stands still lets the device idle, or fills its queue when it goes on: that is a consequence."""
    free_pages = sampled(free_page_waits=grown(50), free_pages=level(0, 500), pages=level(1000, 1000))
    (dip,) = dips_of(replace(free_pages, also=device(0, 0.0, 30, begins=START_S + 11)))
    assert (dip["cause"], dip["via"], dip["points"]) == ("free_pages", None, 5)
    assert {"cause": "storage", "points": 3} in dip["candidates"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("idle", "cause", "via"), [((0.1, 0.4), "cpu_starved", "row locks"), ((0.5, 0.4), "row_locks", None)]
)
def test_an_origin_that_something_contradicts_is_not_named_before_the_mechanism(
    idle: tuple[float, float], cause: str, via: str | None
) -> None:
    """Who takes CPU while a fifth of the CPUs is idle takes it from nobody."""
    locked = sampled(row_locks_awaited=level(2, 0), row_lock_wait_ms=grown(2000))
    others = host(cpu_steal_s=(1.5, 0.0), cpu_idle_s=idle, cpu_user_s=(0.1, 1.6))
    (dip,) = dips_of(replace(locked, worker_cpu_s=0.0, also=others + process(0.1)))
    assert (dip["cause"], dip["via"]) == (cause, via)
    assert {each["cause"] for each in dip["candidates"]} >= {"CPU taken", "row locks"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("of_host", "cpu", "queue", "cause", "via"),
    [
        pytest.param(STOLEN, 0.3, (9.0, 12.0), "cpu_starved", "redo", id="steal"),
        pytest.param(BURNT, 0.2, (9.0, 4.0), "cpu_starved", "redo", id="neighbour on a busy host"),
        pytest.param(BURNT, 0.2, (1.0, 4.0), "redo", None, id="busy host, and the server waits for something else"),
        pytest.param(BURNT, 1.4, (4.0, 4.0), "redo", None, id="busy host as ever"),
    ],
)
def test_who_takes_the_cpu_is_named_before_redo_and_storage_and_not_where_the_server_wants_none(
    of_host: Rows, cpu: float, queue: tuple[float, float], cause: str, via: str | None
) -> None:
    """An fsync takes long where nobody has a CPU; and others use the CPU that a waiting server leaves."""
    slow = replace(sampled(redo_fsyncs=grown(10, 100), redo_flush_ms=grown(400, 100)), worker_cpu_s=0.01)
    (dip,) = dips_of(replace(slow, also=of_host + process(cpu) + queued(*queue) + device(20, 0.2, 1)))
    assert (dip["cause"], dip["via"]) == (cause, via), dip
    assert {"cause": "redo", "points": 3} in dip["candidates"]


@pytest.mark.long
@pytest.mark.parametrize(("ms", "cause"), [(150, None), (250, "redo")])
def test_slow_fsyncs_that_take_little_of_the_time_explain_no_dip(ms: int, cause: str | None) -> None:
    """Ten of them take 15 times as long as outside, or 25 times; only the latter take a fifth of the second."""
    (dip,) = dips_of(sampled(redo_fsyncs=grown(10, 100), redo_flush_ms=grown(ms, 100)))
    assert dip["cause"] == cause


@pytest.mark.slow
def test_a_dip_of_the_sample_is_not_put_down_to_an_fsync_of_the_second_behind_it() -> None:
    """In the first second, fsyncs took 18 ms; in the one that ended 1.7 s after it, 20 ms, and its rate was good."""
    dips = choose(reader.lake(str(ROOT / "data" / "sample")), "stalls").ask("dips")
    assert dips["label"].to_list() == ["unexplained", "client pause", "checkpoint"]


@pytest.mark.slow
def test_a_run_of_the_sample_that_the_hypervisor_starved_is_not_put_down_to_redo_or_storage() -> None:
    """Steal was 41 to 70 % in its dips. No dip of these paced runs is one of late answers alone."""
    lake = reader.lake(str(ROOT / "data" / "sample"))
    dips = choose(lake, "tpcc_waves", steps=["run"]).ask("dips")
    assert dips["run_id"].n_unique() > 5
    starved = dips.filter(pl.col("run_id").str.ends_with("orig_io-r1"))
    assert starved["label"].to_list() == ["CPU taken"] * 7
    assert set(starved["confidence"]) == {"high"} and not dips["cause"].is_in(["client_pause"]).any()
    assert (dips["rate"] < 0.9 * dips["median_rate"]).all()


@pytest.mark.long
def test_a_limit_of_io_operations_is_storage_though_no_request_is_in_flight() -> None:
    """The kernel holds the requests back before the device counts them, and asynchronous ones block no thread."""
    held_back = replace(STALLED, also=device(5, 0.005, 0) + host(io_some_pressed_s=(0.9, 0.2)))
    (dip,) = dips_of(held_back)
    assert (dip["cause"], dip["confidence"]) == ("storage", "high")
    idle = replace(STALLED, also=device(5, 0.005, 0) + host(io_some_pressed_s=(0.0, 0.2)))
    (dip,) = dips_of(idle)
    assert (dip["cause"], dip["candidates"]) == (None, [{"cause": "storage", "points": 2}]), "nobody waited for I/O"


@pytest.mark.long
def test_a_frozen_file_system_is_storage_though_threads_are_often_blocked() -> None:
    """Who waits for a frozen file system does not count as waiting for I/O."""
    calm = host(io_some_pressed_s=(0.0, 0.2))
    (dip,) = dips_of(replace(STALLED, also=device(5, 0.005, 0) + calm + process(0.1, blocked=1)))
    assert (dip["cause"], dip["confidence"]) == ("storage", "high")
    (dip,) = dips_of(replace(STALLED, also=device(90, 0.09, 1) + calm + process(0.1, blocked=1)))
    assert dip["cause"] is None, "the device went on working"


@pytest.mark.long
@pytest.mark.parametrize(("most", "cause"), [("1000", "purge"), ("20000", None), ("0", None)])
def test_a_delay_that_is_over_delays_nothing(most: str, cause: str | None) -> None:
    """The server goes on showing its last delay when the history list is short again."""
    run = sampled(purge_delay_us=level(5000, 5000), history_list_length=level(9000, 10))
    (dip,) = dips_of(replace(run, variables=(("innodb_max_purge_lag", most),)))
    assert dip["cause"] == cause


@pytest.mark.long
def test_two_causes_with_as_much_evidence_leave_a_dip_unexplained() -> None:
    (dip,) = dips_of(sampled(redo_waits=grown(100), purge_delay_us=level(5000, 0)))
    assert dip["cause"] is None
    assert dip["candidates"] == [{"cause": "purge", "points": 3}, {"cause": "redo", "points": 3}]


@pytest.mark.long
@pytest.mark.slow
def test_the_points_are_the_sum_of_the_evidence() -> None:
    lake = lake_of(CASES["free_pages"][0])
    chosen = choose(lake, "demo", steps=["l.i1"])
    evidence = chosen.ask("dip_evidence")
    (dip,) = chosen.ask("dips").to_dicts()
    held = evidence.filter(cause="free_pages", holds=True)
    assert dip["points"] == held["points"].sum() == 5
    assert sorted(dip["evidence"]) == sorted(held["says"])
    unknown = evidence.filter(pl.col("cause") == "free_pages", pl.col("holds").is_null())["measure"].to_list()
    assert unknown == ["server.single_page_searches_per_s", "states.at_work"], "neither was sampled"


@pytest.mark.long
def test_every_rule_has_a_measure_and_every_cause_a_rule() -> None:
    run = replace(CASES["free_pages"][0], also=process(1.5) + host() + device(100, 0.1, 1) + states("", 0) + WAITS)
    lake = lake_of(run)
    ours = "WHERE coalesce(family, 'mysql') = 'mysql'"  # a run of another family has the measures of its own
    rules = reader.sql(lake, f"FROM dip_rules {ours}")
    assert set(rules["cause"]) == set(reader.sql(lake, f"FROM dip_causes {ours}")["cause"])
    assert set(rules["test"]) == {"at least", "at most", "times", "falls to", "rises to"}
    ids = choose(lake, "demo").run_ids
    measured = set(reader.sql(lake, f"SELECT DISTINCT measure FROM dip_measures({ids}, ['l.i1'])")["measure"])
    assert set(rules["measure"]) <= measured


WAITS: Rows = tuple(
    (table, {"tick": 25, "t_s": 25.25, **row})
    for table, row in (
        ("thread_samples", {"seconds": 1.0, "name": "", "threads": 3, "cpu_s": 1.0, "queued_s": 0.5}),
        ("waits", {"seconds": 10.0, "source": "innodb_mutex", "event": "dblwr", "waits": 3, "wait_s": 1.0}),
    )
)


@pytest.mark.slow
def test_a_steady_step_and_one_whose_clients_end_one_by_one_have_no_dip() -> None:
    assert dips_of(Run("even", l_i1_s=SECONDS)) == []
    assert dips_of(STALLED, "l.i0") == [], "client 2 is done with l.i0 two seconds earlier"


@pytest.mark.slow
def test_dips_at_regular_intervals_are_waves() -> None:
    waves = Run("waves", l_i1_s=SECONDS, stall=(3, 7, 11, 15))
    dips = dips_of(waves)
    assert [(dip["from_s"], dip["label"], dip["period_s"]) for dip in dips] == [
        (second, "unexplained", 4) for second in (3, 7, 11, 15)
    ]
    uneven = Run("uneven", l_i1_s=SECONDS, stall=(3, 5, 12, 18))
    assert {dip["period_s"] for dip in dips_of(uneven)} == {None}


@pytest.mark.long
@pytest.mark.slow
def test_a_server_is_not_blamed_where_nothing_was_asked_of_it() -> None:
    run = replace(sampled(purge_delay_us=level(5000, 0)), also=at_work(0, 4))
    (dip,) = dips_of(run)
    assert dip["cause"] == "client_pause" and dip["candidates"] == [
        {"cause": "client pause", "points": 3},
        {"cause": "purge", "points": 1},
    ]
    (dip,) = dips_of(replace(run, also=at_work(4, 4)))
    assert (dip["cause"], dip["candidates"]) == ("purge", [{"cause": "purge", "points": 3}])


@pytest.mark.long
def test_a_pause_may_begin_and_end_within_a_second() -> None:
    """In the first and the last second of the dip the clients were at work for a while."""
    first, *still, last = DIP
    rows = tuple(
        (
            "thread_states",
            {"tick": START_S + t, "t_s": START_S + t + 0.25, "state": "", "connections": 0 if t in still else 3},
        )
        for t in range(SECONDS)
    )
    (dip,) = dips_of(Run("slow", l_i1_s=SECONDS, stall=tuple(still), weak=(first, last), also=rows))
    assert (dip["from_s"], dip["to_s"], dip["cause"]) == (9, 12, "client_pause")


@pytest.mark.parametrize(("every", "cause"), [(99, "client_pause"), (3, None)])
def test_one_look_that_finds_nobody_at_work_is_no_pause_where_many_do(every: int, cause: str | None) -> None:
    rows = tuple((table, {**row, "connections": 0 if row["tick"] % every == 0 or row["tick"] == START_S + 9 else 2})
                 for table, row in at_work(0, 0))  # fmt: skip
    (dip,) = dips_of(Run("slow", l_i1_s=SECONDS, stall=(9,), also=rows))
    assert (dip["from_s"], dip["to_s"], dip["cause"]) == (9, 10, cause), dip


@pytest.mark.parametrize(
    ("t_s", "span_s", "is_of_step"),
    [
        (20, 1, True),
        (20.01, 1, False),
        (20.01, 0, False),
        (10, 0, True),
        (9.99, 0, False),
        (10.9, 1, True),
        (10.89, 1, False),
    ],
)
def test_a_sample_is_of_the_step_that_nearly_all_of_it_lies_in(t_s: float, span_s: float, is_of_step: bool) -> None:
    """Of a step from second 10 to second 20."""
    asked = reader.sql(lake_of(Run()), f"SELECT is_of_step({t_s}, {span_s}, 10, 20) AS found")
    assert asked["found"].item() is is_of_step


@pytest.mark.parametrize(("tick", "cause"), [(START_S + 18, "memory"), (START_S + SECONDS, None)])
def test_what_is_seen_after_a_step_is_no_cause_of_a_dip_at_its_end(tick: int, cause: str | None) -> None:
    """Pages were swapped in the second before a sample in the step, or before one a quarter of a second after it."""
    rows = tuple((table, {**row, "swapped_in_pages": 5000 if row["tick"] >= tick else 0}) for table, row in host())
    (dip,) = dips_of(Run("slow", l_i1_s=SECONDS, stall=(17, 18), also=rows))
    assert (dip["from_s"], dip["to_s"], dip["cause"]) == (17, 19, cause), dip


@pytest.mark.long
def test_few_connections_at_work_are_no_pause_of_the_clients() -> None:
    """Paced clients are mostly idle, and so are most of the moments at which one looks."""
    run = Run("slow", l_i1_s=SECONDS, stall=DIP, also=tuple(
        (table, {**row, "connections": int(row["tick"] % 5 == 0 and row["tick"] not in IN_DIP)})
        for table, row in at_work(0, 0)
    ))  # fmt: skip
    (dip,) = dips_of(run)
    assert dip["cause"] is None and dip["candidates"] == []


def test_what_evidence_says_of_a_threshold_is_no_exact_figure() -> None:
    """Requests that took 9 times as long hold the rule for 3 times: it must not say that they took 3 times as long."""
    rules = reader.sql(lake_of(Run()), "SELECT DISTINCT says FROM dip_rules WHERE test IN ('times', 'at most')")
    exact = [says for (says,) in rules.rows() if any(letter.isdigit() for letter in says)]
    assert exact and not [says for says in exact if not re.search("at least|at most|or more", says)]
