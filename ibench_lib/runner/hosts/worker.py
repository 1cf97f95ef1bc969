"""What of this library runs inside a Dask worker: a process is started for each request, and waited for.

Dask carries the request and the answer. While a cell measures, its worker only waits for that process and sends
heartbeats; `serve` starts a worker that does as little else as Dask lets it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

from ibench_lib.base.python_process import python_module, python_path
from ibench_lib.base.tether import tethered
from ibench_lib.errors import IbenchError, Interrupted, RunFailed, UsageError

RESOURCE = "ibench"
HEARTBEAT_S = 10.0

_TIDY_UP_S = 60
_running: set[subprocess.Popen[str]] = set()


def ask(module: str, request: str, worker_id: str | None) -> dict[str, Any]:
    """Start the module's process, hand it the request, and return its answer; of a run, also the `files`.

    The answer has the `worker` that gave it: one process, which a restarted worker at the same address is not. With
    `worker_id` no other one does anything: it would be a second time, unknown to whoever asked.
    """
    from distributed import get_worker

    mine = str(get_worker().id)
    if worker_id not in (None, mine):
        return {"worker": mine, "not_me": True}
    process = subprocess.Popen(
        tethered(python_module(module)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": python_path()},
    )
    _running.add(process)
    try:
        out, err = process.communicate(request)
    finally:
        _running.discard(process)
    try:
        answer: dict[str, Any] = json.loads(out)
    except ValueError:
        ended = f"exit {process.returncode}" if process.returncode >= 0 else f"signal {-process.returncode}"
        last = (err.strip().splitlines() or ["no output"])[-1]
        what = f"the process of the cell ended without an answer ({ended}): {last}"
        kind = Interrupted if process.returncode == -signal.SIGTERM else RunFailed  # told to stop, outside of a run
        answer = {"error": {"kind": kind.__name__, "what": what, "hint": None, "detail": err[-4000:] or None}}
    if json.loads(request).get("store") is None and "folder" in answer:
        answer["files"] = {path.name: path.read_bytes() for path in Path(answer["folder"]).iterdir() if path.is_file()}
    return {**answer, "worker": mine}


def stop() -> None:
    """End the cell under way as Ctrl-C would: its run is sealed as interrupted. Returns at once."""
    for process in tuple(_running):
        process.terminate()


def serve(address: str, name: str | None = None) -> None:
    """Be a worker for the cells of others until SIGINT or SIGTERM, or until the scheduler is gone.

    Raises
    ------
    UsageError : the package that this needs is missing.
    IbenchError : the scheduler cannot be reached, or has a worker of that name.
    """
    distributed = require_distributed()
    import asyncio

    import dask

    class QuietWorker(distributed.Worker):  # type: ignore[misc, name-defined]
        """Beats every ten seconds, whatever rhythm the scheduler proposes."""

        async def heartbeat(self) -> None:
            await super().heartbeat()
            self.periodic_callbacks["heartbeat"].callback_time = HEARTBEAT_S * 1000

        async def close(self, *arguments: Any, **options: Any) -> Any:
            stop()
            return await super().close(*arguments, **options)

    async def until_told() -> None:
        loop, told = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, told.set)
        worker = QuietWorker(
            address, nthreads=1, name=name or socket.gethostname(), resources={RESOURCE: 1}, memory_limit=0
        )
        # Dask goes on asking for a scheduler that does not answer, so what tells it to end is waited for meanwhile.
        ending, starting = asyncio.create_task(told.wait()), asyncio.ensure_future(worker.start())
        await asyncio.wait({ending, starting}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            raise RuntimeError("ended before the scheduler had answered")
        await starting
        async with worker:
            await asyncio.wait({ending, asyncio.create_task(worker.finished())}, return_when=asyncio.FIRST_COMPLETED)
            stop()
            await worker.close(timeout=_TIDY_UP_S)

    with dask.config.set(_QUIET):
        try:
            asyncio.run(until_told())
        except (OSError, ValueError, RuntimeError, TimeoutError) as error:
            raise IbenchError(
                f"no worker of {address}: {first_line(error)}",
                hint="check that `dask scheduler` is running there, and that no other worker has this name",
            ) from error


def require_distributed() -> Any:
    """The package `distributed`. Raises UsageError where it is missing."""
    try:
        import distributed
    except ImportError as error:
        raise UsageError(
            f"Dask is not installed: {error}", hint="pip install 'ibench[dask]' on every host that runs cells"
        ) from error
    return distributed


def first_line(error: BaseException) -> str:
    """What an error of somebody else's says first, or what it is."""
    return (str(error).splitlines() or [type(error).__name__])[0]


# What Dask does in a worker all the time, however idle: profile its threads, watch memory, disks, its own event loop
# and the interpreter's lock. None of it is of use to a worker that waits, and all of it is CPU while a cell measures.
_QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.cycle": "10s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.diagnostics.nvml": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}
