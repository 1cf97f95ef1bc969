"""All cells of an experiment, on other hosts: Dask workers run them, their sealed runs come back to this lake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ibench_lib.errors import LakeError, UsageError
from ibench_lib.experiment.cells import LoadedExperiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.hosts.crew import Worker, WorkerPool, connected
from ibench_lib.runner.hosts.dispatch import Dispatch
from ibench_lib.runner.hosts.shipment import code_identity, pack, receive
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import choose, manifests, mixed_with, plan_experiment
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.runner.sweep import SweepResult, Tally, conduct
from ibench_lib.servers.build import Build
from ibench_lib.store.manifest import Manifest
from ibench_lib.store.transfer import Store, open_store

CELL_PROCESS = "ibench_lib.runner.hosts.cell_process"

_WAIT_S = 120.0


def run_on_workers(
    experiment: LoadedExperiment,
    workspace: Workspace,
    observer: Observer,
    scheduler: str,
    *,
    again: bool = False,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    fail_fast: bool = False,
    any_host: bool = False,
    store: str | None = None,
    wait_s: float = _WAIT_S,
    cell_process: str = CELL_PROCESS,
) -> SweepResult:
    """What `run_experiment` does, on the workers of a Dask scheduler; labels of builds mean theirs.

    Workers run this very code and are of one host class, that of the runs which stand for cells of the experiment
    already, else that of most workers; with `any_host` they may differ. With `store` runs are pushed there by the
    workers and do not come here. `wait_s` is how long to wait for a worker where there is none.

    Raises
    ------
    UsageError : no worker fits, Dask is not installed, or the experiment has `snapshot_after`.
    IbenchError : the scheduler is gone.
    CellsFailed, Interrupted, RunFailed : as `Dispatch.run` does.
    """
    if experiment.spec.snapshot_after is not None:
        raise UsageError(
            f"{experiment.name}: snapshot_after shares a data directory on one host, but workers are on other hosts",
            hint="run it without --scheduler, on the host that has the builds, or without snapshot_after",
        )
    shared = None if store is None else open_store(store)
    request: dict[str, Any] = {"code": code_identity(), "experiment": pack(experiment), "store": store, "known": []}
    positions = [cell.position for cell in choose(experiment.cells(), only, without)]
    with connected(scheduler) as client:
        crew = WorkerPool(client, request, positions, cell_process, observer)

        def plan() -> list[PlannedCell]:
            elsewhere = [] if shared is None else _stored(shared)
            request["known"] = [run.run_id for run in elsewhere]
            runs, reasons = [*elsewhere, *manifests(workspace)], []
            for worker in crew.candidates(wait_s):
                builds = {label: _build(label, build) for label, build in worker.builds.items()}
                planned = plan_experiment(
                    experiment, workspace, only=only, without=without, again=again, builds=builds, elsewhere=elsewhere
                )
                reason = None if any_host else mixed_with(experiment, planned, runs, worker.host_class)
                if reason is None:
                    crew.lead(worker, any_host=any_host)
                    return planned
                reasons.append(f"{worker.name}: {reason}")
            raise UsageError(
                f"no worker has a suitable host: {reasons[0]}",
                hint="start a worker of that class, or use --any-host to mix figures of different hosts",
                detail="\n".join(reasons[1:]) or None,
            )

        def take_in(entry: PlannedCell, worker: Worker, answer: Mapping[str, Any]) -> Manifest:
            return receive(answer, entry, worker.name, worker.host_class, workspace, shared)

        def work(planned: list[PlannedCell], tally: Tally) -> SweepResult:
            return Dispatch(planned, crew, tally, observer, take_in, wait_s).run(fail_fast=fail_fast)

        return conduct(experiment, workspace, observer, plan, work)


def _stored(store: Store) -> list[Manifest]:
    """Of all runs in a store that can be read."""
    manifests = []
    for run_id in store.run_ids():
        try:
            manifests.append(store.manifest(run_id))
        except LakeError:
            continue
    return manifests


def _build(label: str, found: Mapping[str, str]) -> Build:
    """A build that another host has, as far as it matters here: nothing of it is started."""
    return Build(label, found["flavour"], found["version"], Path(found["basedir"]), (), "worker")
