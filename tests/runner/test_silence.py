"""What a step says of seconds in which no answer came, and of who stood still."""

from __future__ import annotations

import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

from ibench_lib.runner.silence import SILENT_S, Watch, longest_gap, warnings
from tests.faults import Victim
from tests.places import ROOT
from tests.waiting import until


def state(name: str, answered: set[int], reported: int, pid: int = 0) -> Any:
    process = SimpleNamespace(pid=pid)
    latest = max(answered, default=-1)
    return SimpleNamespace(
        name=name, answered=answered, reported=reported, latest_answer=latest, stage="made", process=process
    )


NOBODY = Watch(lambda: None)


@pytest.mark.parametrize(
    ("answered", "whole", "gap"),
    [
        ({0, 1, 5, 6}, 7, (2, 4)),
        ({0, 1, 2, 5, 6}, 7, None),  # two seconds are no gap
        ({0, 5, 6}, 9, (1, 4)),
        ({4, 5, 6, 7}, 8, (0, 3)),
        ({0, 1, 2, 3}, 9, (4, 8)),
        ({0, 10, 20, 30, 40}, 50, None),  # statements that take ten seconds each
        ({60}, 61, None),  # a single one that takes a minute
        (set(), 0, None),
        (set(), 60, None),
        ({0, 1, 2, 3, 10**9}, 4, None),
    ],
)
def test_a_gap_is_three_seconds_where_answers_come_in_most_of_the_others(
    answered: set[int], whole: int, gap: tuple[int, int] | None
) -> None:
    assert longest_gap(answered, whole) == gap


def test_seconds_without_an_answer_to_anybody_or_to_one_client_are_said_with_their_place() -> None:
    seconds = {0, 1, 62, 63}
    both = [state(f"client {number} inserter", seconds, 65) for number in (1, 2)]
    assert warnings("l.i1", "write", both, NOBODY) == [
        "step l.i1: no answer to any client for 60 s, in seconds 2 to 61"
    ]
    others = [*both, state("client 3 inserter", set(range(65)), 65)]
    assert warnings("l.i1", "write", others, NOBODY) == [
        "step l.i1: no answer to client 1 inserter for 60 s, in seconds 2 to 61; "
        "shorter or equal gaps of 1 other client"
    ]
    assert warnings("l.x", "index", both, NOBODY) == []
    steady = [state("client 1 inserter", set(range(9)), 9)]
    assert warnings("l.i1", "write", steady, NOBODY) == []


@pytest.fixture
def sleeper() -> Any:
    process = subprocess.Popen(["sleep", "600"])
    yield Victim(process.pid)
    process.kill()
    process.wait()


@pytest.mark.slow
def test_a_process_that_is_stopped_is_named_and_one_that_only_waits_is_not(sleeper: Victim) -> None:
    pid = sleeper.process.pid
    client = state("client 1 querier", {0}, 0, pid)
    start_ns = time.monotonic_ns() - 6_500_000_000
    watch = Watch(lambda: pid)
    watch.look([client], start_ns)
    assert watch.stopped == {}
    sleeper.stop()
    until(lambda: sleeper.process.status() == "stopped", "it is stopped")
    watch.look([client], start_ns)
    assert {*watch.stopped} == {"client 1 querier", "the server"}
    client.answered, client.reported = {0, 1, 8, 9}, 10
    (said,) = warnings("qr100", "query", [client], watch)
    assert said == (
        "step qr100: no answer to any client for 6 s, in seconds 2 to 7; "
        "the process of client 1 querier and the server was stopped meanwhile"
    )


@pytest.mark.slow
def test_a_process_notices_that_it_was_stopped_while_it_waited() -> None:
    program = (
        "import sys\nfrom ibench_lib.runner.silence import Standstill\n"
        "with Standstill() as still:\n    print(still.longest_s(), flush=True)\n    sys.stdin.readline()\n"
        "    print(still.longest_s(), still.longest_s())\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin and process.stdout and float(process.stdout.readline()) == 0
        Victim(process.pid).stop_for(SILENT_S + 1)
        said, _ = process.communicate("\n")
    longest_s, after_s = map(float, said.split())
    assert longest_s >= SILENT_S and after_s == 0


def test_a_runner_that_stood_still_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10**9]
    monkeypatch.setattr("ibench_lib.runner.silence.time.monotonic_ns", lambda: now[0])
    watch, client = Watch(lambda: None), state("client 1 querier", set(range(99)), 99)
    for pause_s in (0.3, 0.3, 1.9, 61.0, 0.3):
        now[0] += round(pause_s * 1e9)
        watch.look([client], 10**9)
    (said,) = warnings("qr100", "query", [client], watch)
    assert said.startswith("step qr100: the runner stood still for 61 s, from second 2 on: it was stopped")
