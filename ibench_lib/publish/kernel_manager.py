"""The manager of a kernel that runs already: jupyter_client starts its kernels itself, and late."""

from __future__ import annotations

import asyncio
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

    jupyter_client's own also takes the answer by one, and then waits a fifth of a second for more by the other.
    """

    async def wait_for_ready(self, timeout: float | None = None) -> None:
        """Wait until the kernel answers. Raises RuntimeError if it ends first, or takes longer than `timeout` s."""
        end = time.monotonic() + (timeout or float("inf"))
        while not await self._answers():
            if not await self.is_alive():
                raise RuntimeError("the kernel ended before it answered")
            if time.monotonic() > end:
                raise RuntimeError(f"the kernel did not answer within {timeout} s")

    async def _answers(self) -> bool:
        """Whether the kernel answers now: what it publishes is lost until it knows of this client."""
        asked = self.kernel_info()
        try:
            while not _is_of(await self.get_shell_msg(timeout=1), asked):
                pass
            while not (_is_of(message := await self.get_iopub_msg(timeout=0.2), asked) and _is_idle(message)):
                pass
        except queue.Empty:
            return False
        return True


def _is_of(message: dict[str, Any], request: str) -> bool:
    return bool(message["parent_header"].get("msg_id") == request)


def _is_idle(message: dict[str, Any]) -> bool:
    return bool(message["msg_type"] == "status" and message["content"]["execution_state"] == "idle")


def manager_of(process: subprocess.Popen[bytes], connection_file: Path) -> AsyncKernelManager:
    """The manager of a kernel that listens on the sockets that its connection file names."""
    manager = AsyncKernelManager(client_factory=_Client)
    manager.load_connection_file(str(connection_file))
    provisioner = _Running(parent=manager)
    provisioner.process = process
    manager.provisioner = provisioner
    return manager
