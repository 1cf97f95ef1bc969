"""Clocks that somebody sets: runner and clients have a wall clock that jumps, or other clocks that differ.

The wall clock is that of a library which is loaded before the C library; the others are those of a time namespace. The
server keeps the true wall clock: MariaDB 10.11 aborts ("Long wait for double-write buffer flush") when it goes back.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from ibench_lib.paths import Workspace
from ibench_lib.runner.events import read_events
from ibench_lib.servers.build import Build
from ibench_lib.store.verify import verify
from tests.command import PROGRAM
from tests.faults import Victim, ended, is_client, is_server
from tests.measurement.real import EXPERIMENT, sealed, table
from tests.places import ROOT
from tests.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.long, pytest.mark.timing]

# How many seconds it is ahead stands in the file that WALL_CLOCK names, while there is one.
WALL_CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// What this process starts has the true clock again, the server above all: one may abort when its clock goes back.
__attribute__((constructor)) static void alone(void) { unsetenv("LD_PRELOAD"); }

static long ahead(void) {
    char text[32] = "";
    int before = errno, file = open(getenv("WALL_CLOCK"), O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
        close(file);
    }
    errno = before;
    return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, now);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += ahead();
    return status;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec wall;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &wall);
    now->tv_sec = wall.tv_sec;
    now->tv_usec = wall.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *where) {
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    if (where) *where = wall.tv_sec;
    return wall.tv_sec;
}
"""
ROWS, SECONDS, RATE = 5_000, 10, 100


@pytest.fixture
def wall_clock(tmp_path: Path) -> tuple[Path, Path]:
    """A Python with that library, whatever its environment says of it, and the file that sets its clock."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    source, library = tmp_path / "wall_clock.c", tmp_path / "wall_clock.so"
    source.write_text(WALL_CLOCK)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    python, ahead = tmp_path / "python", tmp_path / "ahead"
    python.write_text(f'#!/bin/sh\nLD_PRELOAD={library} WALL_CLOCK={ahead} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return python, ahead


def start(workspace: Workspace, *before: str, python: str = sys.executable) -> subprocess.Popen[str]:
    """The command, whose processes are all of this Python."""
    path = workspace.root / "hand.yaml"
    steps = f"l.i0, l.x, qr{RATE}"
    path.write_text(
        "scale: 0.01\n" + EXPERIMENT % {"steps": steps, "rows": ROWS * 100, "seconds": SECONDS * 100, "timeout_s": 30}
    )
    return subprocess.Popen(
        [*before, python, "-c", f"import sys; sys.executable = {python!r}; {PROGRAM}", "run", str(path)],
        cwd=ROOT,
        env={**os.environ, "IBENCH_HOME": str(workspace.root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def check_figures(workspace: Workspace, took_s: float) -> None:
    """All rates and moments are as on any other machine."""
    name = f"qr{RATE}"
    (step,) = table(workspace, "steps", name)
    assert step["status"] == "complete" and step["duration_s"] == pytest.approx(SECONDS, abs=0.5)
    for role in ("inserter", "deleter"):
        workers = [row for row in table(workspace, "workers", name) if row["role"] == role]
        assert [row["rows"] for row in workers] == [RATE * SECONDS] * 2
    assert {row["second"] for row in table(workspace, "ops", name)} <= set(range(SECONDS + 1))
    samples = [row["t_s"] for row in table(workspace, "server_samples")]
    ends = [row["end_s"] for row in table(workspace, "steps")]
    assert samples == sorted(samples) and ends == sorted(ends)
    assert all(0 < moment < took_s for moment in samples + ends)
    (run_dir,) = workspace.runs.iterdir()
    assert verify(run_dir) == []


@pytest.mark.parametrize("hours", [1, -1])
@pytest.mark.measurement("M9")
def test_m9_a_wall_clock_that_jumps_changes_no_figure_and_is_noted(
    build: Build, workspace: Workspace, wall_clock: tuple[Path, Path], hours: int
) -> None:
    python, ahead = wall_clock
    begun_s = time.monotonic()
    process = start(workspace, python=str(python))
    runner = Victim(process.pid)

    def clients() -> list[psutil.Process]:
        return [child for child in runner.family() if is_client(child)]

    paced = until(lambda: found if len(found := clients()) == 6 else [], "inserters, deleters and queriers")
    log = workspace.root / "data" / "events" / "hand.jsonl"

    def under_way() -> bool:
        return any(e["event"] == "step_progress" and e["step"] == f"qr{RATE}" for e in read_events(log)[0])

    until(under_way, "the step has a second")
    for one in (runner.process, *paced):
        assert "wall_clock.so" in Path(f"/proc/{one.pid}/maps").read_text(), "it has this clock"
    (server,) = [child for child in runner.family() if is_server(child)]
    assert "wall_clock.so" not in Path(f"/proc/{server.pid}/maps").read_text(), "it has the true clock"
    assert not any(map(ended, paced)), "in mid-step"
    ahead.write_text(f"{hours * 3600}")
    said, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    check_figures(workspace, time.monotonic() - begun_s)
    (warning,) = [warning for warning in sealed(workspace).warnings if "clock" in warning]
    assert f"{hours * 3600:+d}" in warning


@pytest.mark.measurement("M9")
def test_m9_a_host_whose_other_clocks_differ_makes_the_same_figures(build: Build, workspace: Workspace) -> None:
    """Its monotonic clock and its time since boot, which are those of the machine's tools, are a day ahead."""
    apart = ["unshare", "--time", "--monotonic", "86400", "--boottime", "86400"]
    if subprocess.run([*apart, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no time namespace can be made here")
    begun_s = time.monotonic()
    process = start(workspace, *apart)
    said, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    check_figures(workspace, time.monotonic() - begun_s)
    assert not [warning for warning in sealed(workspace).warnings if "clock" in warning]
