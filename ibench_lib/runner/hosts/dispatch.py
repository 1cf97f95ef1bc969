"""Cells on their way through a crew: handed out, taken in, and handed out again when a worker dies.

Each cell is pinned to one worker and handed out when that one is free, so that what is under way where is known here
and nobody queues. A worker that dies is noticed by its absence: its cell is run again elsewhere, and the ledger has
both attempts. What comes from a worker that was given up is not asked for any more, so no cell has two runs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ibench_lib.base.signals import Patience, signals_as_interrupts
from ibench_lib.base.wording import count
from ibench_lib.errors import IbenchError, Interrupted, RunFailed
from ibench_lib.runner.hosts.crew import ANSWER_S, Worker, WorkerPool
from ibench_lib.runner.hosts.worker import require_distributed
from ibench_lib.runner.ledger import State
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.runner.sweep import SweepResult, Tally
from ibench_lib.store.manifest import Manifest

Receive = Callable[[PlannedCell, Worker, Mapping[str, Any]], Manifest]

_WIND_UP_S = 120.0
_DEATHS = 3


@dataclass(eq=False)
class _Task:
    """A cell under way."""

    number: int
    entry: PlannedCell
    worker: Worker
    attempt: int
    future: Any


class Dispatch:
    """Runs what is planned on a crew. `receive` takes a run in that a worker's answer speaks of.

    `wait_s` is how long to go on without any worker.
    """

    def __init__(
        self,
        planned: list[PlannedCell],
        crew: WorkerPool,
        tally: Tally,
        observer: Observer,
        receive: Receive,
        wait_s: float,
    ) -> None:
        self._planned, self._crew, self._tally = planned, crew, tally
        self._observer, self._receive, self._wait_s = observer, receive, wait_s
        self._waiting = [(number, entry) for number, entry in enumerate(planned, start=1) if entry.run_id is None]
        self._tasks: list[_Task] = []
        self._deaths: Counter[int] = Counter()
        self._winding_up = False
        self._alone_since_s: float | None = None

    def run(self, *, fail_fast: bool) -> SweepResult:
        """All cells.

        Raises
        ------
        CellsFailed : as `Tally.verdict` does.
        Interrupted : Ctrl-C; the first one lets cells under way end, a second one ends them.
        RunFailed : no worker is left.
        """
        for number, entry in enumerate(self._planned, start=1):
            if entry.run_id is not None:
                self._tally.skipped(number, entry.cell, entry.run_id)
        patience = Patience(self._observer.stopping)
        with signals_as_interrupts(patience):
            try:
                while True:
                    no_more = patience.asked_to_stop or (fail_fast and self._tally.failures)
                    if not self._tasks and (no_more or not self._waiting):
                        break
                    self._crew.look()
                    self._collect()
                    if not no_more:
                        self._hand_out()
                    time.sleep(0.1)
            except KeyboardInterrupt:
                self._wind_up()
                raise Interrupted(
                    f"interrupted, {count(len(self._tally.result.made), 'run')} made",
                    hint="run the experiment again to continue",
                ) from None
            except BaseException as error:
                self._give_up("lost", f"{type(error).__name__}: {error}")
                raise
        result = self._tally.verdict()
        if self._waiting:
            raise Interrupted(
                f"stopped with {count(len(self._waiting), 'cell')} left", hint="run the experiment again to continue"
            )
        return result

    def _hand_out(self) -> None:
        busy = {task.worker.address for task in self._tasks}
        ready = self._crew.ready()
        for worker in ready:
            while worker.address not in busy and (turn := self._next(worker)) is not None:
                number, entry = self._waiting.pop(turn)
                if self._tally.not_tried(number, entry):
                    continue
                busy.add(worker.address)
                attempt = self._tally.begins(number, entry, worker.name)
                future = self._crew.submit(worker, entry.cell.position, entry.fingerprint)
                self._tasks.append(_Task(number, entry, worker, attempt, future))
        if self._tasks or not self._waiting or len(ready) < len(self._crew.fit):  # a silent worker is there
            self._alone_since_s = None
        elif self._alone_since_s is None:
            self._alone_since_s = time.monotonic()
        elif time.monotonic() - self._alone_since_s > self._wait_s:
            raise RunFailed(
                f"no worker is left, and {count(len(self._waiting), 'cell')} still to run",
                hint="start one with `ibench worker ADDRESS` on a machine, then run the experiment again",
            )

    def _next(self, worker: Worker) -> int | None:
        """Index of the first waiting cell whose server is free: two cells on one remote server measure each other."""
        used = {task.worker.remote(task.entry.cell.build_label) for task in self._tasks} - {None}
        free = (
            index for index, (_, entry) in enumerate(self._waiting) if worker.remote(entry.cell.build_label) not in used
        )
        return next(free, None)

    def _collect(self) -> None:
        """Take in what has ended, and give up what died."""
        for task in [*self._tasks]:
            if self._crew.fit.get(task.worker.address) is not task.worker:
                self._lost(task)
            elif task.future.done():
                answer = self._answer_of(task)
                if answer is None or "not_me" in answer:
                    self._crew.look(now=True)  # when it is the scheduler that is gone, this says so
                    self._crew.forget(task.worker.address)
                    self._lost(task)
                else:
                    self._tasks.remove(task)
                    self._ended(task, answer)

    def _answer_of(self, task: _Task) -> dict[str, Any] | None:
        """None if there is no answer: the worker died, and Dask noticed first."""
        distributed = require_distributed()
        try:
            answer = task.future.result(timeout=ANSWER_S)
            return answer if isinstance(answer, dict) else {"error": answer or "nothing"}
        except (distributed.KilledWorker, distributed.CancelledError, OSError, TimeoutError):
            return None
        except Exception as error:  # a bug on the other side is this cell's failure, not the experiment's
            return {"error": {"kind": "RunFailed", "what": f"{type(error).__name__}: {error}"}}

    def _ended(self, task: _Task, answer: Mapping[str, Any]) -> None:
        cell, name, told = task.entry.cell, task.worker.name, _told(answer.get("error"))
        manifest, error = None, None
        try:
            manifest = self._receive(task.entry, task.worker, answer) if "run_id" in answer else None
        except IbenchError as problem:
            error = problem
        except Exception as problem:  # an answer may be anything, and our disk may be full: this cell's failure
            error = RunFailed(f"{name}: {cell}: its run cannot be taken in: {type(problem).__name__}: {problem}")
        run_id = None if manifest is None else manifest.run_id
        if told is not None and told["kind"] == Interrupted.__name__:
            self._tally.ended(task.attempt, "interrupted", f"{name}: {told['what']}", run_id)
            if not self._winding_up:  # whoever looks after the worker has ended it, and may be ending the worker
                self._crew.forget(task.worker.address)
                self._again(task)
            return
        if told is not None:
            error = RunFailed(f"{name}: {told['what']}", hint=told.get("hint"), detail=told.get("detail"))
            error.lasting = told.get("lasting", False)
        elif error is None and manifest is None and "code" in answer and "run_id" not in answer:
            changed = f"its ibench has changed since it was given the cell, and is {answer['code']!s:.80} now"
            error = RunFailed(f"{name}: {cell}: {changed}", hint="let all hosts have one version, then run it again")
        elif error is None and (manifest is None or manifest.status != "complete"):
            error = RunFailed(f"{name}: {cell}: it produced no complete run")
        if error is not None:
            self._tally.failed(task.attempt, cell, error, name, run_id)
        elif manifest is not None:
            self._tally.completed(task.attempt, cell, manifest, name)

    def _lost(self, task: _Task) -> None:
        self._tasks.remove(task)
        task.future.cancel()
        self._tally.ended(task.attempt, "lost", f"worker {task.worker.name} died")
        self._again(task)

    def _again(self, task: _Task) -> None:
        """The cell is the next to be handed out, unless that has cost too many workers."""
        cell, name = task.entry.cell, task.worker.name
        self._observer.cell_lost(cell, name)
        self._deaths[cell.position] += 1
        if (deaths := self._deaths[cell.position]) < _DEATHS:
            self._waiting.insert(0, (task.number, task.entry))
        else:
            self._tally.failed(task.attempt, cell, RunFailed(f"{cell}: {deaths} workers died while running it"), name)

    def _wind_up(self) -> None:
        """End the cells under way, and take in what they had captured."""
        self._winding_up = True
        with suppress(IbenchError):  # the scheduler is gone
            self._crew.stop([task.worker for task in self._tasks])
            until = time.monotonic() + _WIND_UP_S
            while self._tasks and time.monotonic() < until:
                self._crew.look()
                self._collect()
                time.sleep(0.1)
        self._give_up("interrupted", "interrupted by the user")

    def _give_up(self, state: State, error: str) -> None:
        for task in self._tasks:
            self._tally.ended(task.attempt, state, error)


def _told(error: Any) -> dict[str, Any] | None:
    """The error of an answer; what is no error of ours becomes one."""
    if error is None:
        return None
    if not isinstance(error, Mapping) or not all(isinstance(error.get(key), str) for key in ("kind", "what")):
        return {"kind": RunFailed.__name__, "what": f"its answer cannot be used: {error!r:.200}"}
    texts = {key: error[key] for key in ("hint", "detail") if isinstance(error.get(key), str)}
    return {"kind": error["kind"], "what": error["what"], "lasting": error.get("lasting") is True, **texts}
