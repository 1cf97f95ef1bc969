"""The Dask workers of a scheduler: who is there, which of them can run an experiment's cells, and why others may not.

Workers that fit are like their leader: the same builds, and a host of the same class.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from ibench_lib.errors import IbenchError, UsageError
from ibench_lib.runner.hosts.worker import HEARTBEAT_S, RESOURCE, first_line, require_distributed, stop
from ibench_lib.runner.observer import Observer

ANSWER_S = 600.0
SILENT_S = 3 * HEARTBEAT_S
"""A worker that has sent no heartbeat for so long is worth a word. After minutes the scheduler drops it."""

SCHEDULER_S = 300.0
"""A scheduler that does not answer may be stopped, and go on: for so long. Then its own limit for workers is over."""

_CONNECT_S = 30.0
_LOOK_EVERY_S = 2.0
_OTHERS_S = 15.0
_SILENT = logging.CRITICAL + 1


@dataclass(eq=False)
class Worker:
    """A worker that answered. `id` is its process's own; `builds` is flavour, version, basedir and source by label."""

    address: str
    name: str
    id: str
    host_class: str
    builds: dict[str, dict[str, str]]

    @property
    def versions(self) -> dict[str, tuple[str, str]]:
        """Flavour and version of each build."""
        return {label: (build["flavour"], build["version"]) for label, build in self.builds.items()}

    def remote(self, label: str) -> str | None:
        """Where the remote server of that label is, host:port; None of a build, which each worker has for itself."""
        build = self.builds.get(label, {})
        return build["basedir"] if build.get("source") == "remote" else None


@dataclass
class _Seen:
    """When the scheduler last heard of a worker, as it says, and since when we have known that (time.monotonic)."""

    heard: Any
    since_s: float
    is_silent: bool = False


@contextmanager
def connected(scheduler: str) -> Iterator[Any]:
    """A Dask client of the scheduler at an address. It logs nothing: what matters of its errors is raised, in one line.

    Raises
    ------
    UsageError : nobody answers there, or Dask is not installed.
    """
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    require_distributed()  # sets the levels when it is imported
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(_SILENT)
    try:
        with _client(scheduler) as client:
            yield client
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _client(scheduler: str) -> Iterator[Any]:
    try:
        client = require_distributed().Client(scheduler, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise UsageError(
            f"no Dask scheduler answers at {scheduler}: {first_line(error)}",
            hint="start one with `dask scheduler --no-dashboard`, and `ibench worker ADDRESS` on each machine",
        ) from error
    try:
        yield client
    finally:
        client.close(timeout=10)


class WorkerPool:
    """Those who run the cells. `observer` hears of each worker that may not, and of those that send no heartbeat.

    `request` is what every question to a worker holds, `positions` are the cells in question, `module` answers there.
    """

    def __init__(
        self,
        client: Any,
        request: Mapping[str, Any],
        positions: list[int],
        module: str,
        observer: Observer,
    ) -> None:
        self.fit: dict[str, Worker] = {}
        self._client, self._request, self._positions = client, request, positions
        self._module, self._observer = module, observer
        self._where = client.scheduler.address
        self._names: dict[str, str] = {}
        self._seen: dict[str, _Seen] = {}
        self._asked: dict[str, Any] = {}
        self._answered: dict[str, Worker] = {}
        self._refusals: dict[str, str] = {}
        self._leader: Worker | None = None
        self._any_host = False
        self._looked_s = -_LOOK_EVERY_S
        self._watched_s = 0.0
        self._unanswered_s: float | None = None

    def candidates(self, wait_s: float) -> list[Worker]:
        """Those that can run the cells, of the commonest kind first.

        All that are there have answered by then, or been given time to. `wait_s` is how long to wait for the first one.

        Raises
        ------
        UsageError : there is none.
        """
        until = time.monotonic() + wait_s
        while time.monotonic() < until:
            self.look()
            if not self._asked and (self._answered or self._refusals):
                break
            if self._answered:  # others may be at somebody else's cells for hours
                until = min(until, time.monotonic() + _OTHERS_S)
            time.sleep(0.1)
        workers = list(self._answered.values())
        if not workers:
            known = [f"{name}: {reason}" for name, reason in self._refusals.items()]
            known += [
                f"{self._names[address]}: no answer; it may be running a cell of another experiment"
                for address in self._asked
            ]
            raise UsageError(
                f"no worker of {self._where} can run these cells" + (f": {known[0]}" if known else ""),
                hint="start one with `ibench worker ADDRESS` on a machine",
                detail="\n".join(known[1:]) or None,
            )
        kinds = Counter((worker.host_class, str(worker.versions)) for worker in workers)
        return sorted(workers, key=lambda one: (-kinds[one.host_class, str(one.versions)], one.name))

    def lead(self, leader: Worker, *, any_host: bool) -> None:
        """From now on others fit that are like this one; with `any_host` whatever their hosts."""
        self._leader, self._any_host = leader, any_host
        for worker in self._answered.values():
            self._judge(worker)

    def submit(self, worker: Worker, position: int, fingerprint: str) -> Any:
        """Hand a cell to a worker: to this process of it, and to no other. Returns the future of its answer."""
        request = {**self._request, "do": "run", "position": position, "fingerprint": fingerprint}
        return self._submit(worker.address, request, worker.id)

    def ready(self) -> list[Worker]:
        """Those that fit and may get a cell, by name. A silent one gets none: it goes on, or Dask drops it."""
        silent = {address for address, seen in self._seen.items() if seen.is_silent}
        return sorted((one for one in self.fit.values() if one.address not in silent), key=lambda one: one.name)

    def stop(self, workers: Sequence[Worker]) -> None:
        """End the cells under way there.

        Where the scheduler is gone, or does not answer, nobody can be asked to, and `look` says so.
        """
        there = [worker.address for worker in workers if worker.address in self.fit]
        with suppress(OSError):
            if there:
                # `run` gives the limit on to the loop that waits; the scheduler's own handlers have none.
                self._client.run(stop, workers=there, on_error="ignore", callback_timeout=_CONNECT_S)

    def look(self, *, now: bool = False) -> None:
        """See who is there, every two seconds or `now`, and ask those who are new what they are.

        A scheduler that does not answer is waited for, for a while.

        Raises
        ------
        IbenchError : the scheduler is gone.
        """
        if now or time.monotonic() - self._looked_s >= _LOOK_EVERY_S:
            self._looked_s = time.monotonic()
            workers = self._there()
            if workers is None:
                return
            there = {address: str(facts["name"]) for address, facts in workers.items()}
            for address in [*self._names]:
                if self._names[address] != there.get(address):
                    self.forget(address)
            self._watch(workers)
            for address, name in there.items():
                if address not in self._names:
                    self._names[address] = name
                    request = {**self._request, "do": "describe", "positions": self._positions}
                    self._asked[address] = self._submit(address, request, None)
        for address, future in [*self._asked.items()]:
            if future.done():
                del self._asked[address]
                self._heard(address, future)

    def forget(self, address: str) -> None:
        """A worker is gone, or another process by now: the next process at its address is asked again."""
        asked = self._asked.pop(address, None)
        if asked is not None:
            asked.cancel()
        self.fit.pop(address, None)
        self._answered.pop(address, None)
        self._names.pop(address, None)
        self._seen.pop(address, None)

    def _watch(self, workers: Mapping[str, Mapping[str, Any]]) -> None:
        """Tell once that a worker sends no heartbeats, and once that it does again.

        The scheduler says when it had the last one, by a clock that is not ours: what counts is that this changes.
        A time in which the scheduler, or this process, stood still tells nothing of the workers.
        """
        now_s = time.monotonic()
        before_s, self._watched_s = self._watched_s, now_s
        for address, facts in workers.items():
            heard, name = facts.get("last_seen"), str(facts["name"])
            seen = self._seen.setdefault(address, _Seen(heard, now_s))
            silent_s = now_s - seen.since_s
            if heard != seen.heard:
                if seen.is_silent:
                    self._observer.worker_back(name, silent_s)
                self._seen[address] = _Seen(heard, now_s)
            elif seen.is_silent:
                continue
            elif now_s - before_s > HEARTBEAT_S:
                seen.since_s = now_s
            elif silent_s >= SILENT_S:
                seen.is_silent = True
                self._observer.worker_silent(name, silent_s)

    def _there(self) -> dict[str, dict[str, Any]] | None:
        """What the scheduler knows of the workers that take cells, by address; None if it does not answer yet.

        Asked of the scheduler itself: what the client keeps is at times without workers, and outlives the scheduler.
        """
        begun_s = time.monotonic()
        try:
            scheduler = self._client.scheduler
            if scheduler is None:
                raise OSError("the connection was closed")
            known = self._client.sync(scheduler.identity, n_workers=-1, callback_timeout=_CONNECT_S)["workers"]
        except (OSError, TimeoutError) as error:
            if isinstance(error, TimeoutError) and self._client.status == "running":  # it is stopped, or far too busy
                if self._unanswered_s is None:
                    self._unanswered_s = begun_s
                    self._observer.scheduler_silent(time.monotonic() - begun_s)
                silent_s = time.monotonic() - self._unanswered_s
                if silent_s < SCHEDULER_S:
                    return None
                raise IbenchError(
                    f"the scheduler at {self._where} has not answered for {silent_s:.0f} s",
                    hint="its workers may finish their cells: `ibench runs` on each lists its runs; once the scheduler "
                    "answers, run the experiment again",
                ) from error
            raise IbenchError(
                f"the scheduler at {self._where} has disappeared: {first_line(error)}",
                hint="if it has ended, so have its workers: restart them, then run the experiment again; finished "
                "cells do not run again",
            ) from error
        if self._unanswered_s is not None:
            self._observer.scheduler_back(time.monotonic() - self._unanswered_s)
            self._unanswered_s = None
        return {
            address: facts
            for address, facts in known.items()
            if facts["resources"].get(RESOURCE, 0) >= 1 and facts["status"] in ("running", "paused")
        }

    def _submit(self, address: str, request: Mapping[str, Any], worker_id: str | None) -> Any:
        return self._client.submit(
            _ask_there(),
            self._module,
            json.dumps(request),
            worker_id,
            workers=[address],
            allow_other_workers=False,
            resources={RESOURCE: 1},
            pure=False,
        )

    def _heard(self, address: str, future: Any) -> None:
        """Take the answer of a worker. Raises IbenchError if there is none because the scheduler is gone."""
        name = self._names[address]
        try:
            answer = future.result(timeout=ANSWER_S)
            mine, theirs = self._request["code"], answer.get("code")
            if theirs is not None and theirs != mine:
                self._refuse(name, f"it runs a different version of ibench, {theirs}; this is {mine}")
            elif "error" in answer:
                self._refuse(name, str(answer["error"]["what"]))
            else:
                worker = Worker(address, name, answer["worker"], answer["host_class"], answer["builds"])
                self._answered[address] = worker
                if self._leader is not None:
                    self._judge(worker)
        except Exception as error:  # whatever a foreign installation raises
            if isinstance(error, require_distributed().CancelledError):
                self._there()  # if the scheduler is gone, that is no fault of the worker's
            self._refuse(name, f"{type(error).__name__}: {first_line(error)}")

    def _judge(self, worker: Worker) -> None:
        leader = self._leader
        assert leader is not None
        for label, (flavour, version) in worker.versions.items():
            if (flavour, version) != (expected := leader.versions[label]):
                self._refuse(worker.name, f"build {label} is {version} there, and {expected[1]} on {leader.name}")
                return
        if worker.host_class != leader.host_class and not self._any_host:
            others = f"this experiment's runs are made on {leader.host_class}"
            self._refuse(worker.name, f"its host is {worker.host_class}; {others}")
        else:
            self.fit[worker.address] = worker

    def _refuse(self, name: str, reason: str) -> None:
        if self._refusals.get(name) != reason:
            self._refusals[name] = reason
            self._observer.worker_refused(name, reason)


def _ask_there() -> Callable[[str, str, str | None], dict[str, Any]]:
    """`remote_worker.ask`, as the worker has it.

    A function made here travels as code: the scheduler, which unpacks tasks as well, need not have this library.
    """

    def ask(module: str, request: str, worker_id: str | None) -> dict[str, Any]:
        from ibench_lib.runner.hosts import worker as remote_worker

        return remote_worker.ask(module, request, worker_id)

    return ask
