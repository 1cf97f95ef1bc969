"""A scheduler and workers, each a process, and an experiment for them."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import psutil

from ibench_lib.base.tether import tethered
from ibench_lib.experiment.cells import Cell, load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.hosts.sweep import run_on_workers
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.sweep import SweepResult
from tests.places import ROOT
from tests.waiting import PATIENCE_S, until

FAKE = "tests.fakes.cell_process"
COMMAND = "from ibench_lib.cli.main import main; main()"
TEXT = """\
title: cells for others
builds: [a]
configs:
  - {name: base, fragments: [mine]}
  - {name: whole, my_cnf: whole/my.cnf}
configs_folder: own
setups:
  - {name: mine, l_i0_rows: 1000, l_i1_rows: 1000, l_i2_rows: 100, query_seconds: 2}
repeats: 1
workload: {benchmark: insert_benchmark, clients: 2, steps: [l.i0, l.x, l.i1, qr100]}
"""
TWICE = TEXT.replace("repeats: 1", "repeats: 2\norder: interleaved")


class Lab:
    """A scheduler and workers, each a process, in a folder of its own; nothing of them is left at the end."""

    def __init__(self, root: Path, address: str = "") -> None:
        root.mkdir()
        self.root = root
        self.processes: list[subprocess.Popen[bytes]] = []
        self.address = address or self.scheduler()

    def scheduler(self) -> str:
        """Start one. Its address."""
        file = self.root / "scheduler.json"
        arguments = ["--no-dashboard", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)]
        self._start("scheduler", ["-m", "distributed.cli.dask_scheduler", *arguments], {})
        written = until(lambda: file.is_file() and (text := file.read_text()).endswith("}") and text, "a scheduler")
        return str(json.loads(written)["address"])

    def worker(self, name: str, code: Path = ROOT, **environment: str) -> subprocess.Popen[bytes]:
        """A worker called `name`, whose workspace is the folder of that name."""
        (self.root / name).mkdir()
        home = {"IBENCH_HOME": str(self.root / name), "PYTHONPATH": f"{code}:{ROOT}", **environment}
        process = self._start(name, ["-c", COMMAND, "worker", self.address, "--name", name], home)
        until(lambda: "Registered to" in (self.root / f"{name}.log").read_text(), f"worker {name} is registered")
        return process

    def workspace(self, name: str) -> Workspace:
        return Workspace(self.root / name)

    def measuring(self, name: str) -> int:
        """The process that measures a cell on that worker, once there is one."""
        file = self.root / name / "measuring"
        return int(until(lambda: file.is_file() and file.read_text(), f"worker {name} measures"))

    def close(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(PATIENCE_S)
        children = psutil.Process().children(recursive=True)
        assert [child for child in children if "cell_process" in _command(child)] == []

    def _start(self, name: str, arguments: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        with open(self.root / f"{name}.log", "wb") as log:
            process = subprocess.Popen(
                tethered([sys.executable, *arguments]),
                stdout=log,
                stderr=log,
                cwd=self.root,
                env={**os.environ, **environment},
            )
        self.processes.append(process)
        return process


def _command(process: psutil.Process) -> str:
    """Its command line; empty of one that has ended, even if nobody has waited for it yet."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


def write(workspace: Workspace, text: str = TEXT) -> Path:
    root = workspace.root
    (root / "own").mkdir(exist_ok=True)
    (root / "whole").mkdir(exist_ok=True)
    (root / "own" / "mine.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=64M\n!include more.inc\n")
    (root / "own" / "more.inc").write_text("[mysqld]\nskip_log_bin\n")
    (root / "whole" / "my.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=32M\n!includedir conf.d\n")
    (root / "whole" / "conf.d").mkdir(exist_ok=True)
    (root / "whole" / "conf.d" / "x.cnf").write_text("[mysqld]\ninnodb_purge_threads=1\n")
    path = root / "many.yaml"
    path.write_text(text)
    return path


def sweep(
    lab: Lab, workspace: Workspace, observer: Any = None, text: str = TEXT, cell_process: str = FAKE, **options: Any
) -> SweepResult:
    loaded = load_experiment(write(workspace, text))
    options = {"wait_s": PATIENCE_S, **options}
    return run_on_workers(loaded, workspace, observer or Observer(), lab.address, cell_process=cell_process, **options)


class Telling(Observer):
    """Keeps what it is told; does `act` when a worker gets its first cell."""

    def __init__(self, worker: str | None = None, act: Any = None) -> None:
        self.begun: list[tuple[str, str]] = []
        self.lost: list[tuple[str, str]] = []
        self.refused: list[tuple[str, str]] = []
        self.heartbeats: list[tuple[str, float]] = []
        self._worker, self._act = worker, act

    def cell_begins(self, number: int, of: int, cell: Cell, worker: str | None = None) -> None:
        self.begun.append((str(cell), str(worker)))
        if worker == self._worker and self._act is not None:
            act, self._act = self._act, None
            threading.Thread(target=act, daemon=True).start()

    def cell_lost(self, cell: Cell, worker: str) -> None:
        self.lost.append((str(cell), worker))

    def worker_refused(self, worker: str, reason: str) -> None:
        self.refused.append((worker, reason))

    def scheduler_silent(self, silent_s: float) -> None:
        self.heartbeats.append(("scheduler", silent_s))

    def scheduler_back(self, silent_s: float) -> None:
        self.heartbeats.append(("scheduler is back", silent_s))

    def worker_silent(self, worker: str, silent_s: float) -> None:
        self.heartbeats.append((worker, silent_s))

    def worker_back(self, worker: str, silent_s: float) -> None:
        self.heartbeats.append((f"{worker} is back", silent_s))
