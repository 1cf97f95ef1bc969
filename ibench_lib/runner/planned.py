"""A cell with everything that is decided before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.experiment.cells import Cell
from ibench_lib.runner.snapshot.sharing import Sharing
from ibench_lib.servers.server import AnyBuild
from ibench_lib.workloads.workload import Step

What = Literal["done", "new", "changed", "again"]


@dataclass(frozen=True)
class PlannedCell:
    """A cell with its build, configuration and steps, and whether it has to run.

    done: its complete run, `run_id`, is in the lake. new: never tried. again: its last attempt did not complete.
    changed: it did, but something has changed since. `note` has details for people. `sharing` says where its rows
    come from, if the experiment has `snapshot_after`.
    """

    cell: Cell
    build: AnyBuild
    config: ServerConfig
    steps: tuple[Step, ...]
    fingerprint: str
    what: What = "new"
    run_id: str | None = None
    note: str = ""
    sharing: Sharing | None = None

    @property
    def from_snapshot(self) -> bool:
        """Whether it is planned to start from a snapshot that another cell has loaded."""
        return self.sharing is not None and self.sharing.from_snapshot(self.cell.position)

    @property
    def rows_from(self) -> str:
        """Where its rows come from, in words; empty if it loads only for itself, as without `snapshot_after`."""
        return self.sharing.note(self.cell.position) if self.sharing else ""
