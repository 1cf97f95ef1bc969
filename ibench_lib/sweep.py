"""All cells of an experiment, one after another. A cell whose complete run is in the lake already is not run again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ibench_lib.errors import LakeError
from ibench_lib.experiment import Cell, LoadedExperiment
from ibench_lib.lake.manifest import Manifest, read_manifest
from ibench_lib.lake.recover import recover_all
from ibench_lib.paths import Workspace
from ibench_lib.run_server import fit
from ibench_lib.runner import Observer, run_cell
from ibench_lib.servers.find import find_build
from ibench_lib.servers.sandbox import sweep as sweep_sandboxes


class SweepObserver(Observer, Protocol):
    """Who is told how an experiment goes."""

    def cell_begins(self, number: int, of: int, cell: Cell) -> None: ...

    def cell_ends(self, cell: Cell, manifest: Manifest) -> None: ...

    def run_recovered(self, manifest: Manifest) -> None: ...

    def cell_skipped(self, number: int, of: int, cell: Cell, run_id: str) -> None: ...


@dataclass(frozen=True)
class SweepResult:
    """Manifests of the runs made, and the ids of the runs that stood for a cell already."""

    made: list[Manifest]
    skipped: list[str]


def run_experiment(
    experiment: LoadedExperiment, workspace: Workspace, observer: SweepObserver, *, again: bool = False
) -> SweepResult:
    """Run every cell that has no complete run with the same fingerprint; all of them when `again`.

    Runs that a dead runner has left in the lake are sealed first.

    Builds and configurations of all cells are resolved before the first one runs.

    Raises
    ------
    BuildNotFound, ConfigError : before anything runs.
    ServerStartError, RunFailed, Interrupted : a cell failed; the cells after it have not been run.
    """
    cells = experiment.cells()
    builds = {label: find_build(label, workspace) for label in experiment.spec.builds}
    fingerprints = []
    for cell in cells:
        build = builds[cell.build]
        config = experiment.server_config(cell, build.flavour, build.release)
        fit(build, config, experiment.spec.workload)
        fingerprints.append(experiment.fingerprint(cell, build.version, config))
    done = {} if again else complete_runs(workspace)
    sweep_sandboxes(workspace.sandboxes)
    for recovered in recover_all(workspace.runs)[0]:
        observer.run_recovered(recovered)
    result = SweepResult([], [])
    for number, (cell, fingerprint) in enumerate(zip(cells, fingerprints, strict=True), start=1):
        if fingerprint in done:
            observer.cell_skipped(number, len(cells), cell, done[fingerprint])
            result.skipped.append(done[fingerprint])
            continue
        observer.cell_begins(number, len(cells), cell)
        manifest = run_cell(experiment, cell, builds[cell.build], workspace, observer)
        observer.cell_ends(cell, manifest)
        result.made.append(manifest)
    return result


def complete_runs(workspace: Workspace) -> dict[str, str]:
    """Fingerprint -> run id of the latest complete run."""
    found: dict[str, str] = {}
    for run_dir in sorted(workspace.runs.iterdir()) if workspace.runs.is_dir() else []:
        try:
            manifest = read_manifest(run_dir)
        except LakeError:
            continue  # the reader of the lake names unreadable runs
        if manifest.status == "complete":
            found[manifest.cell.fingerprint] = manifest.run_id
    return found
