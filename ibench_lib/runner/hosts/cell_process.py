"""The process that runs one cell for another host: a request in JSON on standard input, the answer on standard output.

    python -m ibench_lib.runner.hosts.cell_process

A process of its own keeps what measures apart from what carries requests, gets the signals that end a run, and dies
with whoever started it. The workspace is this host's own (IBENCH_HOME).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from ibench_lib.base.scratch import PREFIX, scratch_directory, sweep_scratch
from ibench_lib.capture.host_facts import host_class_here
from ibench_lib.errors import IbenchError, LakeError, RunFailed, UsageError
from ibench_lib.experiment.cells import LoadedExperiment
from ibench_lib.paths import Workspace, workspace
from ibench_lib.runner.cell import run_cell
from ibench_lib.runner.hosts.shipment import code_identity, unpack
from ibench_lib.runner.ledger import is_running, running_alone
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import fit_cell, plan_cell
from ibench_lib.servers.find import find_build
from ibench_lib.servers.sandbox_directory import sweep
from ibench_lib.store.recover import recover_all
from ibench_lib.store.transfer import Store, open_store, push


def describe(experiment: LoadedExperiment, positions: list[int], place: Workspace) -> dict[str, Any]:
    """What this host is, and the builds that it has for the cells at `positions` of the experiment's order.

    Raises
    ------
    BuildNotFound, ConfigError, ExperimentError : a cell that cannot be run here.
    UsageError : somebody runs an experiment in this workspace.
    """
    if is_running(place):
        raise UsageError(
            f"an experiment is already running in its workspace, {place.root}",
            hint="a worker needs an IBENCH_HOME of its own",
        )
    cells = [cell for cell in experiment.cells() if cell.position in positions]
    builds = {label: find_build(label, place) for label in dict.fromkeys(cell.build_label for cell in cells)}
    for cell in cells:
        fit_cell(experiment, plan_cell(experiment, cell, builds[cell.build_label]), place)
    return {
        "host_class": host_class_here(place.sandboxes),
        "builds": {
            label: {
                "flavour": build.flavour,
                "version": build.version,
                "basedir": str(build.basedir),
                "source": build.source,
            }
            for label, build in builds.items()
        },
    }


def run(
    experiment: LoadedExperiment,
    position: int,
    fingerprint: str,
    store: str | None,
    place: Workspace,
    known: Collection[str] = (),
) -> dict[str, Any]:
    """Run one cell. `folder` of the answer is where its sealed run is; with `store` it is there as well.

    A cell that failed has an `error`, and a run, too, as far as it came. A complete run of the cell that has come to
    the store, and is not one of the `known`, stands for it: a worker that was given up, or whose answer was lost, has
    made it. So a store gets a cell once, whoever runs it twice; only two pushes in the same moment miss each other.
    """
    (cell,) = (cell for cell in experiment.cells() if cell.position == position)
    with running_alone(place):
        sweep(place.sandboxes)
        sweep_scratch()
        recover_all(place.runs)
        planned = plan_cell(experiment, cell, find_build(cell.build_label, place))
        if planned.fingerprint != fingerprint:
            build = planned.build
            raise UsageError(f"{cell}: build {build.label} has changed; it is now {build.version}")
        shared = None if store is None else open_store(store)
        if shared is not None and (made := _made_elsewhere(shared, fingerprint, known)) is not None:
            return {"run_id": made}
        before = _run_folders(place)
        answer: dict[str, Any] = {}
        try:
            run_cell(experiment, planned, place, Observer())
        except IbenchError as error:
            answer["error"] = _told(error)
        for folder in _run_folders(place) - before:
            answer |= {"run_id": folder.name, "folder": str(folder)}
            if shared is None:
                continue
            try:
                made = None if "error" in answer else _made_elsewhere(shared, fingerprint, known)
                if made is None:
                    push(folder, shared)
                else:
                    answer["run_id"] = made
            except LakeError as error:
                answer = {"error": _told(_not_pushed(folder, shared, error, answer.get("error")))}
    return answer


def _not_pushed(folder: Path, store: Store, error: LakeError, failure: dict[str, Any] | None) -> IbenchError:
    """What is said of a run that the store did not take: where it is. `failure` is that of its cell."""
    before = "" if failure is None else f"{failure['what']}; "
    return RunFailed(
        f"{before}run {folder.name} was not pushed, and stays in {folder.parent} of this worker: {error.what}",
        hint=f"once the store answers: `ibench runs push {store.url} {folder.name}` on the worker",
    )


def _made_elsewhere(store: Store, fingerprint: str, known: Collection[str]) -> str | None:
    """The complete run of a cell that has come to the store since its runs were `known`."""
    for run_id in sorted({*store.run_ids()} - {*known}):
        with suppress(LakeError):
            manifest = store.manifest(run_id)
            if manifest.status == "complete" and manifest.cell.fingerprint == fingerprint:
                return run_id
    return None


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """What is asked for, or the `error` that kept it from being done; always with the `code` that did it."""
    mine = {"code": code_identity()}
    if request["code"] != mine["code"]:
        return mine
    try:
        with scratch_directory(f"{PREFIX}cell-") as folder:
            experiment = unpack(request["experiment"], folder)
            if request["do"] == "describe":
                return mine | describe(experiment, request["positions"], workspace())
            wanted = request["position"], request["fingerprint"]
            return mine | run(experiment, *wanted, request["store"], workspace(), request["known"])
    except IbenchError as error:
        return mine | {"error": _told(error)}


def main() -> None:
    """Run one cell for the worker that started this process."""
    request = json.load(sys.stdin)
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)  # whatever else is printed is no part of the answer
        json.dump(answer(request), out)


def _run_folders(place: Workspace) -> set[Path]:
    return {path for path in place.runs.glob("*") if not path.name.startswith(".")}


def _told(error: IbenchError) -> dict[str, Any]:
    told = {"kind": type(error).__name__, "what": error.what, "hint": error.hint, "detail": error.detail}
    return told | {"lasting": error.lasting}


if __name__ == "__main__":
    main()
