"""A command that runs: what it is given, and what is said of one that misbehaves."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.base.python_process import python_module, python_path
from ibench_lib.client import external
from ibench_lib.client.external import CannotDrive, RunningProgram, Target
from ibench_lib.workloads.command import steps
from ibench_lib.workloads.command.client import Command
from ibench_lib.workloads.command.options import Options, Setup
from tests.waiting import until
from tests.workloads.command.test_options import options

TARGET = Target(database="b", user="u", socket="/s", password='p"w\n', option_file="/o")
SETUP = Setup(name="s", seconds=1.0)


def details(chosen: Options, number: int = 0) -> Any:
    step = steps.plan(chosen, SETUP, 1.0)[number]
    return steps.spec(chosen, step, steps.workers(chosen, step)[0], number)


def shell(script: str, **given: Any) -> Options:
    described = given or {"lines": {"columns": {"time": 1, "count": 2}}}
    return options({"name": "x", "argv": ["/bin/sh", "-c", script], **described})


def ran(chosen: Options, target: Target = TARGET) -> tuple[RunningProgram, list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    spec = details(chosen)
    driven = RunningProgram(Command(spec, target), spec.operations[0], rows.append, target.password)
    driven.run(time.monotonic_ns() - 5_000_000_000, spec.seconds)  # its lines are of seconds that are over
    return driven, rows


def test_arguments_are_filled_and_no_shell_reads_them() -> None:
    chosen = options(
        {
            "name": "x",
            "argv": ["p", "{socket}", "{user} $(id)", "{option_file}", "{{x}}", "{python}"],
            "total": "(?P<count>1)",
        }
    )
    assert Command(details(chosen), TARGET).argv == ["p", "/s", "u $(id)", "/o", "{x}", sys.executable]


def test_a_private_file_has_the_password_and_only_this_user_can_read_it() -> None:
    chosen = options(
        {"name": "x", "argv": ["p", "--config={login}"], "total": "(?P<count>1)"},
        private_files={"login": "user={user}\npassword={password}\nbraces={{user}}\n", "unused": "{password}"},
    )
    program = Command(details(chosen), TARGET)
    path = Path(program.argv[1].removeprefix("--config="))
    assert path.read_text() == 'user=u\npassword=p"w\n\nbraces={user}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and os.readlink(path).startswith("/memfd:")
    assert not any('p"w' in argument for argument in program.argv)


def test_a_placeholder_that_the_server_has_not_is_one_line() -> None:
    chosen = options({"name": "x", "argv": ["p", "{socket}"], "total": "(?P<count>1)"})
    with pytest.raises(CannotDrive, match=r"^\{socket\}: this server is reached by TCP$"):
        Command(details(chosen), Target(database="b", user="u", host="h", port=1))


def test_a_script_that_has_changed_since_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.sh"
    path.write_text("echo 1 5")
    chosen = options(
        {"name": "x", "argv": ["/bin/sh", "{x}"], "lines": {"columns": {"time": 1, "count": 2}}}, scripts={"x": "x.sh"}
    ).with_files({"x.sh": path})
    assert ran(chosen)[0].seconds.ops == 5
    path.write_text("echo 1 6")
    with pytest.raises(CannotDrive, match=r"^script x has changed since the experiment was started$"):
        ran(chosen)
    path.unlink()
    with pytest.raises(CannotDrive, match=r"^script x cannot be read: "):
        ran(chosen)


def test_a_whole_run_counts_its_amount_or_the_total_that_it_prints() -> None:
    whole = options({"name": "x", "argv": ["/bin/sh", "-c", "echo {amount}"], "amount": 700})
    driven, rows = ran(whole)
    assert (driven.error, driven.seconds.ops, rows) == (None, 700, []) and driven.seconds.end_s > 5
    driven, rows = ran(shell("echo a; echo 'total: 41 ops'; echo 'total: 42 ops'", total=r"total: (?P<count>\d+)"))
    assert (driven.error, driven.seconds.ops, rows) == (None, 42, [])
    assert driven.warnings(None) == [], "other lines are none of its business"


LINES = "echo 1 10; echo 2 20;"


@pytest.mark.parametrize(
    ("script", "described", "said"),
    [
        ("exit 0", {}, r"it ended after .* s and printed nothing"),
        (f"{LINES} echo lost >&2; exit 3", {}, r"exit 3 after \d+\.\d s: 'lost'"),
        ("echo hello", {}, "none of its 1 lines says anything of an interval; the first: 'hello'"),
        ("echo hello", {"total": r"n=(?P<count>\d+)"}, "what it has done as a whole: no line that it printed has the"
         " total"),
        ("echo n=1.5", {"total": r"n=(?P<count>.*)"}, r"line 1: its total is no whole number: '1.5': 'n=1.5'"),
        ("exit 4", {"total": r"n=(?P<count>\d+)"}, r"exit 4 after \d+\.\d s"),
        (f"{LINES} echo 'p\"w' >&2; exit 1", {}, r"exit 1 after .* s: '\*\*\*'"),
        (f"{LINES} echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!; sleep 60",
         {"lines": {"pattern": r"^(?P<time>\d+) (?P<count>\d+)$|^(a+)+$"}},
         r"line 3: the pattern takes more than 0\.2 s of CPU for it: make it simpler: 'a+!'"),
        (f"{LINES} sleep 60", {"lines": {"columns": {"time": 1, "count": 2}}, "at_most_s": 6.0},
         "it did not end: after 6 s it was still running, so it was killed"),
    ],
)  # fmt: skip
def test_a_command_that_misbehaves_is_named_in_one_line(script: str, described: dict[str, Any], said: str) -> None:
    driven, rows = ran(shell(script, **described), Target(database="b", user="u", socket="/s", password='p"w'))
    error = driven.error or ""
    assert re.fullmatch(said, error), error
    if script.startswith(LINES):
        assert sum(row["ops"] for row in rows) == 30, "captured seconds are kept"


def test_a_flood_is_ended_and_captured_seconds_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "MOST_BYTES", 4 << 20)
    driven, rows = ran(shell(f"{LINES} exec yes no interval"))
    assert driven.error == "it printed more than 4 MiB" and sum(row["ops"] for row in rows) == 30


def client_process(script: str) -> tuple[subprocess.Popen[str], list[dict[str, Any]]]:
    """The client's own process, whose command has run to its end, and what it has told the runner."""
    spec = details(shell(script))
    address = {"unix_socket": "/s", "user": "root", "password": "", "ssl_disabled": True}
    process = subprocess.Popen(
        python_module("ibench_lib.client.external"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": python_path()},
    )  # fmt: skip
    assert process.stdin is not None and process.stdout is not None
    told = {"spec": vars(spec), "driver": "ibench_lib.client.mysql.connection", "address": address, "database": "b"}
    for message in (told, {"go": "probe"}, {"go": "make"}, {"start_ns": time.monotonic_ns() - 5 * 10**9}):
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()
    return process, [json.loads(line) for line in process.stdout]


@pytest.mark.slow
def test_what_a_command_leaves_behind_is_ended_and_named(tmp_path: Path) -> None:
    """Also a daemon, which has left its process group and its session."""
    left = tmp_path / "left"
    daemon = f"setsid sh -c 'echo $$ > {left}; exec sleep 600' >/dev/null 2>&1 </dev/null &"
    process, said = client_process(f"{daemon} while ! [ -s {shlex.quote(str(left))} ]; do :; done; {LINES}")
    assert process.wait() == 0
    totals = said[-1]["totals"]
    assert (totals["status"], totals["ops"]) == ("complete", 30)
    assert [text for text in totals["warnings"] if "behind" in text] == [
        "sh: processes that it has left behind were ended: 1"
    ]
    pid = int(left.read_text())
    until(lambda: not Path(f"/proc/{pid}").exists(), "the end of what it has left")


@pytest.mark.slow
def test_a_command_that_is_interrupted_keeps_what_it_said() -> None:
    driven, rows = ran(shell(f"{LINES} kill -INT $$; sleep 60"))
    assert driven.error and driven.error.startswith(f"killed by {signal.SIGINT.name}")
    assert sum(row["ops"] for row in rows) == 30
