"""sysbench is started as the specification says, and its lines become exact counts."""

import math
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.base.histogram_bins import lower_edge_us
from ibench_lib.client.external import CannotDrive, Target
from ibench_lib.client.intervals import IntervalCount, Unreadable
from ibench_lib.workloads.sysbench import client, program, steps
from ibench_lib.workloads.sysbench.client import Sysbench, bin_of
from ibench_lib.workloads.sysbench.microbenchmarks import OURS
from tests.workloads.sysbench.test_options import options
from tests.workloads.sysbench.test_steps import SETUP

HERE = Target(database="d", user="u", family="mysql", socket="/tmp/s", password="secret")


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "folder_of_tests", lambda _binary: Path("/tests"))


def made(number: int = 1, target: Target = HERE, **given: Any) -> Sysbench:
    """The program of a step: 0 prepares, 2 is the first test."""
    chosen = options(**given)
    step = steps.plan(chosen, SETUP, 1.0)[number]
    return Sysbench(steps.spec(chosen, step, steps.workers(chosen, step)[0], number), target)


def by_operation(said: Any) -> dict[str, IntervalCount]:
    return {counted.operation: counted for counted in said}


def test_the_last_part_is_the_total_less_the_intervals() -> None:
    program = made(2)
    first = by_operation(program.read_line("ibench-interval 1.000400000 1.000400000 10 140 40 20 1 0 0 400:6,402:4"))
    counts = {name: counted.count for name, counted in first.items()}
    assert counts == {"transaction": 10, "read": 140, "write": 40, "other": 20}
    assert (first["transaction"].start_s, first["transaction"].end_s) == (0.0, 1.0004)
    assert (first["transaction"].retries, first["transaction"].errors, first["transaction"].intended) == (1, 0, False)
    assert (
        program.read_line("ibench-done 400:7,402:4") == () and program.read_line("ibench-done 400:7,402:4,900:1") == ()
    )
    assert program.read_line("ibench-done 400:7") == (), "a thread that was done earlier, and printed later"
    last = by_operation(program.read_line("ibench-total 1.250000000 1.250000000 12 168 48 24 1 1"))
    assert (last["transaction"].start_s, last["transaction"].end_s) == (1.0004, 1.25)
    assert (last["transaction"].count, last["read"].count, last["transaction"].errors) == (2, 28, 1)
    assert last["transaction"].bins == {bin_of(400): 1, bin_of(900): 1}
    assert program.finish(1.3) == ()


def test_a_rate_that_the_server_cannot_keep_up_with_is_named_with_the_second() -> None:
    program = made(2, tests=[{"test": "oltp_point_select", "rate": 5000}])
    program.read_line("ibench-interval 2.000400000 1.000400000 10 140 40 20 1 0 0 400:6,402:4")
    with pytest.raises(
        Unreadable, match=r"^the server could not keep up with 5,000 transactions/s: .* after second 2$"
    ):
        program.read_line("FATAL: The event queue is full. This means the worker threads are unable to keep up")


def test_the_histogram_says_how_many_events_an_interval_has() -> None:
    """sysbench counts an event an instant before it is in the histogram, or after."""
    program = made(2)
    seconds = [
        program.read_line("ibench-interval 1.0 1.0 10 0 0 0 0 0 0 400:9"),
        program.read_line("ibench-interval 2.0 1.0 10 0 0 0 0 0 0 400:11"),
    ]
    assert [by_operation(said)["transaction"].count for said in seconds] == [9, 11]


def test_where_its_histogram_cannot_be_read_events_are_counted_without() -> None:
    program = made(2)
    (event, *_) = program.read_line("ibench-interval 1.0 1.0 10 0 0 0 0 0 0 -") or ()
    assert event.count == 10 and event.bins is None
    program.read_line("ibench-done -")
    (event, *_) = program.read_line("ibench-total 1.5 1.5 14 0 0 0 0 0") or ()
    assert event.count == 4 and event.bins is None


def test_a_rate_makes_response_times_of_the_moment_at_which_an_event_was_due() -> None:
    program = made(2, tests=[{"test": "oltp_read_only", "rate": 50}])
    assert "--rate=50" in program.argv
    (event, *_) = program.read_line("ibench-interval 1.0 1.0 1 0 0 0 0 0 0 400:1") or ()
    assert event.intended


@pytest.mark.parametrize(
    ("done", "waiting", "limited"), [(1000, 0, False), (600, 400, False), (900, 0, False), (600, 0, True)]
)
def test_a_generator_that_is_late_is_a_limit_of_the_client(done: int, waiting: int, limited: bool) -> None:
    """1,000 are due. Whether they are done or wait is the server's business; 100 fewer may be chance."""
    program = made(2, tests=[{"test": "oltp_read_only", "rate": 1000}])
    assert program.limits() == ()
    program.read_line(f"ibench-interval 1.0 1.0 {done} 0 0 0 0 0 {waiting} 400:{done}")
    ((share, why),) = program.limits()
    assert (share >= 1) is limited
    assert f"{done + waiting:,} of 1,000 transactions" in why
    assert made(2).limits() == ()


@pytest.mark.parametrize("line", ["ibench-interval", "ibench-interval 1 1 1", "ibench-total a b 1 2 3 4", "FATAL: no"])
def test_lines_that_are_damaged_or_bad_news_are_not_read(line: str) -> None:
    assert made(2).read_line(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "ibench-interval x 1.0 1 0 0 0 0 0 0 1:1", "ibench-interval 1.0 1.0 1 0 0 0 0 0 0 1:-1", "ibench-done 1024:1",
        "ibench-done 1;2",
    ],
)  # fmt: skip
def test_lines_with_impossible_figures_end_it(line: str) -> None:
    with pytest.raises(Unreadable):
        made(2).read_line(line)


def test_a_script_of_ours_is_found_with_its_options_and_rows() -> None:
    program = made(2, tests=[{"test": "points-notcovered-si", "options": {"random-points": 7}}])
    script = Path(program.environment["SYSBENCH_TEST_FILE"])
    assert script.is_file() and program.environment["SYSBENCH_TEST_FOLDER"] == "/tests"
    assert {"--random-points=7", "--key=k", "--columns=k,c", "--table-size=1000"} <= {*program.argv}
    program = made(2, tests=["update-one"])
    assert program.environment["SYSBENCH_TEST_FILE"] == "/tests/oltp_update_non_index.lua"
    assert "--table-size=1" in program.argv and "--tables=2" in program.argv


def test_what_it_prints_for_people_says_nothing() -> None:
    assert [made(2).read_line(line) for line in ("sysbench 1.0.20", "", "Threads started!")] == [(), (), ()]


def test_a_run_without_a_total_is_no_result_and_a_preparation_has_its_rows() -> None:
    with pytest.raises(Unreadable, match="it has not printed its total"):
        made(2).finish(1.0)
    (rows,) = made(0).finish(2.5)
    assert (rows.operation, rows.count, rows.end_s, rows.by_second) == ("row", 2000, 2.5, False)


def test_the_password_is_on_no_command_line() -> None:
    program = made(2, tests=[{"test": "oltp_read_only", "options": {"range-size": 10, "skip-trx": True}}])
    assert not any("secret" in word for word in [*program.argv, *program.environment.values()])
    (config,) = (word.removeprefix("--config-file=") for word in program.argv if word.startswith("--config-file="))
    assert stat.S_IMODE(os.stat(config).st_mode) == 0o600 and os.readlink(config).startswith("/memfd:")
    text = Path(config).read_text()
    assert text == "mysql-user=u\nmysql-password=secret\nmysql-db=d\nmysql-socket=/tmp/s\n"
    assert {"--range-size=10", "--skip-trx=on", "--threads=1", "--time=10", "--tables=2", "--table-size=1000"} <= {
        *program.argv
    }
    remote = made(2, Target(database="d", user="u", family="mysql", host="h", port=3307, password="secret"))
    (config,) = (word.removeprefix("--config-file=") for word in remote.argv if word.startswith("--config-file="))
    assert Path(config).read_text().endswith("mysql-host=h\nmysql-port=3307\n")


def test_a_password_cannot_become_an_option_of_its_own() -> None:
    odd = Target(database="d", user="u", family="mysql", socket="/tmp/s", password="secret\nmysql-db=other")
    with pytest.raises(CannotDrive) as caught:
        made(2, odd)
    assert str(caught.value).startswith("mysql-password has a line break") and "secret" not in str(caught.value)


@pytest.mark.parametrize("number", [0, 2], ids=["prepare", "test"])
def test_a_server_that_is_reached_by_tls_is_never_spoken_to_in_the_clear(number: int) -> None:
    remote = Target(database="d", user="u", family="mysql", host="db.example.com", port=3306, certificate="/etc/ca.pem")
    with pytest.raises(CannotDrive, match="the server is reached by TLS"):
        made(number, remote)


def test_the_tables_are_of_the_engine_that_is_asked_for() -> None:
    assert "--mysql-storage-engine=rocksdb" in made(0, engine="rocksdb").argv
    assert "--mysql-storage-engine=innodb" in made(0).argv
    assert "--db-driver=mysql" in made(0).argv


def test_a_bin_becomes_the_one_that_holds_its_middle() -> None:
    for number in range(1024):
        us = math.exp(number * math.log(1e8) / 1023)
        assert lower_edge_us(bin_of(number)) <= us < lower_edge_us(bin_of(number) + 1) or us < 1 + 1e-9


PLANTED = ("ffi", "bit", "jit", "string", "oltp_common", "sysbench", "sysbench/cmdline", "sysbench/rand")


@pytest.mark.parametrize("ours", [True, False])
def test_no_lua_of_the_current_folder_runs(sysbench: str, tmp_path: Path, ours: bool) -> None:
    """LuaJIT looks for modules in the current folder first: next to an experiment that came from elsewhere."""
    ran = tmp_path / "ran"
    for name in PLANTED:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.lua").write_text(f"io.open({str(ran)!r}, 'a'):write('{name} ')")
    bundled = program.folder_of_tests(sysbench)
    test = OURS / "range_select.lua" if ours else bundled / "oltp_read_write.lua"
    environment = {**os.environ, "SYSBENCH_TEST_FILE": str(test), "SYSBENCH_TEST_FOLDER": str(bundled)}
    options = ["--mysql-socket=/nowhere/s", "--time=1", "run"]

    def said(script: str) -> str:
        command = [sysbench, script, *options]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        ).stdout

    assert "/nowhere/s" in said(str(client.EVENTS)), "it came as far as the connection"
    assert not ran.exists()
    said("oltp_read_write")
    assert ran.read_text().startswith("oltp_common"), "started without our script it runs what was planted"
