"""What goes wrong with a PostgreSQL is one clear line, and nothing that was captured is lost."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ibench_lib.errors import ConfigError, RunFailed, ServerStartDisturbed
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.servers import sandbox as sandboxes
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.servers.sandbox_directory import sweep
from tests.families.postgres.boxes import connected, sandbox
from tests.families.postgres.runs import SMALL, HandOn, experiment, register, run, sealed, table
from tests.faults import Disk, survivors
from tests.waiting import until

pytestmark = pytest.mark.slow

NO_LIMIT = 1_000_000_000
SYSV, POSIX = Path("/proc/sysvipc/shm"), Path("/dev/shm")


def backends(box: Sandbox) -> list[psutil.Process]:
    """The processes of the clients of a server."""
    assert box.process is not None
    children = psutil.Process(box.process.pid).children()
    return [child for child in children if " ibench " in " ".join(child.cmdline())]


def all_of(box: Sandbox) -> list[psutil.Process]:
    """All processes of a server."""
    assert box.process is not None
    first = psutil.Process(box.process.pid)
    return [first, *first.children()]


def shared_memory(pid: int, datadir: Path) -> set[str]:
    """What a running server has of the kernel: its segments, and its files in memory."""
    segment = (datadir / "postmaster.pid").read_text().splitlines()[6].split()[1]
    maps = Path(f"/proc/{pid}/maps").read_text()
    return {f"segment {segment}", *(word for word in maps.split() if word.startswith(f"{POSIX}/PostgreSQL."))}


def still_there(memory: set[str]) -> set[str]:
    segments = {f"segment {line.split()[1]}" for line in SYSV.read_text().splitlines()[1:]}
    return {name for name in memory if name in segments or Path(name).exists()}


def kill_backend(box: Sandbox) -> None:
    until(lambda: backends(box), "a client is connected")[0].kill()


def kill_server(box: Sandbox) -> None:
    assert box.process is not None
    box.process.kill()


def terminate(box: Sandbox) -> None:
    connection = connected(box)
    connection.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'ibench'")
    connection.close()


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (kill_backend, r"step l\.i0: the server died; client 1 inserter: .*; the server ended with exit code 1"),
        (kill_server, r"step l\.i0: the server died; client 1 inserter: .*; the server was killed by SIGKILL"),
        # Who was sending meanwhile gets a reset, which takes the last words with it.
        (
            terminate,
            r"step l\.i0: client 1 inserter: connection lost: (\(57P01\) terminating connection|the connection broke)",
        ),
    ],
    ids=["a backend is killed", "the server is killed", "a connection is ended"],
)
def test_a_lost_server_or_connection_is_one_line_and_its_rows_are_kept(
    postgres: Build, open_path: Path, monkeypatch: pytest.MonkeyPatch, act: Callable[[Sandbox], None], said: str
) -> None:
    workspace = Workspace(open_path)
    register(postgres, workspace)
    family: list[psutil.Process] = []

    def acting(box: Sandbox) -> None:
        family.extend(all_of(box))
        act(box)

    with pytest.raises(RunFailed, match=said):
        run(experiment(open_path, rows=NO_LIMIT), HandOn(acting), monkeypatch)
    assert sealed(workspace).status == "failed"
    assert sum(row["rows"] for row in table(workspace, "ops")) > 0
    assert survivors(family) == [] and list(workspace.sandboxes.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="a disk of its own takes root")
def test_a_full_disk_is_named_and_what_was_captured_is_kept(
    postgres: Build, open_path: Path, monkeypatch: pytest.MonkeyPatch, small_disk: Callable[[Path, str], Path]
) -> None:
    workspace = Workspace(open_path)
    register(postgres, workspace)
    disk = Disk(small_disk(workspace.sandboxes, "300m"))
    with pytest.raises(RunFailed, match=r"step l\.i0: disk full: the server cannot write its data") as caught:
        run(experiment(open_path, rows=NO_LIMIT), HandOn(lambda _: disk.fill()), monkeypatch)
    assert "free space" in (caught.value.hint or "")
    assert sum(row["rows"] for row in table(workspace, "ops")) > 0
    disk.free()
    assert list(workspace.sandboxes.iterdir()) == []


def test_a_port_that_is_taken_is_named_and_may_be_free_another_time(
    postgres: Build, open_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(sandboxes, "_free_port", lambda: taken.getsockname()[1])
        with (
            pytest.raises(ServerStartDisturbed, match="does not start") as caught,
            sandbox(postgres, open_path, tcp=True),
        ):
            pass
    assert "Address already in use" in (caught.value.detail or "")


def test_an_option_of_another_version_is_refused_before_anything_starts(postgres: Build, open_path: Path) -> None:
    workspace = Workspace(open_path)
    register(postgres, workspace)
    path = experiment(open_path, f"{SMALL}io_method_of_2099 = sync\n")
    with pytest.raises(ConfigError, match="does not know io_method_of_2099") as caught:
        run_experiment(load_experiment(path), workspace, Observer())
    assert "small.postgres.conf:5: io_method_of_2099 is unknown to postgres" in (caught.value.detail or "")
    assert not workspace.runs.exists() or not any(workspace.runs.iterdir())


RUNNER = """
import sys, time
from pathlib import Path
from ibench_lib.servers.identify import identify
from ibench_lib.servers.sandbox import Sandbox
root = Path({root!r})
build = identify("pg", Path({basedir!r}), {command!r}, source="test", environment={environment!r})
box = Sandbox(build, root / "sandboxes" / "box", root / "my.cnf", root / "server.log")
with box as address:
    print(address.socket, flush=True)
    time.sleep(600)
"""


def runner_of(build: Build, root: Path) -> subprocess.Popen[str]:
    """A process that opens a sandbox and stays."""
    sandbox(build, root)  # writes its option file
    script = RUNNER.format(
        root=str(root), basedir=str(build.basedir), command=build.command, environment=dict(build.environment)
    )
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)


@pytest.mark.fault("F2")
def test_a_runner_killed_by_9_leaves_no_process_and_no_shared_memory(postgres: Build, open_path: Path) -> None:
    runner = runner_of(postgres, open_path)
    assert runner.stdout is not None
    socket_folder = Path(runner.stdout.readline().strip()).parent
    family = psutil.Process(runner.pid).children(recursive=True)
    memory = shared_memory(family[0].pid, open_path / "sandboxes" / "box" / "datadir")
    assert len(family) > 4 and len(memory) >= 2 and still_there(memory) == memory
    runner.kill()
    runner.wait()
    assert survivors(family) == []
    assert still_there(memory) == set()
    assert sweep(open_path / "sandboxes") == [open_path / "sandboxes" / "box"]
    assert not socket_folder.exists()


@pytest.mark.fault("F2")
def test_a_runner_killed_while_the_data_directory_is_made_leaves_no_process(postgres: Build, open_path: Path) -> None:
    runner = runner_of(postgres, open_path)

    def initialising() -> list[psutil.Process]:
        family = psutil.Process(runner.pid).children(recursive=True)
        return family if any(process.name() == "postgres" for process in family) else []

    family = until(initialising, "initdb has started a server")
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):  # initdb's shells end at any time
            process.suspend()  # it is not done meanwhile
    runner.kill()
    runner.wait()
    for process in reversed(family):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.resume()
    assert survivors(family) == []
    box = open_path / "sandboxes" / "box"
    assert not (box / "initialised").exists() or not (box / "datadir").exists(), "half made, it is not put in its place"
