"""Which cells of an experiment are done, which are to be run, and why: by the lake, the ledger and the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fnmatch import fnmatchcase

from ibench_lib.capture.host_facts import host_class
from ibench_lib.client.driver import DriverMissing
from ibench_lib.errors import ExperimentError, LakeError, UsageError
from ibench_lib.experiment.cells import Cell, LoadedExperiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.connections import demand
from ibench_lib.runner.fit import fit
from ibench_lib.runner.folders import require_apart, require_folders
from ibench_lib.runner.ledger import Attempt, Ledger
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.planned import PlannedCell, What
from ibench_lib.runner.snapshot.kept import find as find_snapshot
from ibench_lib.runner.snapshot.sharing import share
from ibench_lib.runner.snapshot.use import planned_settings, steps_loaded
from ibench_lib.servers.build import Build
from ibench_lib.servers.find import find_build
from ibench_lib.servers.flavours.flavour import flavour_of, rules_of
from ibench_lib.servers.remote import Remote
from ibench_lib.servers.server import AnyBuild
from ibench_lib.store.annotations import excluded_runs
from ibench_lib.store.discovery import LakeContents, run_dirs
from ibench_lib.store.manifest import Manifest, read_manifest


def plan_experiment(
    experiment: LoadedExperiment,
    workspace: Workspace,
    *,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    again: bool = False,
    builds: Mapping[str, Build | Remote] | None = None,
    elsewhere: Sequence[Manifest] = (),
    fits: bool = True,
    observer: Observer | None = None,
) -> list[PlannedCell]:
    """Every chosen cell in the experiment's order. Nothing is run; servers are asked whether they know their options.

    Without `fits` they are asked for their versions only: a process for each build, in place of one for each
    configuration as well. With `builds`, those of another host, nothing is asked: it was done there. `elsewhere` are
    runs of another lake that count like those of this one.

    Raises
    ------
    BuildNotFound, ConfigError, ExperimentError : a cell that could not be run.
    UsageError : a pattern that matches no cell.
    """
    cells = choose(experiment.cells(), only, without)
    here = builds is None
    if builds is None:
        builds = {label: find_build(label, workspace) for label in dict.fromkeys(cell.build_label for cell in cells)}
    runs = [*elsewhere, *manifests(workspace)]
    excluded = excluded_runs(workspace.runs)
    done = {} if again else _complete([run for run in runs if run.run_id not in excluded])
    tried = {attempt.cell: attempt for attempt in Ledger(workspace).attempts(experiment.name)}
    planned = []
    for number, cell in enumerate(cells, start=1):
        entry = plan_cell(experiment, cell, builds[cell.build_label])
        if here and fits:
            fit_cell(experiment, entry, workspace)
            if observer is not None:
                observer.cell_checked(number, len(cells))
        fingerprint, last = entry.fingerprint, tried.get(cell.key)
        what: What
        if fingerprint in done:
            what, note = "done", ""
        elif last is None:
            what, note = "new", ""
        elif last.state == "complete" and last.fingerprint != fingerprint:
            what, note = "changed", f"the run of {_when(last)} used other settings"
        elif last.state == "complete" and last.run_id in excluded:
            what, note = "again", f"its run {last.run_id} is excluded: {excluded[last.run_id]}"
        elif last.state == "complete":
            what, note = "again", "" if again else f"its complete run of {_when(last)} is not in the lake"
        else:
            since = "" if last.fingerprint == fingerprint else "; it has changed since"
            what, note = "again", _how_it_went(last, runs) + since
        planned.append(replace(entry, what=what, run_id=done.get(fingerprint), note=note))
    return planned if experiment.spec.snapshot_after is None else _sharing(experiment, workspace, planned)


def plan_cell(experiment: LoadedExperiment, cell: Cell, build: AnyBuild) -> PlannedCell:
    """One cell on its build. Raises ConfigError where it has no configuration for that build."""
    config = experiment.server_config(cell, rules_of(build))
    fingerprint = experiment.fingerprint(cell, build.version, config)
    return PlannedCell(cell, build, config, tuple(experiment.steps(cell)), fingerprint)


def fit_cell(experiment: LoadedExperiment, planned: PlannedCell, workspace: Workspace) -> list[str]:
    """Refuse a cell whose build cannot run it. Returns the `loose_` lines that its server skips. Raises as `fit`."""
    options = experiment.options(planned.cell)
    engine = experiment.workload.needs(options).engine
    needed = demand(experiment.workload, options, planned.steps)
    try:
        experiment.workload.prepare(options, planned.cell.setup, flavour_of(planned.build).family)
    except DriverMissing as error:
        raise ExperimentError(f"{planned.cell}: {error}") from None
    require_apart(experiment, planned.cell, workspace)
    require_folders(planned, engine)
    return fit(planned.build, planned.config, transport=options.transport, engine=engine, needed=needed)


def wanted_snapshots(planned: Sequence[PlannedCell]) -> set[str]:
    """Digests of the snapshots that cells to be run can use."""
    return {entry.sharing.settings.digest for entry in planned if entry.run_id is None and entry.sharing}


def mixed_with(
    experiment: LoadedExperiment, planned: Sequence[PlannedCell], runs: Sequence[Manifest], here: str
) -> str | None:
    """Why a host of class `here` may not run what is to be run: runs of other cells are of another one. Else None."""
    if all(entry.run_id is not None for entry in planned):
        return None
    standing = {entry.run_id for entry in planned}
    others = {cell.key for cell in experiment.cells()} - {entry.cell.key for entry in planned}
    beside = {
        key: run
        for run in runs
        if run.status == "complete"
        and run.experiment.name == experiment.name
        and (key := (run.cell.dbms, run.cell.setup, run.cell.repeat)) in others
    }
    staying = [*(run for run in runs if run.run_id in standing), *beside.values()]
    classes = sorted({host_class(run.host) for run in staying} - {here})
    return f"it is {here}; there are runs of {experiment.name} made on {classes[0]}" if classes else None


def choose(cells: list[Cell], only: Sequence[str], without: Sequence[str]) -> list[Cell]:
    """The cells that a pattern of `only` fits, all when there is none, and none of `without` does.

    A pattern (* and ?) is held against the cell's build, config, setup and dbms.

    Raises
    ------
    UsageError : a pattern that matches no cell.
    """
    for pattern in (*only, *without):
        if not any(_fits(cell, pattern) for cell in cells):
            known = ", ".join(sorted({name for cell in cells for name in _names(cell)}))
            raise UsageError(
                f"{pattern!r:.80} matches no cell of this experiment", hint=f"the cells are named: {known}"
            )
    return [
        cell
        for cell in cells
        if (not only or any(_fits(cell, pattern) for pattern in only))
        and not any(_fits(cell, pattern) for pattern in without)
    ]


def complete_runs(workspace: Workspace) -> dict[str, str]:
    """Fingerprint -> run id of the latest complete run that is not excluded."""
    excluded = excluded_runs(workspace.runs)
    return _complete([run for run in manifests(workspace) if run.run_id not in excluded])


def manifests(workspace: Workspace) -> list[Manifest]:
    """Manifests of all readable runs, oldest first. Unreadable runs are skipped here; `store.reader` reports them."""
    manifests_read = []
    for run_dir in run_dirs(workspace.runs, LakeContents()):
        try:
            manifests_read.append(read_manifest(run_dir))
        except LakeError:
            continue
    return manifests_read


def _complete(runs: Sequence[Manifest]) -> dict[str, str]:
    return {run.cell.fingerprint: run.run_id for run in runs if run.status == "complete"}


def _how_it_went(attempt: Attempt, runs: Sequence[Manifest]) -> str:
    """Such as `failed 2026-11-21 10:15 UTC in step l.i1: client 2 died`. `runs` are those of the lake."""
    begun = datetime.fromisoformat(attempt.begun)
    left = [
        run
        for run in runs
        if run.cell.fingerprint == attempt.fingerprint and datetime.fromisoformat(run.origin_wall) >= begun
    ]
    step = left[0].failed_step if left else None
    where, error = "", attempt.error or ""
    if step is not None:
        where, error = f" in step {step}", error.removeprefix(f"run {left[0].run_id}, step {step}: ")
    return f"{attempt.state} {_when(attempt)}{where}" + (f": {error}" if error else "")


def _when(attempt: Attempt) -> str:
    return f"{datetime.fromisoformat(attempt.begun):%Y-%m-%d %H:%M} UTC"


def _sharing(experiment: LoadedExperiment, workspace: Workspace, planned: list[PlannedCell]) -> list[PlannedCell]:
    """The same cells, each with where its rows come from."""
    settings = {
        entry.cell.position: planned_settings(experiment, entry, steps_loaded(experiment, entry.steps))
        for entry in planned
    }
    there = {key.digest for key in settings.values() if find_snapshot(workspace, key)}
    to_run = {entry.cell.position for entry in planned if entry.run_id is None}
    sharing = share(settings, to_run, there)
    return [replace(entry, sharing=sharing[entry.cell.position]) for entry in planned]


def _names(cell: Cell) -> tuple[str, str, str, str]:
    return cell.build, cell.config.name, cell.setup.name, cell.dbms


def _fits(cell: Cell, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in _names(cell))
