"""The manager of a kernel that runs already: jupyter_client starts its kernels itself, and late."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from pathlib import Path
from typing import Any

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


def manager_of(process: subprocess.Popen[bytes], connection_file: Path) -> AsyncKernelManager:
    """The manager of a kernel that listens on the sockets that its connection file names."""
    manager = AsyncKernelManager()
    manager.load_connection_file(str(connection_file))
    provisioner = _Running(parent=manager)
    provisioner.process = process
    manager.provisioner = provisioner
    return manager
