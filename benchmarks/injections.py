"""What `benchmarks.stall_causes` does to a server, its clients and its machine: one context manager per injection.

Each lasts as long as its block. Those that need root use a loop device under the data directory, control groups of
version 1, or swap space.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ibench_lib.capture.connection import connect, rows

LASTS_S = 3.0

CGROUPS = Path("/sys/fs/cgroup")
GROUP = "ibench-stall-causes"

SLOW_FSYNC_C = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

static void wait_if_told(void) { if (access("SWITCH", F_OK) == 0) usleep(700000); }

int fsync(int file) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
    wait_if_told();
    return real(file);
}

int fdatasync(int file) {
    int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync");
    wait_if_told();
    return real(file);
}
"""


@dataclass
class Scene:
    """What an injection may act on, as far as it is known."""

    address: dict[str, Any] = field(default_factory=dict)
    server_pid: int = 0
    client_pids: list[int] = field(default_factory=list)
    tables: tuple[str, ...] = ()
    disk: Path | None = None
    """Where the file system of the data directory is mounted."""
    fsync_switch: Path | None = None
    """A file: while it exists, each fsync of the server takes 0.7 s longer."""


Injection = Callable[[Scene], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def server_stopped(scene: Scene) -> Iterator[None]:
    os.kill(scene.server_pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(scene.server_pid, signal.SIGCONT)


@contextlib.contextmanager
def client_pause(scene: Scene) -> Iterator[None]:
    for pid in scene.client_pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in scene.client_pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def machine_paused(scene: Scene) -> Iterator[None]:
    """Server, clients and this process, so that no collector samples either. A shell continues them."""
    pids = [scene.server_pid, *scene.client_pids, os.getpid()]
    names = " ".join(map(str, pids))
    subprocess.Popen(["/bin/sh", "-c", f"kill -STOP {names}; sleep {LASTS_S}; kill -CONT {names}"])
    yield


@contextlib.contextmanager
def cpu_starved(_scene: Scene) -> Iterator[None]:
    """Each in a session of its own: the scheduler shares the CPUs among sessions first."""
    burn = [sys.executable, "-c", "while True: pass"]
    hogs = [subprocess.Popen(burn, start_new_session=True) for _ in range(6 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


@contextlib.contextmanager
def lock(scene: Scene) -> Iterator[None]:
    connection = connect(scene.address)
    try:
        rows(connection, "FLUSH TABLES WITH READ LOCK")
        yield
        rows(connection, "UNLOCK TABLES")
    finally:
        connection.close()


@contextlib.contextmanager
def row_locks(scene: Scene) -> Iterator[None]:
    """The oldest rows of each table, which its deleter is about to delete."""
    connection = connect(scene.address)
    try:
        rows(connection, "SET autocommit = 0")
        for table in scene.tables:
            rows(connection, f"SELECT transactionid FROM ibench.{table} ORDER BY transactionid LIMIT 20000 FOR UPDATE")
        yield
        rows(connection, "ROLLBACK")
    finally:
        connection.close()


@contextlib.contextmanager
def with_variables(scene: Scene, **values: int) -> Iterator[None]:
    connection = connect(scene.address)
    try:
        before = {name: rows(connection, f"SELECT @@global.{name}")[0][0] for name in values}
        for name, value in values.items():
            rows(connection, f"SET GLOBAL {name} = {value}")
        yield
        for name, value in before.items():
            rows(connection, f"SET GLOBAL {name} = {value}")
    finally:
        connection.close()


@contextlib.contextmanager
def checkpoint(scene: Scene) -> Iterator[None]:
    """The redo log as small as it can be. MariaDB makes it smaller, too, but answers only when that is done."""
    with with_variables(scene, innodb_redo_log_capacity=8 << 20):
        yield


@contextlib.contextmanager
def purge(scene: Scene) -> Iterator[None]:
    """An old read view lets history grow while the server delays statements because of it."""
    viewer = connect(scene.address)
    rows(viewer, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
    with contextlib.closing(viewer), with_variables(scene, innodb_max_purge_lag_delay=100_000, innodb_max_purge_lag=1):
        yield


@contextlib.contextmanager
def redo(scene: Scene) -> Iterator[None]:
    assert scene.fsync_switch is not None
    scene.fsync_switch.touch()
    try:
        yield
    finally:
        scene.fsync_switch.unlink()


@contextlib.contextmanager
def storage_frozen(scene: Scene) -> Iterator[None]:
    """What a snapshot of a volume does to the file system."""
    assert scene.disk is not None
    subprocess.run(["fsfreeze", "--freeze", str(scene.disk)], check=True)
    try:
        yield
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", str(scene.disk)], check=True)


@contextlib.contextmanager
def storage_throttled(scene: Scene) -> Iterator[None]:
    """A limit of I/O operations, as volumes of clouds have it."""
    assert scene.disk is not None
    device = os.stat(scene.disk).st_dev
    group = CGROUPS / "blkio" / GROUP
    number = f"{os.major(device)}:{os.minor(device)}"
    with grouped(group, scene.server_pid):
        for direction in ("read", "write"):
            (group / f"blkio.throttle.{direction}_iops_device").write_text(f"{number} 5")
        try:
            yield
        finally:
            for direction in ("read", "write"):
                (group / f"blkio.throttle.{direction}_iops_device").write_text(f"{number} 0")


@contextlib.contextmanager
def memory(scene: Scene) -> Iterator[None]:
    """A limit of half of what the server has: the rest goes to swap, and comes back as it is used."""
    group = CGROUPS / "memory" / GROUP
    with grouped(group, scene.server_pid, "memory.move_charge_at_immigrate"):
        resident = int(Path(f"/proc/{scene.server_pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        limit = group / "memory.limit_in_bytes"
        limit.write_text(str(resident // 2))
        try:
            yield
        finally:
            limit.write_text("-1")


@contextlib.contextmanager
def grouped(group: Path, pid: int, *switches: str) -> Iterator[None]:
    """A process in a control group of its own (version 1), with these switches on."""
    group.mkdir(exist_ok=True)
    for switch in switches:
        (group / switch).write_text("3")
    (group / "cgroup.procs").write_text(str(pid))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            (group.parent / "cgroup.procs").write_text(str(pid))
        deadline = time.monotonic() + 5
        while group.exists() and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                group.rmdir()
            time.sleep(0.05)


@dataclass(frozen=True)
class Forced:
    """How a cause is forced.

    Attributes
    ----------
    name : of the injection, and of the cause unless `cause_name` says another one.
    my_cnf : option lines that it needs.
    needs : "root", "swap", "gcc", "mysql" (8.0.30 or later). What cannot be forced is left out, and the page says so.
    """

    name: str
    inject: Injection
    my_cnf: str = ""
    needs: frozenset[str] = frozenset()
    cause_name: str | None = None

    @property
    def cause(self) -> str:
        return self.cause_name or self.name


FORCED = {
    each.name: each
    for each in (
        Forced("server_stopped", server_stopped),
        Forced("client_pause", client_pause),
        Forced("machine_paused", machine_paused),
        Forced("cpu_starved", cpu_starved),
        Forced("lock", lock),
        Forced("row_locks", row_locks),
        Forced("purge", purge),
        Forced("checkpoint", checkpoint, needs=frozenset({"mysql"})),
        Forced("redo", redo, "innodb_flush_log_at_trx_commit=1\n", frozenset({"mysql", "gcc"})),
        Forced("storage_frozen", storage_frozen, needs=frozenset({"root"}), cause_name="storage"),
        Forced(
            "storage_throttled",
            storage_throttled,
            "innodb_flush_log_at_trx_commit=1\ninnodb_flush_method=O_DIRECT\n",
            frozenset({"root"}),
            "storage",
        ),
        Forced("memory", memory, needs=frozenset({"root", "swap"})),
    )
}
