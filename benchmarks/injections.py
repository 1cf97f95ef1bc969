"""What `benchmarks.stall_causes` does to a server, its clients and its machine: one context manager per injection.

Each lasts as long as its block. Those that need root use a loop device under the data directory, control groups of
version 1, or swap space.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ibench_lib.families.mysql.connection import connect, rows

LASTS_S, BETWEEN_S = 3.0, 6.0
NEIGHBOUR_S = 5.0

CGROUPS = Path("/sys/fs/cgroup")
GROUP = "ibench-stall-causes"

_PROCESS_MADVISE, _MADV_PAGEOUT = 440, 21  # Linux 5.10, x86-64 and arm64

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
class CaptureTarget:
    """What an injection may act on, as far as it is known."""

    address: dict[str, Any] = field(default_factory=dict)
    server_pid: int = 0
    client_pids: list[int] = field(default_factory=list)
    tables: tuple[str, ...] = ()
    disk: Path | None = None
    """Where the file system of the data directory is mounted."""
    fsync_switch: Path | None = None
    """A file: while it exists, each fsync of the server takes 0.7 s longer."""


Injection = Callable[[CaptureTarget], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def server_stopped(scene: CaptureTarget) -> Iterator[None]:
    os.kill(scene.server_pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(scene.server_pid, signal.SIGCONT)


@contextlib.contextmanager
def client_pause(scene: CaptureTarget) -> Iterator[None]:
    for pid in scene.client_pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in scene.client_pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def machine_paused(scene: CaptureTarget) -> Iterator[None]:
    """Server, clients and this process, so that no collector samples either. A shell continues them."""
    pids = [scene.server_pid, *scene.client_pids, os.getpid()]
    names = " ".join(map(str, pids))
    subprocess.Popen(["/bin/sh", "-c", f"kill -STOP {names}; sleep {LASTS_S}; kill -CONT {names}"])
    yield


@contextlib.contextmanager
def cpu_starved(_scene: CaptureTarget) -> Iterator[None]:
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
def busy_neighbour(_scene: CaptureTarget) -> Iterator[None]:
    """One busy process on each CPU, in a control group that the scheduler serves first: what a neighbour's steal is."""
    group = CGROUPS / "cpu" / GROUP
    group.mkdir(exist_ok=True)
    (group / "cpu.shares").write_text("32768")
    burn = ["/bin/sh", "-c", f"echo $$ > {group}/cgroup.procs; while :; do :; done"]
    hogs = [subprocess.Popen(burn) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
        _remove(group)


@contextlib.contextmanager
def lock(scene: CaptureTarget) -> Iterator[None]:
    connection = connect(scene.address)
    try:
        rows(connection, "FLUSH TABLES WITH READ LOCK")
        yield
        rows(connection, "UNLOCK TABLES")
    finally:
        connection.close()


@contextlib.contextmanager
def row_locks(scene: CaptureTarget) -> Iterator[None]:
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
def with_variables(scene: CaptureTarget, **values: int) -> Iterator[None]:
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
def checkpoint(scene: CaptureTarget) -> Iterator[None]:
    """The redo log as small as it can be. MariaDB makes it smaller, too, but answers only when that is done."""
    with with_variables(scene, innodb_redo_log_capacity=8 << 20):
        yield


@contextlib.contextmanager
def purge(scene: CaptureTarget) -> Iterator[None]:
    """Purge lags by more than the limit (of one) at all times, and now the server delays statements because of it.

    MariaDB 10.11 only counts such a delay: its rates do not fall.

    Without an old read view: a server that knows of one delays nothing, since that would not help purge.
    """
    with with_variables(scene, innodb_max_purge_lag_delay=100_000):
        yield


@contextlib.contextmanager
def redo(scene: CaptureTarget) -> Iterator[None]:
    assert scene.fsync_switch is not None
    scene.fsync_switch.touch()
    try:
        yield
    finally:
        scene.fsync_switch.unlink()


@contextlib.contextmanager
def storage_frozen(scene: CaptureTarget) -> Iterator[None]:
    """What a snapshot of a volume does to the file system."""
    assert scene.disk is not None
    subprocess.run(["fsfreeze", "--freeze", str(scene.disk)], check=True)
    try:
        yield
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", str(scene.disk)], check=True)


@contextlib.contextmanager
def storage_throttled(scene: CaptureTarget) -> Iterator[None]:
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


class _Range(ctypes.Structure):
    """`struct iovec`."""

    _fields_ = [("begin", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


@contextlib.contextmanager
def memory(scene: CaptureTarget) -> Iterator[None]:
    """The server's memory goes to swap again and again, as under pressure. A limit of a control group would kill it."""
    end = threading.Event()
    pager = threading.Thread(target=_page_out, args=(scene.server_pid, end), daemon=True)
    pager.start()
    try:
        yield
    finally:
        end.set()
        pager.join()


def _page_out(pid: int, end: threading.Event) -> None:
    """process_madvise(MADV_PAGEOUT) for each large private mapping, until `end`."""
    system_call = ctypes.CDLL(None, use_errno=True).syscall
    handle = os.pidfd_open(pid)
    try:
        while not end.is_set():
            for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
                bounds, rights, *_, last = line.split(maxsplit=5)
                first, after = (int(bound, 16) for bound in bounds.split("-"))
                if end.is_set() or rights != "rw-p" or last.startswith("/") or after - first < 1 << 20:
                    continue
                asked = _Range(first, after - first)
                system_call(_PROCESS_MADVISE, handle, ctypes.byref(asked), ctypes.c_size_t(1), _MADV_PAGEOUT, 0)
    finally:
        os.close(handle)


@contextlib.contextmanager
def grouped(group: Path, pid: int) -> Iterator[None]:
    """A process in a control group of its own (version 1)."""
    group.mkdir(exist_ok=True)
    (group / "cgroup.procs").write_text(str(pid))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            (group.parent / "cgroup.procs").write_text(str(pid))
        _remove(group)


def _remove(group: Path) -> None:
    """The kernel may still be taking the last process out of it."""
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
    needs : "root", "swap", "gcc", "mysql" (8.0.30 or later), "insert_benchmark", "cpu groups", "root user". What cannot
        be forced is left out, and the page says so.
    lasts_s, between_s : how long it is forced, and how long nothing is done before it is forced again.
    ready_s, first_s : how long it takes at most to get ready, and how much longer the first time.
    family : that of the servers that it is for; None for any.
    """

    name: str
    inject: Injection
    my_cnf: str = ""
    needs: frozenset[str] = frozenset()
    cause_name: str | None = None
    lasts_s: float = LASTS_S
    between_s: float = BETWEEN_S
    ready_s: float = 0.0
    first_s: float = 0.0
    family: str | None = None

    @property
    def cause(self) -> str:
        return self.cause_name or self.name


FORCED = {
    each.name: each
    for each in (
        # Of a server of several processes they would stop one.
        Forced("server_stopped", server_stopped, family="mysql"),
        Forced("client_pause", client_pause),
        Forced("machine_paused", machine_paused, family="mysql"),
        Forced("cpu_starved", cpu_starved),
        Forced(
            "busy_neighbour",
            busy_neighbour,
            needs=frozenset({"cpu groups"}),
            cause_name="cpu_starved",
            lasts_s=NEIGHBOUR_S,
        ),
        Forced("lock", lock, family="mysql"),
        Forced("row_locks", row_locks, needs=frozenset({"insert_benchmark"}), family="mysql"),
        Forced(
            "purge",
            purge,
            "innodb_max_purge_lag=1\ninnodb_max_purge_lag_delay=0\n",
            frozenset({"mysql"}),
            family="mysql",
        ),
        # A log of 100 MB, the default, has so little to flush that the rate hardly falls.
        Forced("checkpoint", checkpoint, "innodb_redo_log_capacity=1G\n", frozenset({"mysql"}), family="mysql"),
        Forced("redo", redo, "innodb_flush_log_at_trx_commit=1\n", frozenset({"mysql", "gcc"}), family="mysql"),
        Forced("storage_frozen", storage_frozen, needs=frozenset({"root"}), cause_name="storage"),
        Forced(
            "storage_throttled",
            storage_throttled,
            "innodb_flush_log_at_trx_commit=1\ninnodb_flush_method=O_DIRECT\n",
            frozenset({"root"}),
            "storage",
            family="mysql",
        ),
        Forced("memory", memory, needs=frozenset({"root", "swap"}), family="mysql"),
    )
}
