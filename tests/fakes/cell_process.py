"""A cell process whose runs take no server and as long as told: for workers in tests of `remote_sweep`.

By environment: FAKE_CELL_S, how long a cell takes; FAKE_CPU, the CPU model of the host that this pretends to be;
FAKE_VERSION, the version of every build. While a cell runs, the file `measuring` of the workspace has the process's id.
"""

import os
import time
from dataclasses import replace
from typing import Any

from ibench_lib.base.signals import signals_as_interrupts
from ibench_lib.capture import host_facts
from ibench_lib.errors import Interrupted
from ibench_lib.experiment.cells import LoadedExperiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.hosts import cell_process
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.servers.build import Build
from ibench_lib.store.manifest import Manifest
from tests.fakes.sweep import fake_build, fake_run

CPU = os.environ.get("FAKE_CPU")


def build(label: str, workspace: Workspace) -> Build:
    found = fake_build(label, workspace)
    return replace(found, version=os.environ.get("FAKE_VERSION", found.version))


def slow_run(experiment: LoadedExperiment, planned: PlannedCell, workspace: Workspace, observer: Any) -> Manifest:
    mark = workspace.root / "measuring"
    with signals_as_interrupts():
        try:
            mark.write_text(str(os.getpid()))
            time.sleep(float(os.environ.get("FAKE_CELL_S", "0")))
        except KeyboardInterrupt:
            raise Interrupted(f"{planned.cell} interrupted") from None
    mark.unlink()
    return fake_run(experiment, planned, workspace, observer)


def main() -> None:
    patches: Any = cell_process  # these names are its own, whatever else imports them
    patches.run_cell, patches.find_build, patches.fit_cell = slow_run, build, lambda *_, **__: []
    if CPU is not None:
        facts: Any = host_facts
        of_the_host = facts._cpuinfo
        facts._cpuinfo = lambda name: CPU if name == "model name" else of_the_host(name)
    cell_process.main()


if __name__ == "__main__":
    main()
