import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ibench_lib.capture.options import CaptureOptions, Profile
from ibench_lib.capture.profile import PerfProfile, folded, lost_samples
from ibench_lib.capture.session import Capture
from tests.capture.scenes import Sink, scene
from tests.faults import survivors
from tests.waiting import until

SCRIPT = """mariadbd cpu-clock:u: 
\t          101978 buf_page_get_gen(page_id_t, unsigned long) (/x/mariadbd)
\t    7f54e2cd6a80 row_ins (/x/mariadbd)
\t    7f54e3456240 [unknown] (/usr/lib/a b/libc.so.6)

mariadbd  PERF_RECORD_LOST lost 12

ib_log writer cycles: 
\t          1af1e3 fsync ([kernel.kallsyms])

mariadbd cpu-clock: 
\t          101978 buf_page_get_gen(page_id_t, unsigned long) (/x/mariadbd)
\t    7f54e2cd6a80 row_ins (/x/mariadbd (deleted))
\t    7f54e3456240 [unknown] (/usr/lib/a b/libc.so.6)

mariadbd cpu-clock: 
\t    7f54e3456240 [unknown] ([unknown])

mariadbd  PERF_RECORD_LOST_SAMPLES lost 3

idle cpu-clock: 
"""  # noqa: W291  (as perf writes it)
OPTIONS = CaptureOptions(profile=Profile(seconds=1, every_s=2, frequency=199))
SPIN = "import time\nend = time.monotonic() + 90\nwhile time.monotonic() < end: pass"


def test_stacks_are_folded_from_the_outermost_in() -> None:
    assert folded(SCRIPT.splitlines()) == {
        "mariadbd;[unknown] (libc.so.6);row_ins;buf_page_get_gen(page_id_t, unsigned long)": 2,
        "ib_log writer;fsync": 1,
        "mariadbd;[unknown]": 1,
        "idle": 1,
    }


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
