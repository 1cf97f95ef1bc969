"""One step of a run: start its client processes together, collect what they measure, end them.

All workers connect first, then all run their probes, then all make their first operation, then all start their load at
one moment of one clock. So what a worker asks the server for its first operation competes with no probe. A worker that
dies or fails ends the step for all: a step never succeeds with fewer clients than it was asked for.
"""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ibench_lib.client.coupling import Coupling, make_pair
from ibench_lib.client.process import WorkerProcess
from ibench_lib.client.shared import make_shared
from ibench_lib.client.spec import Spec
from ibench_lib.errors import RunFailed, ServerLost, WorkerFailed
from ibench_lib.runner.messages import problem_of
from ibench_lib.runner.server import has_died
from ibench_lib.runner.silence import Watch
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.workloads.workload import Operation, Worker

START_DELAY_NS = 50_000_000
CONNECT_TIMEOUT_S = 60.0
STOP_GRACE_S = 3.0
PAUSE_S = 2.0
"""A runner that reads nothing for longer may have been stopped; so long it may take to store what it has read."""


@dataclass(frozen=True)
class StepResult:
    """What a step measured. `failure` is None for a complete step; `watch` knows who stood still."""

    start_ns: int | None
    workers: list[WorkerState]
    failure: BaseException | None
    watch: Watch = field(default_factory=lambda: Watch(lambda: None))


def run_step(
    *,
    workers: Sequence[tuple[Worker, Spec]],
    operations: Mapping[str, Operation],
    driver: str,
    address: dict[str, Any],
    database: str,
    server_alive: Callable[[], bool],
    on_start: Callable[[list[WorkerState], int], None],
    on_second: Callable[[WorkerState, dict[str, Any]], None],
    on_progress: Callable[[list[WorkerState], int | None], None],
    on_ready: Callable[[], None] = lambda: None,
    on_end: Callable[[], None] = lambda: None,
    server_pid: Callable[[], int | None] = lambda: None,
) -> StepResult:
    """Run one step to its end, also to a bad one: the sums are in the result, the reason in `failure`.

    `operations` are those of the workload, by name. `driver` is the server's driver (`ServerControl.driver`).

    `on_ready` is called when all workers only wait for their start, and may delay it. `on_start` gets the common start
    (CLOCK_MONOTONIC) of the load, just before it; `on_second` gets each second of each worker, a row of `ops`;
    `on_progress` is called about four times a second with the workers and the start (None before); `on_end` is called
    as soon as the last worker has ended. What these raise as a RunFailed ends the step. `server_pid` gives the
    process of a server on this host.
    """
    states = _start(workers, operations, driver, address, database)
    watch = Watch(server_pid)
    control = _Control(states, server_alive, on_second, on_progress, watch)
    failure: BaseException | None = None
    try:
        control.wait_for("ready", CONNECT_TIMEOUT_S)
        answer_s = max(spec.timeout_s for _, spec in workers) + CONNECT_TIMEOUT_S
        control.tell({"go": "probe"})
        control.wait_for("probed", answer_s)
        control.tell({"go": "make"})
        control.wait_for("made", answer_s)
        on_ready()
        control.start_ns = time.monotonic_ns() + START_DELAY_NS
        control.tell({"start_ns": control.start_ns})
        on_start(states, control.start_ns)
        control.wait_for("done", None)
        on_end()
    except (RunFailed, KeyboardInterrupt) as error:
        failure = error
        control.stop_all()
        on_end()
    finally:
        for state in states:
            state.process.kill()
        control.close()
    return StepResult(control.start_ns, states, failure, watch)


def _start(
    workers: Sequence[tuple[Worker, Spec]],
    operations: Mapping[str, Operation],
    driver: str,
    address: dict[str, Any],
    database: str,
) -> list[WorkerState]:
    states: list[WorkerState] = []
    ends = _pairs([worker for worker, _ in workers])
    shared = {client: make_shared() for client in {worker.client for worker, _ in workers if worker.shares}}
    try:
        for number, (worker, spec) in enumerate(workers):
            end = ends.get((worker.client, worker.role))
            descriptors = (end.take_fd, end.give_fd) if end else None
            number_of = shared[worker.client] if worker.shares else None
            process = WorkerProcess(worker.name, spec, driver, address, database, descriptors, number_of)
            states.append(WorkerState(number, worker, spec, process, operations))
    except BaseException:
        for state in states:
            state.process.kill()
        raise
    finally:
        coupled = {descriptor for end in ends.values() for descriptor in (end.take_fd, end.give_fd)}
        for descriptor in coupled | set(shared.values()):
            os.close(descriptor)  # the workers have their own copies
    return states


def _pairs(workers: Sequence[Worker]) -> dict[tuple[int, str], Coupling]:
    """The ends of the couplings between workers that keep step with each other, by client and role."""
    ends: dict[tuple[int, str], Coupling] = {}
    for worker in workers:
        if worker.pair is not None:
            ends[worker.client, worker.role], ends[worker.client, worker.pair] = make_pair()
    return ends


class _Control:
    """Talks to all workers of a step until each has reached a stage."""

    def __init__(
        self,
        states: list[WorkerState],
        server_alive: Callable[[], bool],
        on_second: Callable[[WorkerState, dict[str, Any]], None],
        on_progress: Callable[[list[WorkerState], int | None], None],
        watch: Watch,
    ) -> None:
        self.states = states
        self._watch = watch
        self.start_ns: int | None = None
        self._server_alive = server_alive
        self._on_second = on_second
        self._on_progress = on_progress
        self._selector = selectors.DefaultSelector()
        self._open: set[int] = set()
        self._read_s: dict[int, float] = {}
        self._waited: str | None = None
        for state in states:
            self._selector.register(state.process, selectors.EVENT_READ, state)
            self._open.add(state.number)

    def close(self) -> None:
        self._selector.close()

    def tell(self, message: dict[str, Any]) -> None:
        for state in self.states:
            state.process.send(message)

    def wait_for(self, stage: str, timeout_s: float | None) -> None:
        """Until every worker has reached `stage`.

        Raises
        ------
        WorkerFailed, ServerLost : one did not, and why.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            late = [state for state in self.states if state.stage != stage]
            if not late:
                return
            for state, ended in self._receive(0.25):
                self._check(state, ended)
            if self._waited:
                raise WorkerFailed(self._waited)
            if self.start_ns is not None:
                self._watch.look(self.states, self.start_ns)
            if self.start_ns is None or time.monotonic_ns() >= self.start_ns:
                self._on_progress(self.states, self.start_ns)
            if deadline is not None and time.monotonic() > deadline:
                raise WorkerFailed(f"{late[0].name} was not {stage} within {timeout_s:.0f} s")

    def stop_all(self) -> None:
        """Ask every worker to end after its operation in flight; one that does not within the grace is killed later."""
        for state in self.states:
            state.process.stop()
        deadline = time.monotonic() + STOP_GRACE_S
        while self._open and time.monotonic() < deadline:
            for _ in self._receive(0.1):
                pass

    def _receive(self, timeout_s: float) -> Iterable[tuple[WorkerState, bool]]:
        """Take in messages; yields each worker that said something, and whether it has ended."""
        for key, _ in self._selector.select(timeout_s):
            state: WorkerState = key.data
            self._look_whether_it_waits(state)
            messages, ended = state.process.receive()
            for message in messages:
                self._take_in(state, message)
            if ended:
                self._selector.unregister(state.process)
                self._open.discard(state.number)
            yield state, ended

    def _look_whether_it_waits(self, state: WorkerState) -> None:
        """A worker that waits until this process reads what it says sends nothing meanwhile: that is no result."""
        now_s = time.monotonic()
        pause_s, self._read_s[state.number] = now_s - self._read_s.get(state.number, now_s), now_s
        if pause_s > PAUSE_S and state.process.may_wait():
            self._waited = (
                f"{state.name} may have waited for the runner, which read nothing for {pause_s:.0f} s:"
                " it was stopped, or the machine was too busy"
            )

    def _check(self, state: WorkerState, ended: bool) -> None:
        error = None
        if state.stage == "failed":
            error = state.totals.get("error") if state.totals else None
        elif state.totals is not None and state.totals["status"] != "complete":
            error = state.totals["error"]
        elif ended and state.totals is None:
            error = f"died: {state.process.obituary()}"
        else:
            return
        if has_died(self._server_alive):
            raise ServerLost(f"the server died; {state.name}: {error}")
        raise WorkerFailed(f"{state.name}: {error}")

    def _take_in(self, state: WorkerState, message: dict[str, Any]) -> None:
        if problem := problem_of(message, state.operations):
            message = {"kind": "failed", "error": problem}
        kind = message["kind"]
        if kind == "second":
            row = message["row"]
            state.take(row)
            self._on_second(state, row)
            return
        if state.stage == "failed":
            return  # what it says later does not undo that
        state.stage = kind
        if kind == "probed":
            state.probes += message["probes"]
        elif kind == "done":
            state.totals = message["totals"]
            state.probes += message["probes"]
        elif kind == "failed":
            state.totals = {"status": "failed", "error": message["error"]}
