"""How long a cell will take and how much disk it will need: from this lake's own runs on this host, else a guess.

Three ways, the first that there is data for: runs of the same cell (whatever their repeat) took so long; runs of other
cells on this host had such rates in steps of the same kind; nothing is known, and rates of a small machine are assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any, Literal

from ibench_lib.capture.host_facts import same_host
from ibench_lib.experiment.cells import Cell, LoadedExperiment
from ibench_lib.lake import reader
from ibench_lib.lake.manifest import Manifest
from ibench_lib.paths import Workspace
from ibench_lib.run.plan import manifests
from ibench_lib.run.snapshot.use import snapshot_bytes, steps_loaded
from ibench_lib.run.space import needed_bytes
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import rules_of
from ibench_lib.servers.remote import Remote
from ibench_lib.workloads.insert_benchmark import workload as insert_benchmark
from ibench_lib.workloads.insert_benchmark.workload import Step

Source = Literal["the same cell", "other cells here", "a guess"]

# Rows/s of all clients: what two cores did with MariaDB 10.11. Only where the lake knows nothing of this host.
_GUESSED_RATES = {"load": 200_000.0, "index": 400_000.0, "write": 40_000.0}
_AROUND_S = 10.0
_AROUND_STEP_S = 1.0
"""Seconds around the steps of a run (server start and stop), and around each step (processes, counts, sealing)."""


@dataclass(frozen=True)
class Forecast:
    """What a cell is expected to take. `source` says how that is known; `snapshot_bytes` are of its snapshot."""

    seconds: float
    disk_bytes: int
    rows: int
    source: Source
    snapshot_bytes: int = 0


class Forecaster:
    """Reads the history once, then forecasts any cell of an experiment."""

    def __init__(self, workspace: Workspace) -> None:
        self._runs = [run for run in manifests(workspace) if run.status == "complete" and same_host(run.host)]
        self._rates = _rates(workspace, {run.run_id for run in self._runs})

    def cell(self, experiment: LoadedExperiment, cell: Cell, build: Build | Remote) -> Forecast:
        """One cell, on its build."""
        spec = experiment.spec
        steps = insert_benchmark.plan(spec.workload, cell.setup, spec.scale)
        config = experiment.server_config(cell, rules_of(build))
        before = steps_loaded(experiment, steps)
        disk = needed_bytes(build, config, insert_benchmark.forecast_bytes(spec.workload, steps))
        aside = snapshot_bytes(build, config, spec.workload, before)
        loaded = sum(step.rows or 0 for step in steps if not step.deletes) * spec.workload.clients
        workload = insert_benchmark.describe(spec.workload, cell.setup, steps)
        same = [run for run in self._runs if _same_cell(run, cell, workload, spec.scale)]
        took = [_took_s(run) for run in same if _comes_by_rows(run) == (bool(before), cell.from_snapshot)]
        if took:
            return Forecast(median(took), disk, loaded, "the same cell", aside)
        known = {kind: median(rates) for kind, rates in self._rates.items() if rates}
        source: Source = "other cells here" if known else "a guess"
        rates = {**_GUESSED_RATES, **known}
        own = steps[len(before) :] if cell.from_snapshot else steps
        seconds = _AROUND_S + sum(_step_s(step, spec.workload.clients, loaded, rates) for step in own)
        return Forecast(seconds, disk, loaded, source, aside)


def total_s(forecasts: Iterable[Forecast]) -> float:
    """Of cells that run one after another."""
    return sum(forecast.seconds for forecast in forecasts)


def most_disk_bytes(forecasts: Sequence[tuple[Cell, Forecast]]) -> int:
    """Of cells that run one after another in this order, with the snapshots that are kept for later ones."""
    most = 0
    for cell, forecast in forecasts:
        kept = {
            other.sharing.settings.digest: its.snapshot_bytes
            for other, its in forecasts
            if other.sharing and other.sharing.cells[0] <= cell.position <= other.sharing.cells[-1]
        }
        most = max(most, forecast.disk_bytes + sum(kept.values()))
    return most


def _step_s(step: Step, clients: int, loaded: int, rates: dict[str, float]) -> float:
    if step.seconds is not None:
        return step.seconds + _AROUND_STEP_S
    rows = loaded if step.kind == "index" else (step.rows or 0) * clients
    rate = rates[step.kind]
    if step.rate:
        rate = min(rate, step.rate * clients)
    return rows / rate + _AROUND_STEP_S


def _same_cell(run: Manifest, cell: Cell, workload: dict[str, Any], scale: float) -> bool:
    return (run.cell.dbms, run.cell.setup, run.scale) == (cell.dbms, cell.setup.name, scale) and (
        run.workload.get("resolved_steps") == workload["resolved_steps"]
        and run.workload.get("clients") == workload["clients"]
    )


def _comes_by_rows(run: Manifest) -> tuple[bool, bool]:
    """Whether a run went on with a copy of a snapshot, and whether it began with one."""
    return run.snapshot_copy is not None, run.loaded_from is not None


def _took_s(run: Manifest) -> float:
    if run.ended_wall is None:
        return 0.0
    return (datetime.fromisoformat(run.ended_wall) - datetime.fromisoformat(run.origin_wall)).total_seconds()


def _rates(workspace: Workspace, run_ids: set[str]) -> dict[str, list[float]]:
    """Rows/s of all clients together in complete steps of these runs, by kind of step."""
    if not run_ids:
        return {}
    query = """
        SELECT s.kind, CASE s.kind WHEN 'index' THEN any_value(s.existing_rows)
                       ELSE sum(w."rows") FILTER (w.role = 'inserter') END / any_value(s.duration_s) AS rate
        FROM steps s JOIN workers w USING (run_id, step_id) SEMI JOIN (SELECT unnest($runs) AS run_id) USING (run_id)
        WHERE s.status = 'complete' AND s.kind IN ('load', 'index', 'write') AND s.duration_s > 0
        GROUP BY s.run_id, s.step_id, s.kind
    """
    found: dict[str, list[float]] = {}
    for kind, rate in reader.lake(workspace).execute(query, {"runs": sorted(run_ids)}).fetchall():
        if rate:
            found.setdefault(kind, []).append(rate)
    return found
