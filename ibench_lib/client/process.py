"""The runner's side of a client process: start it, talk to it, end it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import struct
import subprocess
import tempfile
import termios
from dataclasses import asdict
from typing import Any

from ibench_lib.base.python_process import python_module, python_path
from ibench_lib.base.tether import tethered
from ibench_lib.client.spec import Spec

PIPE_BYTES = 1 << 20
"""What a worker can say before the runner must read it, or the worker waits: minutes of seconds, not half a one."""


class WorkerProcess:
    """One worker. `name` is its name in messages, such as `client 2 querier`; `driver` the module of its driver.

    `coupling` and `shared` are descriptors that it inherits: of its coupling (`coupling.py`), of its shared number.
    """

    def __init__(
        self,
        name: str,
        spec: Spec,
        driver: str,
        address: dict[str, Any],
        database: str,
        coupling: tuple[int, int] | None = None,
        shared: int | None = None,
    ) -> None:
        self.name = name
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the process)
        self._process = subprocess.Popen(
            tethered(python_module(f"ibench_lib.client.{'external' if spec.drives else 'worker'}")),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            pass_fds=[*(coupling or ()), *([] if shared is None else [shared])],
            start_new_session=True,
            env=_environment(),
        )
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        with contextlib.suppress(OSError, AttributeError):  # a user may have few large pipes, macOS has none
            fcntl.fcntl(self._process.stdout, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._buffer = b""
        told = {"spec": asdict(spec), "driver": driver, "address": address, "database": database}
        self.send({**told, "coupling": coupling, "shared": shared})

    @property
    def pid(self) -> int:
        """The process id of the client."""
        return self._process.pid

    def fileno(self) -> int:
        """The descriptor to wait on for messages."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def send(self, message: dict[str, Any]) -> None:
        """Send one message; a dead worker is noticed when reading."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def receive(self) -> tuple[list[dict[str, Any]], bool]:
        """Messages that have arrived, and whether there will be no more."""
        closed = False
        with contextlib.suppress(BlockingIOError):
            while True:
                chunk = os.read(self.fileno(), 1 << 16)
                if not chunk:
                    closed = True
                    break
                self._buffer += chunk
        *lines, self._buffer = self._buffer.split(b"\n")
        return [_message(line) for line in lines], closed

    def may_wait(self) -> bool:
        """Whether so much of what it said has not been read that it may wait for that, and do nothing else."""
        unread = struct.unpack("i", fcntl.ioctl(self.fileno(), termios.FIONREAD, bytes(4)))[0]
        holds = fcntl.fcntl(self.fileno(), fcntl.F_GETPIPE_SZ) if hasattr(fcntl, "F_GETPIPE_SZ") else 1 << 16
        return bool(unread >= holds // 2)  # a page takes one message of a bit more than half of it

    def stop(self) -> None:
        """Ask it to end after the operation in flight."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it now and reap it."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def obituary(self) -> str:
        """How it ended: exit status or signal, and the last line it wrote to standard error."""
        status = self._process.wait()
        how = f"exit {status}" if status >= 0 else f"killed by {signal.Signals(-status).name}"
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"{how}: {lines[-1]}" if lines else how


def _message(line: bytes) -> dict[str, Any]:
    """What a worker said; that it failed where that is no message, as what a library prints is none."""
    with contextlib.suppress(ValueError, RecursionError):
        message = json.loads(line)
        if isinstance(message, dict) and isinstance(message.get("kind"), str):
            return message
    return {"kind": "failed", "error": f"it wrote what is no message: {line[:200]!r}"}


def _environment() -> dict[str, str]:
    # One thread per worker: numpy's thread pool would take the cores that the server needs.
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "PYTHONPATH": python_path(),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "LC_ALL": "C.UTF-8",
    }
