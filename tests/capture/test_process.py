import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.capture.process import Process, io_bytes, is_blocked, resident_bytes, stat_columns, thread_switches
from ibench_lib.capture.session import Capture
from tests.capture.scenes import Sink, clock, scene, until_sampled
from tests.waiting import until

FAMILY = """
import os, time
for n in range(2):
    if os.fork() == 0:
        while time.process_time() < (0.3 if n else 0.6): pass
        if n: os._exit(0)
        time.sleep(60)
os.wait()
print(flush=True)
time.sleep(60)
"""
BURN = "import time\ninput()\nwhile time.process_time() < 5.2: pass\nprint(flush=True)\ninput()"
HERE = Path("/")


def test_proc_pid_stat_with_brackets_in_the_name() -> None:
    text = (
        b"42 (my )sqld (x)) S 1 42 42 0 -1 4194560 100 0 5 0 1234 567 0 0 20 0 31 0 99 8589934592 2048 "
        b"18446744073709551615 1 1 0 0 0 0 0 4096 0\n"
    )
    page = os.sysconf("SC_PAGE_SIZE")
    assert stat_columns(text) == {
        "state": "S",
        "cpu_user_s": 12.34,
        "cpu_system_s": 5.67,
        "resident_bytes": 2048 * page,
        "virtual_bytes": 8 << 30,
        "threads": 31,
    }


def test_proc_pid_io_is_what_storage_sees() -> None:
    text = b"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 5\n"
    assert io_bytes(text) == (4096, 8192)


def test_context_switches_of_a_thread() -> None:
    text = b"Name:\tmysqld\nMems_allowed_list:\t0\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n"
    assert thread_switches(text) == (12, 3)


def test_memory_of_several_processes_counts_what_they_share_once() -> None:
    texts = [b"Name:\tp\nRssAnon:\t100 kB\nRssFile:\t7 kB\nRssShmem:\t%d kB\n" % shared for shared in (5, 900, 20)]
    assert resident_bytes(texts) == (300 + 900) * 1024


def cpu_s(row: dict[str, Any]) -> float:
    return float(row["cpu_user_s"] + row["cpu_system_s"])


@pytest.mark.slow
def test_a_server_of_several_processes_is_their_sum_also_of_those_that_have_ended(tmp_path: Path) -> None:
    sink = Sink()
    family = subprocess.Popen([sys.executable, "-S", "-c", FAMILY], stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert family.stdout is not None
        family.stdout.readline()  # one child has ended, the other one burns or sleeps
        with Capture(scene(tmp_path, pid=lambda: family.pid, datadir=HERE), sink, [Process]):
            until(lambda: any(cpu_s(row) >= 0.85 for row in sink["process_samples"]), "the CPU of both")
    finally:
        os.killpg(family.pid, signal.SIGKILL)
        family.wait()
    (last,) = sink["process_samples"][-1:]
    assert (last["threads"], last["pid"]) == (2, family.pid)
    sums = [cpu_s(row) for row in sink["process_samples"]]
    assert sums == sorted(sums)


def test_a_blocked_thread_is_in_state_d() -> None:
    assert is_blocked(b"Name:\tib_log_writer\nUmask:\t0022\nState:\tD (disk sleep)\nTgid:\t42\n")
    assert not is_blocked(b"Name:\tState:\tD\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t42\n")


# Who makes a child by CLONE_VFORK is in state D until the child ends.
WAITS_IN_D = """
import ctypes, platform, time
clone = {"x86_64": 56, "aarch64": 220}[platform.machine()]
if ctypes.CDLL(None).syscall(clone, 0x4000 | 17, 0, 0, 0, 0) == 0:
    time.sleep(60)
"""


@pytest.mark.slow
def test_blocked_threads_are_counted(tmp_path: Path) -> None:
    sink = Sink()
    waiting = subprocess.Popen([sys.executable, "-S", "-c", WAITS_IN_D], start_new_session=True)
    try:
        until(lambda: "\nState:\tD" in Path(f"/proc/{waiting.pid}/status").read_text(), "it waits for its child")
        with Capture(scene(tmp_path, pid=lambda: waiting.pid, datadir=HERE), sink, [Process]):
            until(lambda: sink["process_samples"], "a sample")
    finally:
        os.killpg(waiting.pid, signal.SIGKILL)
        waiting.wait()
    assert sink["process_samples"][0]["blocked_threads"] == 1


SWELL = """
input()
block = bytearray(64 << 20)
del block
print(flush=True)
input()
"""


@pytest.mark.slow
def test_a_peak_between_two_samples_is_seen_and_belongs_to_its_step(tmp_path: Path) -> None:
    sink = Sink()
    swelling = subprocess.Popen([sys.executable, "-S", "-c", SWELL], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert swelling.stdin is not None and swelling.stdout is not None
    watched = scene(tmp_path, pid=lambda: swelling.pid, datadir=HERE)
    with Capture(watched, sink, [Process]) as capture:
        capture.step_starts(time.monotonic_ns())
        until(lambda: sink["process_samples"], "a sample, so that the counters have been read")
        swelling.stdin.write(b"\n")
        swelling.stdin.flush()
        swelling.stdout.readline()  # it has the memory no more
        capture.step_stops()
        capture.step_counted(0, "l.i0")
        until_sampled(lambda: sink["process_samples"], watched)
        capture.step_starts(time.monotonic_ns())
        capture.step_stops()
        capture.step_counted(1, "l.x")
    swelling.communicate(b"\n")
    if "step_counters.peak_resident_bytes" in capture.null_reasons():
        pytest.skip(capture.null_reasons()["step_counters.peak_resident_bytes"])
    peaks = [row["end_value"] for row in sink["step_counters"] if row["counter"] == "peak_resident_bytes"]
    largest_sample = max(row["resident_bytes"] for row in sink["process_samples"])
    assert peaks[0] > 64 << 20 > largest_sample
    assert peaks[1] < 64 << 20


def test_a_peak_that_may_not_be_reset_is_left_out_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ibench_lib.capture.process._CLEAR_REFS", "/proc/{pid}/no_such_file")
    sink = Sink()
    with Capture(scene(tmp_path, pid=os.getpid, datadir=HERE), sink, [Process]) as capture:
        capture.step_starts(time.monotonic_ns())
        capture.step_stops()
        capture.step_counted(0, "l.i0")
    assert "peak_resident_bytes" not in {row["counter"] for row in sink["step_counters"]}
    reason = capture.null_reasons()["step_counters.peak_resident_bytes"]
    assert reason.endswith("no_such_file: No such file or directory; rss is the largest sample instead")


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.measurement("M11")
@pytest.mark.slow
def test_cpu_is_that_of_rusage_within_two_percent(tmp_path: Path) -> None:
    sink = Sink()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    burner = subprocess.Popen([sys.executable, "-S", "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert burner.stdin is not None and burner.stdout is not None
    watched = scene(tmp_path, pid=lambda: burner.pid, datadir=HERE)
    with Capture(watched, sink, [Process]) as capture:
        until(lambda: sink["process_samples"], "a sample")
        burner.stdin.write(b"\n")
        burner.stdin.flush()
        # It waits for us when it has burnt enough, so that the last sample sees all of it.
        burner.stdout.readline()
        until_sampled(lambda: sink["process_samples"], watched)
    burner.communicate(b"\n")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    burnt = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert burnt >= 5
    cpu_s = [row["cpu_user_s"] + row["cpu_system_s"] for row in sink["process_samples"]]
    assert cpu_s[-1] - cpu_s[0] == pytest.approx(burnt, rel=0.02)
    (report,) = capture.reports()
    assert report.cpu_s / report.samples < 0.005


def test_switches_of_threads_that_have_ended_are_not_lost(tmp_path: Path) -> None:
    sink, watched = Sink(), scene(tmp_path, pid=os.getpid, datadir=HERE)
    collector = Process(watched, sink)
    collector.open()

    def switch() -> None:
        for _ in range(200):
            time.sleep(0.0001)
        counted.wait()
        seen.wait()

    counted, seen = threading.Barrier(5), threading.Event()
    collector.sample(1, clock(watched))
    threads = [threading.Thread(target=switch) for _ in range(4)]
    for thread in threads:
        thread.start()
    counted.wait()
    collector.sample(2, clock(watched))
    seen.set()
    for thread in threads:
        thread.join()
    for tick in (3, 4):
        collector.sample(tick, clock(watched))
    switches = [row["voluntary_switches"] for row in sink["process_samples"]]
    assert switches[1] - switches[0] >= 800
    assert switches == sorted(switches), "what a thread has counted stays when it has ended"


def test_another_pid_is_another_process(tmp_path: Path) -> None:
    sink = Sink()
    one, two = (subprocess.Popen(["sleep", "60"]) for _ in range(2))
    pids = iter([one.pid, two.pid, None])
    watched = scene(tmp_path, pid=lambda: next(pids), datadir=HERE)
    collector = Process(watched, sink)
    collector.open()
    try:
        collector.sample(1, clock(watched))
        collector.sample(2, clock(watched))
        assert [row["pid"] for row in sink["process_samples"]] == [one.pid, two.pid]
        with pytest.raises(ProcessLookupError, match="no process now"):
            collector.sample(3, clock(watched))
    finally:
        for process in (one, two):
            process.kill()
            process.wait()


def test_a_remote_server_has_no_process_here(tmp_path: Path) -> None:
    with Capture(scene(tmp_path), Sink(), [Process]) as capture:
        pass
    assert capture.null_reasons() == {"process_samples": "the server is remote: its process is on another host"}
