import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ibench_lib.capture.options import CaptureOptions, Profile
from ibench_lib.capture.profile import PerfProfile, _cpu_between, folded, lost_samples
from ibench_lib.capture.session import Capture
from tests.capture.scenes import Sink, scene
from tests.faults import survivors
from tests.waiting import until

SCRIPT = """mariadbd  4321 cpu-clock:u: 
\t          101978 buf_page_get_gen(page_id_t, unsigned long) (/x/mariadbd)
\t    7f54e2cd6a80 row_ins (/x/mariadbd)
\t    7f54e3456240 [unknown] (/usr/lib/a b/libc.so.6)

mariadbd  PERF_RECORD_LOST lost 12

ib_log writer  4321 cycles: 
\t          1af1e3 fsync ([kernel.kallsyms])

mariadbd  4322 cpu-clock: 
\t          101978 buf_page_get_gen(page_id_t, unsigned long) (/x/mariadbd)
\t    7f54e2cd6a80 row_ins (/x/mariadbd (deleted))
\t    7f54e3456240 [unknown] (/usr/lib/a b/libc.so.6)

mariadbd  4322 cpu-clock: 
\t    7f54e3456240 [unknown] ([unknown])

mariadbd  PERF_RECORD_LOST_SAMPLES lost 3

idle 1 4321 cpu-clock: 
"""  # noqa: W291  (as perf writes it)
OPTIONS = CaptureOptions(profile=Profile(seconds=1, every_s=2, frequency=199))
SPIN = "import time\nend = time.monotonic() + 90\nwhile time.monotonic() < end: pass"


def test_stacks_are_folded_from_the_outermost_in() -> None:
    assert folded(SCRIPT.splitlines()) == {
        "mariadbd;[unknown] (libc.so.6);row_ins;buf_page_get_gen(page_id_t, unsigned long)": 2,
        "ib_log writer;fsync": 1,
        "mariadbd;[unknown]": 1,
        "idle 1": 1,
    }


def test_processes_are_called_by_what_they_do() -> None:
    """perf calls all processes of one program alike."""
    assert folded(SCRIPT.splitlines(), {4322: "checkpointer"}) == {
        "mariadbd;[unknown] (libc.so.6);row_ins;buf_page_get_gen(page_id_t, unsigned long)": 1,
        "checkpointer;[unknown] (libc.so.6);row_ins;buf_page_get_gen(page_id_t, unsigned long)": 1,
        "ib_log writer;fsync": 1,
        "checkpointer;[unknown]": 1,
        "idle 1": 1,
    }


def stat_of(pid: int, own: int, ended: int) -> str:
    """A /proc/<pid>/stat with ticks of the process, and of its children that have ended."""
    return f"{pid} (a (b) c) S {' '.join(['0'] * 10)} {own} 0 {ended} 0 20 0 1"


@pytest.mark.parametrize(
    ("before", "after", "ticks"),
    [
        ([stat_of(7, 100, 0)], [stat_of(7, 150, 0)], 50),
        # A child goes on, one ends and has its time in its parent's, and one is new.
        (
            [stat_of(7, 100, 10), stat_of(8, 20, 0), stat_of(9, 30, 0)],
            [stat_of(7, 101, 45), stat_of(8, 60, 0), stat_of(10, 5, 0)],
            1 + 40 + 5 + 5,
        ),
        ([stat_of(7, 100, 0)], [], None),
        ([stat_of(7, 100, 0), stat_of(8, 20, 0)], [stat_of(8, 25, 0)], None),
    ],
    ids=["one process", "several", "it has ended", "its first process has ended"],
)
def test_cpu_time_is_that_of_all_processes(before: list[str], after: list[str], ticks: int | None) -> None:
    said = "\n".join([*before, ".", "[ perf record: woken up ]", *after, "."])
    found = _cpu_between(said)
    assert found == (None if ticks is None else pytest.approx(ticks / os.sysconf("SC_CLK_TCK")))


def test_a_recording_that_was_cut_short_tells_no_cpu_time() -> None:
    assert _cpu_between(stat_of(7, 100, 0) + "\n.\n") is None


def test_lost_samples_are_counted() -> None:
    assert lost_samples(SCRIPT.splitlines()) == 15


@pytest.mark.registries  # perf is a package that `.ci/run` brings: without it this test fails
def test_a_spinning_process_is_profiled_and_perf_ends_with_the_run(tmp_path: Path) -> None:
    spinner = subprocess.Popen([sys.executable, "-S", "-c", SPIN])
    sink = Sink()
    try:
        with Capture(scene(tmp_path, pid=lambda: spinner.pid, options=OPTIONS), sink, [PerfProfile]) as capture:

            def second_recording() -> list[psutil.Process]:
                if not capture.reports()[0].samples:
                    return []
                return [child for child in psutil.Process().children(recursive=True) if child.name() == "perf"]

            # The end of the run then cuts it short.
            seen = until(second_recording, "the second recording is at work")
            nice = {child.nice() for child in seen}
        assert nice == {min(19, os.nice(0) + 10)}, "lower than ours"
        assert survivors(seen) == []
    finally:
        spinner.kill()
        spinner.wait()
    stacks = sink["profile_stacks"]
    (tick,) = {row["tick"] for row in stacks}
    assert tick % 2 == 0
    assert {row["event"] for row in stacks} in ({"cycles"}, {"cpu-clock"})
    assert {row["seconds"] for row in stacks} == {1.0}
    samples = sum(row["samples"] for row in stacks)
    assert 50 < samples < 300, "up to 199, on a shared machine fewer"
    ((frequency, lost, cpu_s),) = {(row["frequency"], row["lost"], row["cpu_s"]) for row in stacks}
    assert frequency == 199.0
    assert 0.7 < (samples + lost) / frequency / cpu_s < 1.3, "CPU time is that of just what was sampled"
    assert all(row["thread_group"].startswith("python") for row in stacks)
    assert all(row["stack"].startswith("python") for row in stacks)
    assert len({row["stack"] for row in stacks}) == len(stacks)
    assert list(tmp_path.glob("*.perf")) == []
    (report,) = capture.reports()
    assert report.reason is None
    assert report.cpu_s > 0.02, "perf's own CPU is counted"


FAMILY = """
import os, sys, time
def spin(): # until the test ends it
    end = time.monotonic() + 90
    while time.monotonic() < end: pass
if os.fork() == 0: spin()
print(flush=True)
time.sleep(1.5) # the second child is younger than the first recording
if os.fork() == 0: spin()
time.sleep(90)
"""


@pytest.mark.registries
def test_all_processes_of_a_server_are_profiled_and_those_that_it_starts_meanwhile(tmp_path: Path) -> None:
    options = CaptureOptions(profile=Profile(seconds=2, every_s=3, frequency=199))
    server = subprocess.Popen([sys.executable, "-S", "-c", FAMILY], stdout=subprocess.PIPE, start_new_session=True)
    assert server.stdout is not None
    server.stdout.readline()
    sink = Sink()
    try:
        with Capture(scene(tmp_path, pid=lambda: server.pid, options=options), sink, [PerfProfile]) as capture:
            until(lambda: capture.reports()[0].samples, "a recording has ended")
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    # A recording may be cut short by the end, and on a busy machine it has few samples.
    stacks = sink["profile_stacks"]
    recorded = {(row["tick"], row["lost"], row["cpu_s"]) for row in stacks}
    taken = sum(row["samples"] for row in stacks) + sum(lost for _, lost, _ in recorded)
    assert taken > 0, "its first process sleeps: these are of its children"
    used = sum(cpu_s for _, _, cpu_s in recorded)
    assert 0.5 < taken / 199 / used < 2, "CPU time is that of just what was sampled"


def test_without_perf_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with Capture(scene(tmp_path, pid=os.getpid, options=OPTIONS), Sink(), [PerfProfile]) as capture:
        pass
    assert capture.null_reasons() == {"profile_stacks": "there is no perf: install the Debian package linux-perf"}


def test_where_perf_is_refused_the_reason_is_perfs_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bin" / "perf"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'Error:' >&2\necho 'No permission to enable cycles event.' >&2\nexit 255\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    with Capture(scene(tmp_path, pid=os.getpid, options=OPTIONS), Sink(), [PerfProfile]) as capture:
        until(capture.null_reasons, "perf has refused")
    reason = capture.null_reasons()["profile_stacks"]
    assert "No permission to enable cycles event" in reason and "perf_event_paranoid" in reason


def test_a_server_that_used_no_cpu_is_told_from_one_that_was_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin" / "perf"
    fake.parent.mkdir()
    # It writes its file, prints nothing, and the file has no sample.
    fake.write_text('#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" = -o ] && : > "$2"; shift; done\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    with Capture(scene(tmp_path, pid=os.getpid, options=OPTIONS), Sink(), [PerfProfile]) as capture:
        until(lambda: capture.reports()[0].samples, "a recording has ended")
    assert capture.null_reasons() == {
        "profile_stacks": "perf took no sample: the server used next to no CPU while it recorded"
    }


def test_a_remote_server_is_not_profiled(tmp_path: Path) -> None:
    with Capture(scene(tmp_path, options=OPTIONS), Sink(), [PerfProfile]) as capture:
        pass
    (reason,) = capture.null_reasons().values()
    assert reason in (
        "the server is remote: perf samples processes of this host",
        "there is no perf: install the Debian package linux-perf",
    )
