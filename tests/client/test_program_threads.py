"""The busiest thread of a process, by what the kernel counts of it."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ibench_lib.client import program_threads
from ibench_lib.client.program_threads import ProgramThreads, children
from tests.waiting import until

TWO = "import threading, time; threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start(); "


def looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *looks: dict[str, float]) -> ProgramThreads:
    """What is found if the threads have used so many seconds of CPU at each look, a second apart."""
    tasks = tmp_path / "1" / "task"
    tasks.mkdir(parents=True)
    threads = ProgramThreads(1, str(tmp_path))
    now = [0.0]
    monkeypatch.setattr(program_threads.time, "monotonic", lambda: now[0])
    for at, look in enumerate(looks):
        now[0] = float(at)
        for ended in set(os.listdir(tasks)) - look.keys():
            shutil.rmtree(tasks / ended)
        for name, seconds in look.items():
            (tasks / name).mkdir(exist_ok=True)
            (tasks / name / "schedstat").write_text(f"{round(seconds * 1e9)} 0 1\n")
        threads.look()
    return threads


def test_the_busiest_thread_counts_from_its_own_first_look(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    threads = looked_at(monkeypatch, tmp_path, {"1": 5.0}, {"1": 5.1, "2": 0.0}, {"1": 5.2, "2": 0.9}, {"2": 1.6})
    assert threads.busiest == pytest.approx(0.8), "thread 2: 1.6 s in two; what thread 1 had used before is not counted"


def test_a_thread_that_was_seen_for_a_moment_does_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    looks: list[dict[str, float]] = [{"1": 0.0, "2": 0.0}, {"1": 0.1, "2": 1.0}, {"1": 0.2}, {"1": 0.3}]
    assert looked_at(monkeypatch, tmp_path, *looks).busiest == pytest.approx(0.1)


def test_less_than_a_second_or_no_file_says_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert looked_at(monkeypatch, tmp_path, {"1": 0.0}).busiest is None
    monkeypatch.undo()
    gone = ProgramThreads(1, str(tmp_path / "none"))
    gone.look()
    assert gone.busiest is None


@pytest.mark.slow
def test_a_thread_that_runs_is_seen_next_to_one_that_sleeps() -> None:
    process = subprocess.Popen([sys.executable, "-c", TWO + "time.sleep(60)"])
    try:
        threads = ProgramThreads(process.pid)

        def seen() -> bool:
            threads.look()
            return (threads.busiest or 0) > 0.05

        until(seen, "a thread that runs all the time is busy")
        asleep = [first for thread, first in threads._first.items() if threads._last[thread][1] - first[1] < 1e9]
        assert len(asleep) >= 1 and len(os.listdir(f"/proc/{process.pid}/task")) == 2
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_what_a_program_has_started_counts_too() -> None:
    """A script is seldom busy itself."""
    process = subprocess.Popen(["/bin/sh", "-c", f"{sys.executable} -c 'while True: pass'; true"])
    try:
        threads = ProgramThreads(process.pid)

        def seen() -> bool:
            threads.look()
            return (threads.busiest or 0) > 0.05

        until(seen, "the program that the script has started is busy")
    finally:
        for pid in children(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.wait()
