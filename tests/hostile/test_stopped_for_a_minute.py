"""Each kind of process is stopped for 61 s in the middle of its work, all at the same time, and then goes on.

The tests of each part stop it for some seconds. A minute is longer than most limits in time: of connections, of
heartbeats, of the capture of a server.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from benchmarks.soak import TINY, seen
from ibench_lib.paths import Workspace
from ibench_lib.servers.build import Build
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from ibench_lib.store.verify import verify
from tests.command import PROGRAM
from tests.faults import Victim, is_client, is_server, was_started_with
from tests.publish.posting import tiny_post
from tests.runner.hosts.lab import Lab
from tests.waiting import PATIENCE_S, until

pytestmark = [pytest.mark.long, pytest.mark.slow]

STOPPED_S = 61
ROWS = 15_000
STEP = 1
"""The id of l.i1, which takes half a minute: the first step has 0."""
EXPERIMENT = f"""
title: something stands still
builds: [system]
configs: [{{name: tiny, fragments: [tiny]}}]
configs_folder: own
setups: [{{name: tiny, l_i0_rows: 2000, l_i1_rows: {ROWS}, l_i2_rows: 100, query_seconds: 1}}]
workload: {{benchmark: insert_benchmark, clients: 1, steps: [l.i0, {{step: l.i1, rate: 500}}]}}
"""


class Stopped:
    """A command of a workspace of its own, one of whose processes is stopped for a while.

    Attributes
    ----------
    code, said : its exit code, and what it printed.
    """

    def __init__(self, home: Path, *words: str) -> None:
        home.mkdir(exist_ok=True)
        self.home, self.out = Workspace(home), home / "said.txt"
        environment = {**os.environ, "IBENCH_HOME": str(home), "COLUMNS": "300"}
        with open(self.out, "w") as out:
            command = [sys.executable, "-c", PROGRAM, *words]
            self.process = subprocess.Popen(command, cwd=home, env=environment, stdout=out, stderr=out)

    def finish(self, ready: Callable[[], object], whom: Callable[[], int], what: str) -> None:
        """Stop the process `whom` once `ready` says so, and wait for the end of the command."""
        try:
            until(lambda: ready() or self.process.poll() is not None, f"{what} is at work", every_s=0.1)
            Victim(whom()).stop_for(STOPPED_S)
            self.code = self.process.wait(PATIENCE_S)
        finally:
            self.process.kill()
            self.said = self.out.read_text()

    def child(self, kind: Callable[[psutil.Process], bool]) -> int:
        """The first of the processes of this kind that the command has started."""
        return next(filter(kind, psutil.Process(self.process.pid).children(recursive=True))).pid


def experiment(home: Path) -> Path:
    (home / "own").mkdir(parents=True)
    (home / "own" / "tiny.cnf").write_text(TINY)
    path = home / "still.yaml"
    path.write_text(EXPERIMENT)
    return path


def inserts(home: Path) -> bool:
    """Whether two seconds of l.i1 can be read there."""
    return any(len({key[3] for key in rows if key[0] == STEP}) >= 2 for rows in seen(home).values())


def warnings(home: Path) -> list[str]:
    """Those of the only run there, which is complete and good and has every row."""
    lake = reader.lake(Workspace(home))
    (run_dir,) = Workspace(home).runs.iterdir()
    assert verify(run_dir) == []
    assert read_manifest(run_dir).status == "complete"
    counted = "SELECT operation, sum(rows), sum(errors + unknown) FROM ops WHERE step = 'l.i1' GROUP BY ALL ORDER BY 1"
    assert reader.sql(lake, counted).rows() == [("delete", ROWS, 0), ("insert", ROWS, 0)]
    return read_manifest(run_dir).warnings


def longest_s(form: str, said: Iterable[str]) -> int:
    """The largest number that this form finds."""
    return max(int(found[1]) for each in said if (found := re.search(form, each)))


@pytest.mark.fault("F4")
def test_whatever_stands_still_for_a_minute_goes_on_and_is_named(build: Build, tmp_path: Path) -> None:
    homes = {name: tmp_path / name for name in ("server", "client", "runner", "one", "two", "kernel")}
    of_run = {"server": is_server, "client": is_client}
    began = tmp_path / "began"
    found: dict[str, Stopped] = {}

    def of_a_run(name: str) -> None:
        found[name] = command = Stopped(homes[name], "run", str(experiment(homes[name])))
        victim = (lambda: command.child(of_run[name])) if name in of_run else (lambda: command.process.pid)
        command.finish(lambda: inserts(homes[name]), victim, name)

    def of_a_lab(name: str, number: str) -> None:
        lab = Lab(tmp_path / f"lab-{name}")
        try:
            worker = lab.worker(number)
            home = tmp_path / f"with-{name}"
            found[name] = command = Stopped(home, "run", str(experiment(home)), "--scheduler", lab.address)
            victim = worker.pid if name == "worker" else lab.processes[0].pid
            command.finish(lambda: inserts(lab.root / number), lambda: victim, name)
        finally:
            lab.close()

    def of_a_post() -> None:
        homes["kernel"].mkdir()
        cell = f"import pathlib, time; pathlib.Path({str(began)!r}).touch(); time.sleep(5); print(word * 2)"
        path = tiny_post(Workspace(homes["kernel"]), "still", cell)
        found["kernel"] = command = Stopped(homes["kernel"], "post", str(path))
        is_kernel = "ibench_lib.publish.kernel_process"
        command.finish(
            began.exists, lambda: command.child(lambda child: was_started_with(is_kernel, child)), "the kernel"
        )

    with ThreadPoolExecutor() as pool:
        tasks = [pool.submit(of_a_run, name) for name in ("server", "client", "runner")]
        tasks += [pool.submit(of_a_lab, "worker", "one"), pool.submit(of_a_lab, "scheduler", "two")]
        tasks += [pool.submit(of_a_post)]
        for task in tasks:
            task.result()
    assert {name: command.code for name, command in found.items()} == dict.fromkeys(found, 0)

    for name, who in (("server", "the server"), ("client", r"client 1 \w+")):
        form = rf"step l\.i1: no answer to .* for (\d+) s, .*; the process of {who} was stopped meanwhile"
        assert longest_s(form, warnings(homes[name])) >= STOPPED_S - 3
    form = r"step l\.i1: the runner stood still for (\d+) s, "
    assert longest_s(form, warnings(homes["runner"])) >= STOPPED_S - 1
    for name, form in (
        ("worker", r"no heartbeat of one for (\d+) s: stopped, or cut off; its cell may go on there"),
        ("scheduler", r"no answer of the scheduler for (\d+) s: stopped, or too busy; cells may go on"),
    ):
        assert longest_s(form, [found[name].said]) >= 30
        assert not [said for said in warnings(found[name].home.root) if "no answer" in said or "stood still" in said]
    (page,) = (homes["kernel"] / "data" / "posts").rglob("index.html")
    assert "stillstill" in page.read_text()
