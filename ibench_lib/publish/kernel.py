"""A kernel of this Python, with nothing of the user's Jupyter or IPython set-up, that is started before it is needed.

It needs a second to start and to import the library. Whoever builds a post starts it first, and meanwhile imports what
runs notebooks and writes pages.
"""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ibench_lib.base.python_process import python_module, python_path
from ibench_lib.base.scratch import PREFIX, scratch_directory
from ibench_lib.base.tether import tethered

if TYPE_CHECKING:
    from jupyter_client.manager import AsyncKernelManager

AHEAD_NAME = "ahead.json"
"""Next to the connection file: names of questions that the notebook is going to ask."""


@dataclass(frozen=True)
class Kernel:
    """A process that is, or will be, a kernel. `private` is its own directory, which goes with it."""

    process: subprocess.Popen[bytes]
    private: Path

    def open_lake(self) -> None:
        """Let a kernel that waits with its lake open it."""
        if self.process.stdin is not None:
            self.process.stdin.close()

    def manager(self) -> AsyncKernelManager:
        """What speaks with the kernel, for nbclient. Ending the kernel is up to whoever started it."""
        from ibench_lib.publish.kernel_manager import manager_of

        return manager_of(self.process, connection_file(self.private))


@contextmanager
def started_kernel(home: Path, *, waits: bool = False) -> Iterator[Kernel]:
    """A kernel whose IBENCH_HOME is `home`; it ends with the context, and with this process.

    One that `waits` imports, and opens the lake once it is told to: two processes would index a new lake twice.
    """
    with scratch_directory(PREFIX) as private:  # a longer name might not fit into the address of a socket
        _write_connection(connection_file(private))
        # A kernel looks after its parent by itself, but not yet while it starts.
        command = tethered(python_module("ibench_lib.publish.kernel_process", "-f", str(connection_file(private))))
        process = subprocess.Popen(
            command, env=_environment(home, private), cwd=private,
            stdin=subprocess.PIPE if waits else subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        kernel = Kernel(process, private)
        try:
            yield kernel
        finally:
            kernel.open_lake()
            process.kill()
            process.wait()


def connection_file(private: Path) -> Path:
    """Where the kernel of a post finds its sockets, in a folder that only this user can read."""
    return private / "kernel.json"


def _write_connection(path: Path) -> None:
    """Sockets in a private directory: whoever can reach a kernel's TCP port can read what it says."""
    names = ("shell_port", "iopub_port", "stdin_port", "control_port", "hb_port")
    ports = {name: number for number, name in enumerate(names, start=1)}
    address = {"transport": "ipc", "ip": str(path.with_suffix("")), "kernel_name": ""}
    secret = {"key": uuid.uuid4().hex, "signature_scheme": "hmac-sha256"}
    path.write_text(json.dumps({**ports, **address, **secret}), encoding="utf-8")


def _environment(home: Path, private: Path) -> dict[str, str]:
    """A kernel's environment; `private` takes what Jupyter and IPython would put into the user's home."""
    return {
        **os.environ,
        "IBENCH_HOME": str(home),
        "IBENCH_ASK_AHEAD": str(private / AHEAD_NAME),
        "IPYTHONDIR": str(private / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(private),
        "JPY_PARENT_PID": str(os.getpid()),
        "PYTHONPATH": python_path(),
        # A colour code in a traceback is noise in the one line that we show.
        "NO_COLOR": "1",
    }
