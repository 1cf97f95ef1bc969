"""An experiment whose cells are made by a fake backend: each run is written by the real writer, and takes no time.

    python -m tests.fakes.sweep WORKSPACE EXPERIMENT SEED

Forks children that run the experiment and are killed at random moments, twenty of them; the last one may end. A moment
is one of the child's own CPU time, so that what else the machine does moves none. Prints one line per child: how many
complete runs there were, and whether it was killed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from ibench_lib.errors import IbenchError, ServerStartDisturbed, ServerStartError, WorkerFailed
from ibench_lib.experiment.cells import LoadedExperiment, load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner import plan, sweep
from ibench_lib.runner.description import describe_run
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.servers.build import Build
from ibench_lib.store.manifest import Manifest
from ibench_lib.store.writer import RunWriter

KILLS = 20
FAILURES: dict[str, type[IbenchError]] = {"refused": ServerStartError, "disturbed": ServerStartDisturbed}


def fake_build(label: str, _workspace: Workspace) -> Build:
    return Build(label, "mariadb", "10.11.19-MariaDB", Path("/nowhere"), ("/nowhere/mariadbd",), "path")


def use_fake_builds(patch: Any = setattr) -> None:
    """No server is looked for, and none is asked whether it knows its options."""
    patch(plan, "find_build", fake_build)
    patch(plan, "fit", lambda *_, **__: [])


def fake_run(
    experiment: LoadedExperiment, planned: PlannedCell, workspace: Workspace, observer: Any, patience: Any = None
) -> Manifest:
    """A sealed run without rows of load. A cell whose configuration is called `broken`, or as in FAILURES, fails."""
    from datetime import UTC, datetime

    cell = planned.cell
    if cell.config.name in FAILURES:
        raise FAILURES[cell.config.name]("it does not start")
    now = datetime.now(UTC)
    writer = RunWriter(workspace.run_dir(f"{now:%Y%m%dT%H%M%S%f}-{cell.dbms}-{cell.setup.name}-r{cell.repeat}"))
    manifest = describe_run(writer.run_dir.name, workspace, experiment, planned, skipped=[], origin_wall=now)
    manifest.workload = {}
    writer.write_manifest(manifest)
    writer.append("server_samples", t_s=1.0)
    time.sleep(0.005)
    manifest.ended_wall = datetime.now(UTC).isoformat()
    if cell.config.name == "broken":
        manifest.status, manifest.failed_step = "failed", "l.i1"
        manifest.error = f"run {manifest.run_id}, step l.i1: it is broken"
        writer.seal(manifest)
        raise WorkerFailed(manifest.error)
    manifest.status = "complete"
    writer.seal(manifest)
    return manifest


def main() -> None:
    place, draw = Workspace(Path(sys.argv[1])), random.Random(int(sys.argv[3]))
    loaded = load_experiment(Path(sys.argv[2]))
    use_fake_builds()
    for kill in range(KILLS + 1):
        draw_s = draw.uniform(0.001, 0.25)
        child = os.fork()
        if child == 0:
            if kill < KILLS:
                signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process at once, as SIGKILL does
                signal.setitimer(signal.ITIMER_PROF, draw_s)
            sweep.run_experiment(loaded, place, Observer(), run=fake_run)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(len(plan.complete_runs(place)), os.WIFSIGNALED(status), flush=True)


if __name__ == "__main__":
    main()
