"""A small run that is killed at one of its system calls: the main program of `test_recover.py`.

    python -m tests.store.failpoints WORKSPACE

Forks one child for each call that changes the disk; each child makes the same run and kills itself just before that
call, which is also just after the one before.

Prints one line per child: its number, what it had been promised by then, and whether it lived to the end.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas  # noqa: F401  (pyarrow would import it in each child anew)

from ibench_lib.paths import Workspace
from ibench_lib.store.manifest import Manifest
from ibench_lib.store.writer import RunWriter
from tests.store.written import manifest, second
from tests.synthetic import flushed

CALLS = ("replace", "rename", "fsync", "unlink", "rmdir")
STEPS = 2


def main() -> None:
    place = Workspace(Path(sys.argv[1]))
    moment = 0
    while True:
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.close(reader)
            die_at(moment)
            make_run(place, f"r{moment:03d}", writer)
            os._exit(0)
        os.close(writer)
        with open(reader) as told:
            promised = told.read().split()
        _, status = os.wait()
        print(moment, ",".join(promised) or "-", "killed" if os.WIFSIGNALED(status) else "lived", flush=True)
        if not os.WIFSIGNALED(status):
            return
        moment += 1


def make_run(place: Workspace, run_id: str, told: int) -> None:
    """The run; what it may be held to is written to the descriptor `told`."""

    def tell(done: str) -> None:
        os.write(told, f" {done}".encode())

    writer = RunWriter(place.run_dir(run_id), flush_every_s=0.002)
    running: Manifest = manifest(run_id, workload={"resolved_steps": [{"name": f"s{n}"} for n in range(STEPS)]})
    writer.write_manifest(running)
    tell("begun")
    for step_id in range(STEPS):
        step = {"step_id": step_id, "step": f"s{step_id}", "kind": "load", "clients": 1, "start_s": 1.0 + step_id}
        writer.append("steps", **step, status="running", end_s=1.0 + step_id, duration_s=0.0)
        for number in range(4):
            writer.append("ops", **second(number, step_id))
        writer.append("steps", **step, status="complete", end_s=5.0 + step_id, duration_s=4.0)
        flushed(writer)  # what is promised next is in the journal
        tell(f"step{step_id}")
        writer.seal_step(running)
    writer.seal(running.model_copy(update={"status": "complete"}))
    tell("sealed")


def die_at(moment: int) -> None:
    """Let this process be killed before its call with the number `moment`."""
    calls = 0

    def deadly(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal calls
            number, calls = calls, calls + 1
            if number == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **named)

        return call

    for name in CALLS:
        setattr(os, name, deadly(getattr(os, name)))


if __name__ == "__main__":
    main()
