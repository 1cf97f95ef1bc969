"""A program that is driven: what its lines become, and what is said of one that misbehaves."""

import json
import math
import os
import re
import signal
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.base.python_process import python_module, python_path
from ibench_lib.client import external
from ibench_lib.client.external import (
    LINE_BYTES,
    Lines,
    Program,
    RunningProgram,
    cannot_start,
)
from ibench_lib.client.intervals import Reading, Seconds, Unreadable, require_possible
from tests.waiting import until


def made(*arrivals: tuple[float, list[Reading]]) -> tuple[Seconds, dict[int, Any]]:
    """What readings become that arrive at these times: the seconds, and their rows by second."""
    rows: dict[int, Any] = {}

    def emit(row: dict[str, Any]) -> None:
        assert row["second"] not in rows and row["ops"] >= 0
        rows[row["second"]] = row

    seconds = Seconds("update", emit)
    for arrived_s, readings in arrivals:
        seconds.add(readings, arrived_s)
    seconds.finish()
    return seconds, rows


def ops(rows: dict[int, Any]) -> dict[int, int]:
    return {second: row["ops"] for second, row in rows.items()}


def test_counts_of_whole_seconds_stay_as_they_are() -> None:
    seconds, rows = made(
        *((n + 1.0, [Reading(count=count, end_s=n + 1.0)]) for n, count in enumerate((100, 7, 0, 120)))
    )
    assert ops(rows) == {0: 100, 1: 7, 2: 0, 3: 120}
    assert (seconds.ops, seconds.end_s, seconds.from_rates) == (227, 4.0, False)


def test_seconds_that_are_not_the_programs_share_its_intervals_and_lose_nothing() -> None:
    seconds, rows = made(*((0.5 + n + 1.0, [Reading(count=100, end_s=n + 1.0)]) for n in range(4)))
    assert ops(rows) == {0: 50, 1: 100, 2: 100, 3: 100, 4: 50}
    assert sum(ops(rows).values()) == seconds.ops == 400 and seconds.end_s == 4.5


def test_a_rate_counts_by_the_time_between_the_lines() -> None:
    seconds, rows = made((1.25, [Reading(rate=100.0)]), (2.0, [Reading(rate=200.0)]))
    assert ops(rows) == {0: 100, 1: 175} and seconds.ops == 275 and seconds.from_rates
    assert (
        rows[0]["errors"] is rows[0]["service_sum_us"] is rows[0]["service_max_us"] is rows[0]["service_bins"] is None
    )


def test_fractions_of_rates_add_up() -> None:
    seconds, rows = made(*((n + 1.0, [Reading(rate=0.3, end_s=n + 1.0)]) for n in range(100)))
    assert seconds.ops == sum(ops(rows).values()) == 30 and max(ops(rows).values()) == 1


def test_single_seconds_of_a_long_interval_are_not_known_and_its_operations_count() -> None:
    seconds, rows = made(
        *(
            (at, [Reading(count=count, end_s=at)])
            for at, count in ((1.0, 10), (2.0, 10), (5.5, 35), (6.0, 5), (7.0, 10))
        )
    )
    assert ops(rows) == {0: 10, 1: 10, 6: 10}, "second 5 is a part of the long interval"
    assert seconds.ops == 70


def test_a_program_that_reports_once_has_a_total_and_no_second() -> None:
    seconds, rows = made((4.0, [Reading(count=1000, errors=3)]))
    assert rows == {} and (seconds.ops, seconds.errors, seconds.end_s) == (1000, 3, 4.0)


def test_lines_that_were_held_back_are_placed_by_their_own_time() -> None:
    lines = [Reading(count=10 + n, end_s=n + 1.0) for n in range(6)]
    _, at_once = made((3.1, lines[:3]), (6.2, lines[3:]))
    assert sum(ops(at_once).values()) == sum(10 + n for n in range(6)) and len(at_once) == 7


def test_lines_without_a_time_that_arrive_together_have_one_interval() -> None:
    seconds, rows = made((1.0, [Reading(count=5)]), (4.0, [Reading(count=5), Reading(count=6), Reading(count=7)]))
    assert ops(rows) == {0: 5} and seconds.ops == 23 and seconds.together == 2
    rates, _ = made((2.0, [Reading(rate=10.0), Reading(rate=20.0)]))
    assert rates.ops == 30 and rates.from_rates


def test_response_times_and_errors_that_it_prints_are_kept() -> None:
    seconds, rows = made(
        (1.0, [Reading(count=10, end_s=1.0, errors=1, mean_us=50.0, max_us=90.0)]),
        (2.0, [Reading(count=20, end_s=2.0, errors=0, mean_us=100.0, max_us=400.0)]),
    )
    assert [(row["errors"], row["service_sum_us"], row["service_max_us"]) for row in rows.values()] == [
        (1, 500.0, 90.0), (0, 2000.0, 400.0),
    ]  # fmt: skip
    assert seconds.errors == 1 and seconds.lacks == {"retries", "bins"}
    assert all(row["service_bins"] is row["rows"] is row["retries"] is row["unknown"] is None for row in rows.values())


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        (Reading(rate=-5.0), "its rate is -5"),
        (Reading(rate=math.nan), "its rate is nan"),
        (Reading(count=math.inf), "its count is inf"),
        (Reading(rate=1.0, max_us=-1.0), "its max is -1"),
        (Reading(), "it has to say either a count or a rate"),
        (Reading(count=1.0, rate=1.0), "it has to say either a count or a rate"),
        (Reading(rate=1.0, end_s=0.5), "its time does not go forward: 0.5 s comes after 2 s"),
        (Reading(rate=1.0, end_s=2.0), "its time does not go forward: 2 s comes after 2 s"),
        (Reading(rate=1.0, end_s=1e9), "its clock says 1e\\+09 s, but it has run for 3.0 s"),
        (Reading(rate=1.0), None),
    ],
)
def test_what_cannot_be_is_refused(reading: Reading, said: str | None) -> None:
    rows: list[dict[str, Any]] = []
    seconds = Seconds("update", rows.append)
    seconds.add([Reading(rate=10.0, end_s=2.0)], 2.0)
    if said is not None:
        with pytest.raises(Unreadable, match=f"^{said}$"):
            require_possible(reading)
            seconds.add([reading], 3.0)
    assert seconds.ops == 20, "what came before is kept"


def test_a_long_line_is_dropped_whole() -> None:
    lines = Lines()
    found = [*lines.add(b"one\ntw"), *lines.add(b"o\r\n"), *lines.add(b"x" * (LINE_BYTES + 1)), *lines.add(b"x" * 10)]
    assert found == ["one", "two"] and len(lines._rest) == 0
    assert [*lines.add(b"y\nfour\nfi"), *lines.end()] == [None, "four", "fi"]


class Script(Program):
    """A shell script whose lines are `time count`."""

    def __init__(self, script: str) -> None:
        self.argv = ["/bin/sh", "-c", script]

    def read_line(self, line: str) -> Reading | None:
        try:
            end, count = map(float, line.split())
        except ValueError:
            return None
        return Reading(count=count, end_s=end)


def driven(script: str, seconds: float | None = None) -> tuple[RunningProgram, list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    program = RunningProgram(Script(script), "update", rows.append)
    program.run(time.monotonic_ns() - 5_000_000_000, seconds)  # its lines are of seconds that are over
    return program, rows


def test_a_variable_that_is_none_does_not_reach_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSERVICE", "dev")
    monkeypatch.setattr(Script, "environment", {"PGSERVICE": None, "ADDED": "4"})
    _, rows = driven("echo 1 ${PGSERVICE:+100}${ADDED}")
    assert sum(row["ops"] for row in rows) == 4


LINES = "echo 1 10; echo 2 20;"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("exit 0", r"it ended after \d+\.\d s and printed nothing"),
        ("echo no connection >&2", r"it ended after .* s and printed nothing: 'no connection'"),
        ("exit 3", r"exit 3 after \d+\.\d s"),
        ("echo hello; echo world", "none of its 2 lines says anything of an interval; the first: 'hello'"),
        (f"{LINES} echo no memory >&2; exit 2", r"exit 2 after \d+\.\d s: 'no memory'"),
        (f"{LINES} kill -9 $$", r"killed by SIGKILL after \d+\.\d s"),
        (f"{LINES} echo 3 -1; sleep 60", "line 3: its count is -1: '3 -1'"),
        (f"{LINES} echo 3 nan; sleep 60", "line 3: its count is nan: '3 nan'"),
        (f"{LINES} echo 1.5 5; sleep 60", "line 3: its time does not go forward: 1.5 s comes after 2 s: '1.5 5'"),
    ],
)
def test_a_program_that_misbehaves_is_named_in_one_line(script: str, said: str) -> None:
    program, rows = driven(script)
    error = program.error or ""
    assert re.fullmatch(said, error), error
    assert "\n" not in error
    if script.startswith("echo 1 10"):
        assert sum(row["ops"] for row in rows) == 30, "captured seconds are kept"
        assert external.totals(program, 0, None)["status"] == "failed"


def test_garbage_between_the_lines_is_counted_and_named() -> None:
    program, rows = driven(f"printf '\\001\\377garbage\\n'; {LINES} echo more; head -c 200000 /dev/zero; echo")
    assert program.error is None and (program.read, program.unread) == (2, 3)
    assert program.warnings(None) == [r"sh: 3 of 5 lines could not be read; the first: '\x01" + "\ufffdgarbage'"]
    assert sum(row["ops"] for row in rows) == 30


def test_a_flood_ends_the_program_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "MOST_BYTES", 8 << 20)
    program, rows = driven(f"{LINES} exec cat /dev/zero")
    assert program.error == "it printed more than 8 MiB" and sum(row["ops"] for row in rows) == 30


def test_a_program_that_does_not_end_is_killed_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(external, "LATE_S", 3.0)  # a busy machine needs some time for the first lines
    monkeypatch.setattr(external, "KILL_AFTER_S", 0.2)
    started = tmp_path / "pid"
    program, rows = driven(
        f"trap '' TERM; {LINES} sh -c 'trap \"\" TERM; echo $$ > {started}; sleep 600' & wait; sleep 600", 5.0
    )
    said = re.fullmatch(r"it did not end: after (\d+) s it was still running, so it was killed", program.error or "")
    assert said and int(said[1]) >= 8
    assert sum(row["ops"] for row in rows) == 30
    until(lambda: not alive(int(started.read_text())), "the end of what it had started")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def test_what_it_leaves_behind_with_its_output_open_does_not_hold_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "KILL_AFTER_S", 0.2)
    program, rows = driven(f"{LINES} sleep 600 & exit 0")
    assert program.error is None and sum(row["ops"] for row in rows) == 30


def test_a_program_that_cannot_start_is_named(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    assert cannot_start("no-such-program") == "no-such-program: there is no such program on PATH"
    assert cannot_start(str(tmp_path / "gone")) == f"{tmp_path}/gone: there is no such file"
    assert cannot_start(str(plain)) == f"{plain}: it is not executable"
    assert cannot_start(str(tmp_path)) == f"{tmp_path}: it is no file"
    assert cannot_start("sh") is None


def test_the_password_is_in_a_file_that_only_this_user_reads_and_that_is_on_no_disk() -> None:
    address = {"unix_socket": "/tmp/s", "ssl_disabled": True, "user": "root", "password": 'a"b\\c#'}
    target = external.target("ibench_lib.client.mysql.connection", address, "ibench")
    path = Path(target.option_file or "")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and os.readlink(path).startswith("/memfd:")
    said = subprocess.run(
        ["my_print_defaults", f"--defaults-file={path}", "client"], capture_output=True, text=True, check=True
    )
    assert '--password=a"b\\c#' in said.stdout.splitlines() and "--socket=/tmp/s" in said.stdout.splitlines()
    assert 'a"b' not in repr(target) and target.listener_user is None


def test_a_program_is_told_whose_server_has_to_listen() -> None:
    address = {"unix_socket": "/tmp/s", "user": "u", "listener": {"process": 17, "user": 65534}}
    assert external.target("ibench_lib.families.postgres.driver", address, "ibench").listener_user == 65534


class Endless(Script):
    def __init__(self, *_: Any) -> None:
        super().__init__("echo 0.1 5; exec sleep 600")


make_program = Endless


class Connection:
    """Of this module as a driver: no program here reaches a server."""

    family = "none"


@pytest.mark.slow
def test_a_stop_ends_the_program_and_keeps_what_it_said() -> None:
    spec = {
        "module": "tests.client.test_external", "role": "program", "client": 1, "number": 0, "operations": ["update"],
        "statements": None, "seconds": None, "tick_ns": None, "timeout_s": 60, "seed": 1, "drives": True,
    }  # fmt: skip
    told = {"spec": spec, "driver": spec["module"], "address": {}, "database": "d"}
    process = subprocess.Popen(
        python_module("ibench_lib.client.external"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": python_path()},
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    messages = []
    for message in (told, {"go": "probe"}, {"go": "make"}, {"start_ns": time.monotonic_ns() - 10**9}):
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
        if "start_ns" not in message:
            messages.append(json.loads(process.stdout.readline())["kind"])
    assert messages == ["ready", "probed", "made"]
    until(lambda: children(process.pid).startswith(b"sleep"), "the program's start")
    process.send_signal(signal.SIGTERM)
    said = [json.loads(line) for line in process.stdout]
    assert process.wait() == 0
    totals = said[-1]["totals"]
    assert totals["status"] == "interrupted" and totals["error"] is None and totals["ops"] == 5


def children(pid: int) -> bytes:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return b"".join(Path(f"/proc/{child}/cmdline").read_bytes() for child in found)
