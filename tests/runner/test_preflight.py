"""Reasons not to measure on this host now are found and reported; they stop a run only if the experiment is strict."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from ibench_lib.paths import Workspace
from ibench_lib.runner import preflight
from tests.waiting import until

SPIN = "import time\nend = time.monotonic() + 300\nwhile time.monotonic() < end: pass"

LEAVE_ONE = f"""
import subprocess, sys
nothing = subprocess.DEVNULL
print(subprocess.Popen([sys.executable, "-c", {SPIN!r}], stdin=nothing, stdout=nothing, stderr=nothing).pid)
"""


def test_a_busy_process_that_is_not_ours_is_named(workspace: Workspace) -> None:
    # Not a child of this process: those are the runner's own.
    orphan = subprocess.run([sys.executable, "-c", LEAVE_ONE], capture_output=True, text=True, check=True)
    pid = int(orphan.stdout)
    try:
        until(
            lambda: any(f"({pid}), " in warning for warning in preflight.examine([])),
            "the busy process is named",
        )
    finally:
        os.kill(pid, 9)


def test_another_server_is_named_while_it_runs_and_not_once_it_has_ended(workspace: Workspace, tmp_path: Path) -> None:
    server = tmp_path / "mariadbd"
    shutil.copy("/bin/sleep", server)
    # Its parent does not wait for it, so that what has ended is still listed; and is no child of this process.
    keeper = (
        f"import subprocess, time; print(subprocess.Popen([{str(server)!r}, '600']).pid, flush=True); time.sleep(600)"
    )
    leave = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {keeper!r}])"
    left = subprocess.Popen([sys.executable, "-c", leave], stdout=subprocess.PIPE, text=True)
    assert left.stdout is not None
    pid = int(left.stdout.readline())
    parent = psutil.Process(pid).parent()
    assert parent is not None and left.wait() == 0
    try:
        said = f"another database server was running: mariadbd ({pid})"
        assert said in preflight.examine([])
        os.kill(pid, 9)
        until(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE, "the server has ended")
        assert said not in preflight.examine([])
    finally:
        parent.kill()
        left.stdout.close()


def test_too_little_room_is_said_with_both_numbers(workspace: Workspace) -> None:
    found = preflight.examine([(workspace.sandboxes, 10**15)], 10**15)
    assert any("1000000.0 GB is needed" in warning for warning in found)
    assert any("the buffer pool alone needs 1000000.0 GB" in warning for warning in found)


def test_governor_and_clock_source_are_judged(tmp_path: Path) -> None:
    paths = []
    for number, text in enumerate(("performance", "powersave", "powersave")):
        paths.append(tmp_path / str(number))
        paths[-1].write_text(f"{text}\n")
    assert preflight.governor_warnings(paths) == ["CPU governor is powersave, not performance"]
    assert preflight.governor_warnings(paths[:1]) == preflight.governor_warnings([tmp_path / "none"]) == []
    assert preflight.clock_warnings("hpet") == ["clock source is hpet: reading it is slow"]
    assert preflight.clock_warnings("tsc") == preflight.clock_warnings(None) == []


@pytest.mark.parametrize("used", [0, 500_000_000])
def test_swap_in_use_is_said(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, used: int) -> None:
    class Swap:
        def __init__(self) -> None:
            self.used = used

    monkeypatch.setattr("ibench_lib.runner.preflight.psutil.swap_memory", Swap)
    said = [warning for warning in preflight.examine([]) if "swap" in warning]
    assert said == (["500 MB of swap space is in use"] if used else [])
