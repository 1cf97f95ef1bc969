"""Memory that the kernel refuses by killing: the server, a client, the runner, and the builder of a post."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pymysql
import pytest

from ibench_lib.errors import ServerLost, WorkerFailed
from ibench_lib.paths import Workspace
from ibench_lib.publish.post import build_post
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.servers.build import Build
from ibench_lib.store import reader
from ibench_lib.store.recover import recover_all
from ibench_lib.store.verify import verify
from tests.command import PROGRAM, ibench
from tests.faults import MemoryLimit, Victim, survivors, was_started_with
from tests.measurement.real import HandOn, assert_server_gone, run, sealed, table
from tests.publish.posting import params_file, with_notebook
from tests.synthetic import three_configurations, write_runs
from tests.waiting import until

pytestmark = [pytest.mark.lake, pytest.mark.long, pytest.mark.timing]
KILLED = "meanwhile the kernel killed"
EXPERIMENT = """
title: no memory
builds: [system]
configs: [{name: tiny, fragments: [p1]}]
setups: [{name: tiny, l_i0_rows: 2000, l_i1_rows: 7000000, l_i2_rows: 1000, query_seconds: 1}]
workload: {benchmark: insert_benchmark, clients: 2, steps: [l.i0, l.x, {step: l.i1, rate: 1000}]}
"""


@pytest.fixture
def limit() -> Iterator[MemoryLimit]:
    """Ten megabytes more, and no more."""
    made = MemoryLimit(10_000_000)
    try:
        made.__enter__()
    except OSError as error:
        pytest.skip(f"no limit can be set here: {error}")
    yield made
    made.__exit__()


def check_kept(workspace: Workspace, name: str, seconds: int) -> None:
    """All that was captured until the kill is there, and the run says that it failed."""
    (run_dir,) = workspace.runs.iterdir()
    assert verify(run_dir) == []
    assert {row["second"] for row in table(workspace, "ops", name)} >= set(range(seconds))
    (step,) = table(workspace, "steps", name)
    assert step["status"] == "failed" and sealed(workspace).failed_step == name


def test_a_server_that_is_killed_for_memory_ends_the_run_and_the_error_says_so(
    build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, limit: MemoryLimit
) -> None:
    pids: list[int] = []

    def act(hand: HandOn, _workers: list[WorkerState]) -> None:
        pids.append(hand.server.pid)
        limit.take(hand.server.pid)

        def eat() -> None:
            with contextlib.suppress(pymysql.err.MySQLError, OSError):
                with hand.connect() as connection, connection.cursor() as cursor:
                    cursor.execute("SET GLOBAL max_allowed_packet = 1073741824")
                with hand.connect() as connection, connection.cursor() as cursor:
                    cursor.execute("SELECT LENGTH(REPEAT('x', 500000000))")

        threading.Thread(target=eat, daemon=True).start()

    hand = HandOn("l.i0", 3.0, act)
    with pytest.raises(ServerLost) as caught:
        run(hand, build, workspace, monkeypatch, steps="l.i0")
    assert limit.kills == 1
    assert "the server was killed by SIGKILL" in caught.value.what and KILLED in caught.value.what
    assert "memory" in (caught.value.hint or "") and caught.value.what == sealed(workspace).error
    check_kept(workspace, "l.i0", 3)
    assert_server_gone(hand, pids[0], workspace)


def test_a_client_that_is_killed_for_memory_fails_the_step_and_the_error_says_so(
    build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, limit: MemoryLimit
) -> None:
    def act(_hand: HandOn, workers: list[WorkerState]) -> None:
        limit.starve(workers[0].process.pid)

    hand = HandOn("l.i0", 3.0, act)
    with pytest.raises(WorkerFailed) as caught:
        run(hand, build, workspace, monkeypatch, steps="l.i0")
    assert limit.kills == 1
    assert "died: killed by SIGKILL" in caught.value.what and KILLED in caught.value.what
    check_kept(workspace, "l.i0", 3)


def test_a_runner_that_is_killed_for_memory_leaves_what_is_recovered(
    build: Build, workspace: Workspace, limit: MemoryLimit
) -> None:
    path = workspace.root / "memory.yaml"
    path.write_text(EXPERIMENT)
    environment = {**os.environ, "IBENCH_HOME": str(workspace.root)}
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, "run", str(path)], env=environment)
    seconds = "SELECT count(DISTINCT second) FROM ops WHERE step = 'l.i1'"
    until(lambda: reader.lake(workspace).execute(seconds).fetchall()[0][0] >= 3, "three seconds", every_s=0.2)
    family = Victim(process.pid).family()
    limit.starve(process.pid)
    until(lambda: process.poll() is not None, "the kernel has killed the runner")
    assert process.returncode == -9 and limit.kills == 1
    assert survivors(family) == [], "server and clients end with it"
    (recovered,), errors = recover_all(workspace.runs)
    assert errors == [] and "the runner died" in (recovered.error or "")
    check_kept(workspace, "l.i1", 3)


def test_a_post_that_is_killed_for_memory_says_so_and_the_page_before_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: MemoryLimit
) -> None:
    workspace = with_notebook(tmp_path)
    write_runs(workspace, *three_configurations())
    page = build_post(params_file(workspace), workspace)
    before = page.read_bytes()
    (limit.folder / "memory.limit_in_bytes").write_text("100000000")
    ordinary = subprocess.Popen

    def limited(command: list[str], **options: object) -> object:
        process = ordinary(command, **options)  # type: ignore[call-overload]
        if any("post_process" in part for part in command):
            limit.take(process.pid)
        return process

    monkeypatch.setattr("ibench_lib.publish.posts.subprocess.Popen", limited)
    done = ibench(workspace, "post", str(params_file(workspace)))
    assert done.returncode == 1 and limit.kills >= 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("ibench: ")]
    assert KILLED in line and "post" in line
    assert page.read_bytes() == before
    kernel = "ibench_lib.publish.kernel_process"
    mine = psutil.Process().children(recursive=True)
    assert survivors(child for child in mine if was_started_with(kernel, child)) == []
