"""The manager of a kernel that runs already: jupyter_client starts its kernels itself, and late."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase

from ibench_lib.base.process_state import is_stopped


class _Running(KernelProvisionerBase):
    """A process that somebody else has started, and ends."""

    process: subprocess.Popen[bytes] | None = None
    was_stopped = False
    """Whether it was stopped by a signal when it was told to end."""

    @property
    def has_process(self) -> bool:
        return self.process is not None

    async def poll(self) -> int | None:
        return self.process.poll() if self.process else 0

    async def wait(self) -> int | None:
        while self.process and self.process.poll() is None:
            await asyncio.sleep(0.01)
        code, self.process = await self.poll(), None
        return code

    async def send_signal(self, signum: int) -> None:
        if self.process and self.process.poll() is None:
            self.was_stopped |= is_stopped(self.process.pid)
            self.process.send_signal(signum)

    async def kill(self, restart: bool = False) -> None:
        await self.send_signal(signal.SIGKILL)

    async def terminate(self, restart: bool = False) -> None:
        await self.send_signal(signal.SIGTERM)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        raise RuntimeError("this kernel runs already")

    async def cleanup(self, restart: bool = False) -> None:
        pass


class _Client(AsyncKernelClient):
    """Takes a kernel as ready once it has answered by both of its ways.

    jupyter_client's own then waits a fifth of a second for more answers. nbclient passes over those that are not to it.
    """

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        """Wait until the kernel answers. Raises RuntimeError if it ends first, or takes longer than `timeout` s."""
        end = time.monotonic() + (timeout or float("inf"))
        while True:
            self.kernel_info()
            with contextlib.suppress(queue.Empty):
                await self.get_shell_msg(timeout=1)
                await self.get_iopub_msg(timeout=0.2)  # what is published before the kernel knows of us is lost
                return
            if not await self.is_alive():
                raise RuntimeError("the kernel ended before it answered")
            if time.monotonic() > end:
                raise RuntimeError(f"the kernel did not answer within {timeout} s")


def manager_of(process: subprocess.Popen[bytes], connection_file: Path) -> AsyncKernelManager:
    """The manager of a kernel that listens on the sockets that its connection file names."""
    manager = AsyncKernelManager(client_factory=_Client)
    manager.load_connection_file(str(connection_file))
    provisioner = _Running(parent=manager)
    provisioner.process = process
    manager.provisioner = provisioner
    return manager
