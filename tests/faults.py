"""Faults as verbs: `server.kill()`, `server.stop()`, `disk.fill()`. tests/faults.yaml says what must follow."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Collection, Iterable
from pathlib import Path

import psutil

from tests.waiting import PATIENCE_S, until


class Victim:
    """A process to which something happens.

    Parameters
    ----------
    pid : of a process that lives.
    """

    def __init__(self, pid: int) -> None:
        self.process = psutil.Process(pid)

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        """SIGKILL: it gets no chance to end by itself."""
        self.process.kill()

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def stop(self) -> None:
        """SIGSTOP: it lives and does nothing, from now on."""
        self.process.suspend()
        until(lambda: self.process.status() == psutil.STATUS_STOPPED, f"process {self.pid} is stopped")

    def resume(self) -> None:
        """SIGCONT."""
        self.process.resume()

    def stop_for(self, seconds: float) -> None:
        """Stop it, and resume it when this time has passed: the time is the fault."""
        self.stop()
        time.sleep(seconds)
        self.resume()

    def family(self) -> list[psutil.Process]:
        """All that it has started, directly or not, and that lives."""
        return self.process.children(recursive=True)

    def is_gone(self) -> bool:
        """Whether it has ended; nobody may have asked for its exit code yet."""
        return ended(self.process)


def server_here(others: Collection[int] = ()) -> Victim:
    """The database server that this process has started, apart from `others`."""

    def found() -> list[int]:
        return [child.pid for child in psutil.Process().children() if child.pid not in others and is_server(child)]

    (server,) = until(found, "a server runs")
    return Victim(server)


def is_server(process: psutil.Process) -> bool:
    """Whether a process is the server of a sandbox."""
    return was_started_with("--skip-networking", process)


def is_client(process: psutil.Process) -> bool:
    """Whether a process sends load."""
    return was_started_with("ibench_lib.client.worker", process)


def was_started_with(word: str, process: psutil.Process) -> bool:
    """Whether a process that still runs has this word in its command line."""
    try:
        return word in process.cmdline()
    except psutil.Error:  # it ends
        return False


def ended(process: psutil.Process) -> bool:
    """Whether a process does not run any more; a zombie does not."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def survivors(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those that do not end, however patient one is; returns as soon as all have ended."""
    deadline = time.monotonic() + PATIENCE_S
    alive = [process for process in processes if not ended(process)]
    while alive and time.monotonic() < deadline:
        time.sleep(0.01)
        alive = [process for process in alive if not ended(process)]
    return alive


class MemoryLimit:
    """A control group of the kernel whose processes may have so much memory, apart from what they have already.

    Use as a context. Raises OSError where none can be made.
    """

    _MOUNT = Path("/sys/fs/cgroup/memory")

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        mine = next((line.split(":", 2)[2] for line in lines if ":memory:" in line), "/")
        self.folder = self._MOUNT / mine.lstrip("/") / f"ibench-{os.getpid()}-{id(self)}"

    def __enter__(self) -> MemoryLimit:
        if not (self._MOUNT / "memory.limit_in_bytes").exists():
            raise OSError("there is no memory controller of version 1")
        self.folder.mkdir()
        (self.folder / "memory.limit_in_bytes").write_text(str(self.limit_bytes))
        return self

    def __exit__(self, *_: object) -> None:
        until(lambda: not (self.folder / "cgroup.procs").read_text().split(), "its processes have ended")
        (self.folder / "memory.force_empty").write_text("0")
        self.folder.rmdir()

    def take(self, pid: int) -> None:
        """From now on what a process gets counts."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    def starve(self, pid: int) -> None:
        """Let a process have no page more, so that it dies where it needs one.

        The limit comes first: the kernel refuses one below what the process has taken in the group meanwhile.
        """
        (self.folder / "memory.limit_in_bytes").write_text("0")
        self.take(pid)

    @property
    def kills(self) -> int:
        """Processes that the kernel has killed for it."""
        said = (self.folder / "memory.oom_control").read_text()
        return int(said.rpartition("oom_kill ")[2])


class Disk:
    """The disk below a folder. The folder should be a disk of its own: see the fixture `small_disk`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.filler = folder / ".filler"

    def fill(self) -> None:
        """Take all that is free."""
        page = os.sysconf("SC_PAGE_SIZE")
        with open(self.filler, "wb") as file:
            size, taken = shutil.disk_usage(self.folder).free, 0
            while size >= page:
                try:
                    os.posix_fallocate(file.fileno(), taken, size)
                except OSError:
                    size //= 2
                else:
                    taken += size

    def free(self) -> None:
        """Give back what `fill` took."""
        self.filler.unlink()
