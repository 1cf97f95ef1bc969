"""How much of the CPUs others had in a step: it warns of the run, and clients are not blamed where it is much."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from ibench_lib.ask.selection import Selection, choose
from ibench_lib.show.headline import badges
from tests.shared import lake_of
from tests.synthetic import Run

pytestmark = pytest.mark.lake

LATE = "client 1 querier sent its p99 statement 6,112 us late; its statements are 53,333 us apart"
OLD = "client 1 querier held its p99 operation up for 153 us; the median took 1240 us"
PREVIOUS = "client 1 querier delayed its p99 operation by 153 us; the median operation took 1,240 us"


def counters(step: tuple[int, str] = (3, "qr100"), **host: float) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Of 5 s of a step on two CPUs; the six client processes use 3 s, and the server 4."""
    grown = {"cpu_user_s": 7.0, "cpu_system_s": 0.0, "cpu_iowait_s": 0.0, "cpu_steal_s": 0.0, "cpu_idle_s": 3.0, **host}
    rows = [("host", name, value) for name, value in grown.items()] + [("process", "cpu_user_s", 4.0)]
    key = {"step_id": step[0], "step": step[1], "name": "", "start_s": 50.0, "end_s": 55.0, "start_value": 1.0}
    return tuple(
        ("step_counters", {**key, "source": source, "counter": counter, "end_value": 1 + value})
        for source, counter, value in rows
    )


def chosen(run: Run) -> Selection:
    return choose(lake_of(run), "demo")


def mark_of(run: Run) -> str | None:
    (found,) = chosen(run).ask("step_throughput").filter(step="qr100")["client_bound"]
    return None if found is None else str(found)


BUSY = counters(cpu_user_s=9.0, cpu_idle_s=1.0)
STOLEN = counters(cpu_steal_s=3.0, cpu_idle_s=0.0)


@pytest.mark.parametrize(
    ("also", "said"),
    [
        (BUSY, ["qr100: other processes used 20 % of the CPUs"]),
        (STOLEN, ["qr100: the hypervisor kept 30 % of the CPUs"]),
        (counters(), []),
        ((), []),
    ],
    ids=["others", "steal", "nobody", "not known"],
)
def test_a_run_warns_of_a_busy_host_and_its_clients_are_not_blamed(
    also: tuple[tuple[str, dict[str, Any]], ...], said: list[str]
) -> None:
    run = Run("a", client_bound=LATE, also=also, warnings=("swap",))
    assert mark_of(run) == (None if said else LATE)
    post = chosen(run)
    assert post.runs["warnings"].to_list() == post.ask("evidence")["warnings"].to_list() == [["swap", *said]]
    badge = badges(post.runs, post.ask("step_throughput"), {})
    assert ("client-bound: qr100" in badge) == (not said)
    share = said[0].split(" % ")[0].rsplit(" ", 1)[1] if said else ""
    assert (f" had up to {share} % of the CPUs in 1 of 1 run (qr100)" in badge) == bool(said)
    whose = [who for who, word in (("other processes", "used"), ("the hypervisor", "kept")) if word in "".join(said)]
    assert f">{' and '.join(whose)} had up to" in badge or not said


def test_a_badge_speaks_of_the_steps_that_the_page_shows() -> None:
    """And it names the step: 55 % were taken in l.i0, 20 % in qr100, nothing in l.i1."""
    run = Run("a", also=(*BUSY, *counters((0, "l.i0"), cpu_steal_s=3.0, cpu_idle_s=0.0)))

    def badge(*steps: str) -> list[str]:
        post = choose(lake_of(run), "demo", steps=steps)
        found = badges(post.runs, post.ask("step_throughput"), {})
        return re.findall(r">([^<]* had [^<]*)<", found)

    assert badge() == ["other processes and the hypervisor had up to 55 % of the CPUs in 1 of 1 run (most in l.i0)"]
    assert badge("qr100") == ["other processes had up to 20 % of the CPUs in 1 of 1 run (qr100)"]
    assert badge("l.i1") == []


def test_the_parts_of_a_warning_make_up_the_share_of_the_badge() -> None:
    also = counters(cpu_user_s=9.23, cpu_idle_s=0.7, cpu_steal_s=0.07)
    post = chosen(Run("a", also=also))
    assert post.runs["warnings"].to_list() == [
        ["qr100: other processes used 22 % of the CPUs and the hypervisor kept 1 % of the CPUs"]
    ]
    assert "up to 23 % of the CPUs" in badges(post.runs, post.ask("step_throughput"), {})


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (OLD, None),
        (PREVIOUS, None),
        (f"{LATE}; {OLD}", LATE),
        (f"{OLD}; client 2 querier used 97 % of a core", "client 2 querier used 97 % of a core"),
    ],
)
def test_a_mark_by_the_median_of_one_kind_of_operation_is_none(stored: str, shown: str | None) -> None:
    assert mark_of(replace(Run("a"), client_bound=stored)) == shown
    now = "client 1 querier delayed its p99 operation by 153 us; the median of all took 410 us"
    assert mark_of(Run("a", client_bound=now)) == now


def marks_of(*shares: tuple[str, list[float | None]]) -> dict[str, list[str | None]]:
    """The marks of qr100, by configuration and repeat, of clients that came to these shares of a limit."""
    runs = [
        Run(name, minute=10 * place + repeat, repeat=repeat, client_limit_share=share,
            client_bound=LATE if share is not None and share >= 1 else None)
        for place, (name, of_runs) in enumerate(shares)
        for repeat, share in enumerate(of_runs, start=1)
    ]  # fmt: skip
    found = choose(lake_of(*runs), "demo").ask("step_throughput").filter(step="qr100").sort("repeat")
    return {f"{name}": found.filter(dbms=f"system.{name}")["client_bound"].to_list() for name, _ in shares}


def test_equal_dbms_at_the_limit_have_the_same_mark() -> None:
    """Two equal dbms on either side of the limit: both are marked, or none, by the median of all their runs."""
    over = marks_of(("a", [0.98, 1.02, 1.01]), ("b", [0.97, 0.99, 1.03]), ("far", [0.3, 0.35, 0.4]))
    assert over["a"][1:] == [LATE, LATE] and all(over["a"] + over["b"])
    assert over["a"][0] == (
        "its clients came to 98 % of a limit; no gap of more than 25 % lies between it and runs that came to 103 %"
    )
    assert over["far"] == [None] * 3
    under = marks_of(("a", [0.98, 0.9, 1.01]), ("b", [0.97, 0.99, 1.03]), ("far", [1.4, 1.45, 1.5]))
    assert under == {"a": [None] * 3, "b": [None] * 3, "far": [LATE] * 3}


def test_a_run_far_over_the_limit_is_marked_though_its_dbms_is_not() -> None:
    assert marks_of(("a", [0.5, 0.5, 1.3]), ("b", [0.6, 0.6, 0.6])) == {"a": [None, None, LATE], "b": [None] * 3}


@pytest.mark.parametrize(
    ("chain", "marked"),
    [
        ((("a", 0.7), ("b", 0.86), ("c", 1.06)), False),
        ((("a", 0.7), ("b", 0.86), ("c", 1.06), ("d", 1.3)), True),
        ((("a", 0.86), ("b", 1.06), ("c", 1.2)), True),
    ],
)
def test_equal_pairs_have_one_verdict_though_the_ends_of_their_chain_differ(
    chain: tuple[tuple[str, float], ...], marked: bool
) -> None:
    """Each is within 25 % of the next, the first and the last are not: all are marked, or none."""
    assert (
        all(upper <= 1.25 * lower for (_, lower), (_, upper) in pairwise(chain)) and chain[-1][1] > 1.25 * chain[0][1]
    )
    found = marks_of(*((name, [share] * 3) for name, share in chain), ("far", [0.1, 0.2, 0.2]))
    assert found.pop("far") == [None] * 3
    assert {mark is not None for marks in found.values() for mark in marks} == {marked}
    if marked:
        lowest, highest = (f"{100 * share:.0f} %" for _, share in (chain[0], chain[-1]))
        assert found["a"][0] == (
            f"its clients came to {lowest} of a limit; no gap of more than 25 % lies between it and runs "
            f"that came to {highest}"
        )


def test_equal_runs_have_one_verdict_though_their_results_have_others() -> None:
    """One run each is over the limit, far from the others of its result and not from each other."""
    assert marks_of(("a", [0.9, 0.9, 1.3]), ("b", [0.9, 0.9, 1.2])) == {
        "a": [None, None, LATE],
        "b": [None, None, LATE],
    }


def test_runs_without_a_share_keep_their_own_mark() -> None:
    """Older runs; those with a share are judged without them."""
    run = Run("old", minute=30, client_bound=LATE)
    assert mark_of(run) == LATE
    assert marks_of(("a", [1.01, None]), ("b", [0.99, 0.98]))["a"] == [None, None]
