"""Instructions and cycles by `perf stat`: its format, and a perf that plays a script where no processor counts."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.capture.perf_counters import PerfCounters, counted, interval
from ibench_lib.capture.proc import children_of
from ibench_lib.capture.session import Capture
from tests.capture.scenes import Sink, scene
from tests.waiting import until

# As perf 6.1 writes it; the fields after the share are a metric that it derives.
REAL = """# started on Sun Nov 22 23:00:00 2026

     1.001046120,2417884190,,instructions,998301250,80.04,1.21,insn per cycle
     1.001046120,1998231022,,cycles,1247103000,100.00,,
     1.001046120,4310021,,cache-misses,1247103000,60.03,12.50,of all cache refs
     1.001046120,120311,,dTLB-load-misses,748301250,60.01,,
     1.001046120,1247.10,msec,task-clock,1247103000,100.00,1.246,CPUs utilized
     2.002240101,<not counted>,,instructions,0,0.00,,
     2.002240101,<not counted>,,cycles,0,0.00,,
     2.002240101,<not counted>,,cache-misses,0,0.00,,
     2.002240101,<not supported>,,dTLB-load-misses,0,100.00,,
     2.002240101,<not counted>,msec,task-clock,0,100.00,,
     3.003300000,17,,instructions:u,10,100.00,,
     3.003300000,34,,cycles,10,25.00,,
     3.003300000,<not counted>,,cache-misses,0,0.00,,
     3.003300000,0.02,msec,task-clock,20000,100.00,,
     4.00,cut off in the middle
"""


def rows(text: str) -> list[dict[str, Any]]:
    by_time: dict[float, dict[str, Any]] = {}
    for one in counted(text.splitlines()):
        by_time.setdefault(one.at_s, {})[one.event] = one
    return [interval(events, 100 + at_s, 1.0) for at_s, events in by_time.items()]


def test_the_format_of_perf_is_read() -> None:
    first, idle, last = rows(REAL)
    assert first == {
        "tick": 101, "t_s": pytest.approx(101.00104612), "seconds": 1.0, "instructions": 2417884190,
        "cycles": 1998231022, "cache_misses": 4310021, "tlb_misses": 120311, "cpu_s": pytest.approx(1.2471),
        "running": pytest.approx(0.6001),
    }  # fmt: skip
    # Nothing ran, so nothing was counted: that is none, but not of what the machine cannot count.
    assert (idle["instructions"], idle["cycles"], idle["cpu_s"]) == (0, 0, 0)
    assert idle["tlb_misses"] is None and idle["running"] is None
    # One that had no turn on the processor's counters is unknown, not none.
    assert (last["instructions"], last["cycles"], last["cache_misses"]) == (17, 34, None)
    assert last["running"] == 0.25


FAKE = """#!/bin/sh
case "$*" in
*sleep*) printf '%b' "{probe}" >&2; exit {status} ;;
esac
n=1
while [ $n -lt 60 ]; do
  sleep 0.1
  printf '     %d.0,%d,,instructions,1,100.00,,\\n     %d.0,%d,,cycles,1,50.00,,\\n     %d.0,<not supported>,,cache-misses,0,100.00,,\\n     %d.0,500.0,msec,task-clock,1,100.00,,\\n' $n 3000 $n 2000 $n $n >&2
  n=$((n + 1))
done
"""  # noqa: E501
COUNTS = "3000,,instructions,1,100.00,,\\n2000,,cycles,1,50.00,,\\n<not supported>,,cache-misses,0,100.00,,\\n"
NOTHING = (
    "<not supported>,,instructions,0,100.00,,\\n<not supported>,,cycles,0,100.00,,\\n5,msec,task-clock,1,100.00,,\\n"
)


def play(folder: Path, monkeypatch: pytest.MonkeyPatch, probe: str, status: int = 0) -> None:
    """A perf that says `probe` when it is tried, and then counts 3,000 instructions in each second."""
    fake = folder / "bin" / "perf"
    fake.parent.mkdir()
    fake.write_text(FAKE.format(probe=probe, status=status))
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")


@pytest.mark.slow
def test_what_perf_says_each_second_becomes_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(tmp_path, monkeypatch, COUNTS)
    sink = Sink()
    with Capture(scene(tmp_path, pid=os.getpid), sink, [PerfCounters]) as capture:
        found = until(lambda: sink["perf_counters"][2:], "perf has said something")
    assert {(row["instructions"], row["cycles"], row["cache_misses"], row["cpu_s"]) for row in found} == {
        (3000, 2000, None, 0.5)
    }
    assert {row["seconds"] for row in found} == {1.0} and {row["running"] for row in found} == {0.5}
    assert capture.null_reasons()["perf_counters.cache_misses"].startswith("this machine does not count cache-misses")
    assert len({row["t_s"] for row in sink["perf_counters"]}) == len(sink["perf_counters"])
    assert len({row["tick"] for row in sink["perf_counters"]}) == len(sink["perf_counters"]), "ticks are a key"


@pytest.mark.slow
def test_perf_is_started_again_for_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(tmp_path, monkeypatch, COUNTS)
    others = [subprocess.Popen(["sleep", "60"]) for _ in range(2)]
    sink, now = Sink(), [others[0].pid]
    try:
        with Capture(scene(tmp_path, pid=lambda: now[0]), sink, [PerfCounters]):
            until(lambda: sink["perf_counters"], "the first process is counted")
            before = len(sink["perf_counters"])
            now[0] = others[1].pid
            until(lambda: len(sink["perf_counters"]) > before, "the second one is counted")
    finally:
        for process in others:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_the_children_of_a_server_count_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(tmp_path, monkeypatch, COUNTS)
    perf = tmp_path / "bin" / "perf"
    perf.write_text(perf.read_text().replace("#!/bin/sh\n", f'#!/bin/sh\necho "$*" >>{tmp_path}/asked\n'))
    server = subprocess.Popen(["sh", "-c", "sleep 60 & echo; wait"], stdout=subprocess.PIPE, start_new_session=True)
    assert server.stdout is not None
    server.stdout.readline()
    try:
        (child,) = children_of(server.pid)
        sink = Sink()
        with Capture(scene(tmp_path, pid=lambda: server.pid), sink, [PerfCounters]):
            until(lambda: sink["perf_counters"], "they are counted")
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    tried, counting = (tmp_path / "asked").read_text().splitlines()[:2]
    assert f"-p {server.pid},{child} " in f"{tried} " and f"-p {server.pid},{child} " in f"{counting} "


@pytest.mark.parametrize(
    ("probe", "status", "reason"),
    [
        (NOTHING, 0, "this machine counts neither instructions nor cycles (perf: <not supported>)"),
        (
            "Error:\\nAccess to performance monitoring is limited.\\n",
            255,
            "perf is not permitted to count the server's process: Access",
        ),
    ],
)
def test_the_reason_is_told_where_nothing_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, probe: str, status: int, reason: str
) -> None:
    play(tmp_path, monkeypatch, probe, status)
    with Capture(scene(tmp_path, pid=os.getpid), Sink(), [PerfCounters]) as capture:
        until(capture.null_reasons, "perf was tried")
    assert capture.null_reasons()["perf_counters"].startswith(reason)


def test_without_perf_or_with_a_remote_server_the_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Capture(scene(tmp_path), Sink(), [PerfCounters]) as capture:
        until(capture.null_reasons, "it was looked for")
    assert "remote" in capture.null_reasons()["perf_counters"] or "no perf" in capture.null_reasons()["perf_counters"]
    monkeypatch.setenv("PATH", str(tmp_path))
    with Capture(scene(tmp_path, pid=os.getpid), Sink(), [PerfCounters]) as capture:
        until(capture.null_reasons, "it was looked for")
    assert capture.null_reasons()["perf_counters"] == "there is no perf: install the Debian package linux-perf"
