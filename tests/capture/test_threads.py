"""The server's threads by name: what they used and how long they waited for a CPU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.capture import threads
from ibench_lib.capture.collector import Unavailable
from ibench_lib.capture.threads import Threads, group
from tests.capture.scenes import scene
from tests.waiting import until


def sampled(collector: Threads, emitted: list[tuple[str, dict[str, Any]]], tick: int) -> dict[str, dict[str, Any]]:
    emitted.clear()
    collector.sample(tick, time.monotonic)
    return {row["name"]: row for _, row in emitted}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("ib_pg_flush-1\n", "ib_pg_flush"), ("connection", "connection"), ("ib_io_wr-12", "ib_io_wr"), ("42", "42")],
)
def test_threads_that_differ_in_a_number_share_a_name(name: str, expected: str) -> None:
    assert group(name) == expected


def test_cpu_is_that_of_the_named_threads_since_the_last_sample(tmp_path: Path) -> None:
    emitted: list[tuple[str, dict[str, Any]]] = []
    collector = Threads(
        scene(tmp_path, pid=os.getpid, datadir=tmp_path), lambda table, **columns: emitted.append((table, columns))
    )
    collector.open()
    assert sampled(collector, emitted, 1) == {}, "what was used before the first look is in no interval"
    stop, begun = threading.Event(), threading.Event()

    def burn() -> None:
        Path("/proc/thread-self/comm").write_text("burner-7")
        begun.set()
        while not stop.is_set():
            sum(range(1000))

    thread = threading.Thread(target=burn)
    thread.start()
    try:
        begun.wait()
        first = sampled(collector, emitted, 2)
        used = time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0))
        while time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0)) < used + 0.3:
            time.sleep(0.01)
        rows = sampled(collector, emitted, 3)
    finally:
        stop.set()
        thread.join()
    assert "" in first and rows["burner"]["threads"] == 1
    assert 0.2 < rows["burner"]["cpu_s"] <= rows[""]["cpu_s"]
    assert rows[""]["threads"] >= 2 and rows["burner"]["queued_s"] >= 0 and rows["burner"]["seconds"] > 0


def test_the_processes_of_a_server_are_called_by_what_they_do(tmp_path: Path) -> None:
    program = "exec -a 'postgres: checkpointer ' sh -c 'while :; do :; done' & sleep 60 & echo; wait"
    server = subprocess.Popen(["bash", "-c", program], stdout=subprocess.PIPE, start_new_session=True)
    assert server.stdout is not None
    server.stdout.readline()
    emitted: list[tuple[str, dict[str, Any]]] = []
    collector = Threads(
        scene(tmp_path, pid=lambda: server.pid, datadir=tmp_path),
        lambda table, **columns: emitted.append((table, columns)),
    )
    collector.open()
    try:
        rows = until(
            lambda: any(name.startswith("checkpointer") for name in sampled(collector, emitted, 1)) and emitted,
            "its child is at work, under its own title",
        )
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    assert "sh" not in {row["name"] for _, row in rows}, "which is the program's name"


def test_another_process_begins_anew_and_none_is_a_missed_sample(tmp_path: Path) -> None:
    pid: list[int | None] = [os.getpid()]
    emitted: list[tuple[str, dict[str, Any]]] = []
    collector = Threads(
        scene(tmp_path, pid=lambda: pid[0], datadir=tmp_path), lambda table, **columns: emitted.append((table, columns))
    )
    collector.open()
    sampled(collector, emitted, 1)
    pid[0] = os.getppid()
    assert sampled(collector, emitted, 2) == {}
    pid[0] = None
    with pytest.raises(ProcessLookupError, match="the server has no process now"):
        collector.sample(3, time.monotonic)


def test_a_remote_server_has_none(tmp_path: Path) -> None:
    collector = Threads(scene(tmp_path, datadir=None), lambda table, **columns: None)
    with pytest.raises(Unavailable, match="its threads are on another host"):
        collector.open()
    assert threads.LEAST_NS == 1_000_000


def test_threads_of_the_processes_that_a_server_has_started_are_its_own(tmp_path: Path) -> None:
    emitted: list[tuple[str, dict[str, Any]]] = []
    program = "import os, time; os.fork(); print(flush=True); time.sleep(600)"
    server = subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE, start_new_session=True)
    assert server.stdout is not None
    server.stdout.readline()
    server.stdout.readline()
    collector = Threads(
        scene(tmp_path, pid=lambda: server.pid, datadir=tmp_path),
        lambda table, **columns: emitted.append((table, columns)),
    )
    collector.open()
    try:
        sampled(collector, emitted, 1)
        assert sampled(collector, emitted, 2)[""]["threads"] == 2
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
