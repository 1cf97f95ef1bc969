"""An observer that says nothing."""

from ibench_lib.experiment import Cell
from ibench_lib.lake.manifest import Manifest
from ibench_lib.step import WorkerState
from ibench_lib.workloads.insert_benchmark import Step


class Silent:
    """For runs whose progress nobody watches."""

    def cell_begins(self, number: int, of: int, cell: Cell) -> None: ...

    def cell_ends(self, cell: Cell, manifest: Manifest) -> None: ...

    def run_recovered(self, manifest: Manifest) -> None: ...

    def cell_skipped(self, number: int, of: int, cell: Cell, run_id: str) -> None: ...

    def step_begins(self, step: Step) -> None: ...

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None: ...

    def step_ends(self, step: Step, duration_s: float) -> None: ...
