"""How long a cell will take and how much disk it will need: from this lake's own runs on this host, else a guess.

Three ways, the first that there is data for: runs of the same cell (whatever their repeat) took so long; runs of other
cells on this host had such rates in steps of the same kind; nothing is known, and rates of a small machine are assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from ibench_lib.base.later import later
from ibench_lib.capture.host_facts import same_host
from ibench_lib.experiment.cells import Cell, LoadedExperiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.plan import manifests
from ibench_lib.runner.planned import PlannedCell
from ibench_lib.runner.snapshot.use import snapshot_bytes, steps_loaded
from ibench_lib.runner.space import needed_bytes
from ibench_lib.store.manifest import Manifest
from ibench_lib.workloads.workload import Step, Work

if TYPE_CHECKING:
    from ibench_lib.store import reader
else:
    reader = later("ibench_lib.store.reader")

Source = Literal["the same cell", "other cells here", "a guess"]

# Seconds around the steps of a run (server start and stop), and around each step (processes, counts, sealing).
_AROUND_S = 10.0
_AROUND_STEP_S = 1.0


@dataclass(frozen=True)
class Forecast:
    """What a cell is expected to take. `source` says how that is known; `snapshot_bytes` are of its snapshot.

    `steps` are those that it does itself, with the seconds of each by their rates.
    """

    seconds: float
    disk_bytes: int
    rows: int
    source: Source
    snapshot_bytes: int = 0
    steps: tuple[tuple[str, float], ...] = ()


class Forecaster:
    """Reads the history once, for the first cell, then forecasts any cell of an experiment."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    @cached_property
    def _runs(self) -> list[Manifest]:
        return [run for run in manifests(self._workspace) if run.status == "complete" and same_host(run.host)]

    @cached_property
    def _rates(self) -> dict[tuple[str, str], list[float]]:
        return _rates(self._workspace, self._runs)

    def cell(self, experiment: LoadedExperiment, planned: PlannedCell) -> Forecast:
        """One cell, on its build."""
        workload, options, steps = experiment.workload, experiment.options(planned.cell), planned.steps
        before = steps_loaded(experiment, steps)
        disk = needed_bytes(planned.build, planned.config, workload.disk_bytes(options, steps))
        aside = snapshot_bytes(experiment, planned, before)
        loaded = workload.loaded_rows(options, steps)
        same = self._runs
        if same:  # a description takes longer than all the rest
            described = workload.describe(options, planned.cell.setup, steps)
            same = [run for run in same if _same_cell(run, planned.cell, described, experiment.spec.scale)]
        took = [_took_s(run) for run in same if _start_of(run) == (bool(before), planned.from_snapshot)]
        known = {kind: median(rates) for (name, kind), rates in self._rates.items() if name == workload.name}
        to_do = list(zip(steps, workload.work(options, steps), strict=True))
        own = to_do[len(before) :] if planned.from_snapshot else to_do
        times = tuple((step.name, _step_s(step, work, options.clients, known)) for step, work in own)
        source: Source = "the same cell" if took else "other cells here" if known else "a guess"
        by_steps = _AROUND_S + sum(seconds + _AROUND_STEP_S for _, seconds in times)
        return Forecast(median(took) if took else by_steps, disk, loaded, source, aside, times)


def total_s(forecasts: Iterable[Forecast]) -> float:
    """Of cells that run one after another."""
    return sum(forecast.seconds for forecast in forecasts)


def most_disk_bytes(forecasts: Sequence[tuple[PlannedCell, Forecast]]) -> int:
    """Of cells that run one after another in this order, with the snapshots that are kept for later ones."""
    most = 0
    for planned, forecast in forecasts:
        kept = {
            other.sharing.settings.digest: its.snapshot_bytes
            for other, its in forecasts
            if other.sharing and other.sharing.cells[0] <= planned.cell.position <= other.sharing.cells[-1]
        }
        most = max(most, forecast.disk_bytes + sum(kept.values()))
    return most


def _step_s(step: Step, work: Work, clients: int, rates: Mapping[str, float]) -> float:
    if step.seconds is not None or work.amount is None:
        return step.seconds or 0.0
    rate = rates.get(step.kind, work.guessed_per_s)
    if step.target_per_s:
        rate = min(rate, step.target_per_s * clients)
    return work.amount / rate


def _same_cell(run: Manifest, cell: Cell, workload: dict[str, Any], scale: float) -> bool:
    decisive = ("benchmark", "resolved_steps", "clients")
    return (run.cell.dbms, run.cell.setup, run.scale) == (cell.dbms, cell.setup.name, scale) and all(
        run.workload.get(key) == workload[key] for key in decisive
    )


def _start_of(run: Manifest) -> tuple[bool, bool]:
    """Whether a run went on with a copy of a snapshot, and whether it began with one."""
    return run.snapshot_copy is not None, run.loaded_from is not None


def _took_s(run: Manifest) -> float:
    if run.ended_wall is None:
        return 0.0
    return (datetime.fromisoformat(run.ended_wall) - datetime.fromisoformat(run.origin_wall)).total_seconds()


def _rates(workspace: Workspace, runs: Sequence[Manifest]) -> dict[tuple[str, str], list[float]]:
    """Throughput of complete steps that are ended by their work, not by time: (benchmark, kind of step) -> rates."""
    benchmarks = {run.run_id: str(run.workload.get("benchmark")) for run in runs}
    if not benchmarks:
        return {}
    query = """
        SELECT s.run_id, s.kind, r.throughput
        FROM steps s JOIN step_rates r USING (run_id, step_id) SEMI JOIN (SELECT unnest($runs) AS run_id) USING (run_id)
        WHERE s.status = 'complete' AND r.throughput > 0
    """
    rates: dict[tuple[str, str], list[float]] = {}
    for run_id, kind, rate in reader.lake(workspace).execute(query, {"runs": sorted(benchmarks)}).fetchall():
        rates.setdefault((benchmarks[run_id], kind), []).append(rate)
    return rates
