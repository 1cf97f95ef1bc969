"""Forecasts: from runs of the same cell, else from rates seen here, else a guess that is called one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.capture.host_facts import host_facts
from ibench_lib.experiment.cells import Cell, LoadedExperiment, load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.forecast import Forecast, Forecaster, most_disk_bytes
from ibench_lib.runner.plan import plan_cell
from ibench_lib.runner.snapshot.sharing import LoadSettings, share
from ibench_lib.servers.build import Build
from ibench_lib.store.manifest import Manifest, read_manifest, write_manifest
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake

BUILD = Build("system", "mariadb", "10.11.19-MariaDB", Path("/nowhere"), ("/nowhere/mariadbd",), "path")
TEXT = """\
title: forecasts
builds: [system]
configs: [{name: cy10a, fragments: [cy10a]}]
setups: [{name: mine, l_i0_rows: 10000, l_i1_rows: 25000, l_i2_rows: 100, query_seconds: 30}]
scale: 1
workload: {benchmark: insert_benchmark, clients: 2, steps: [l.i0, l.x, l.i1, qr100]}
"""


def load(workspace: Workspace) -> tuple[LoadedExperiment, Cell]:
    path = workspace.root / "forecasts.yaml"
    path.write_text(TEXT)
    loaded = load_experiment(path)
    return loaded, loaded.cells()[0]


def forecast(workspace: Workspace) -> Forecast:
    loaded, cell = load(workspace)
    return Forecaster(workspace).cell(loaded, plan_cell(loaded, cell, BUILD))


def store(workspace: Workspace, run: Run, took_s: float, host: dict[str, Any], *, same: bool = False) -> None:
    """A run that took so long on a host; with `same` it is one of the forecast cell."""
    write_runs(workspace, run)
    manifest = read_manifest(workspace.run_dir(run.run_id))
    begun = datetime(2026, 11, 1, tzinfo=UTC)
    manifest.origin_wall, manifest.ended_wall = begun.isoformat(), (begun + timedelta(seconds=took_s)).isoformat()
    manifest.host = host
    manifest.workload["benchmark"] = "insert_benchmark"
    if same:
        loaded, cell = load(workspace)
        manifest.workload = loaded.workload.describe(loaded.spec.workload, cell.setup, loaded.steps(cell))
        manifest.cell.setup = "mine"
    write_manifest(workspace.run_dir(run.run_id), manifest)


@pytest.fixture
def here(workspace: Workspace) -> dict[str, Any]:
    return host_facts(workspace.root)


def test_without_any_run_it_is_a_guess(workspace: Workspace) -> None:
    found = forecast(workspace)
    assert found.source == "a guess"
    assert found.rows == 20_000
    # 20,000 rows at 200,000/s, their index at 400,000/s, 50,000 at 40,000/s, 30 s of queries, 4 steps and a server
    assert found.seconds == pytest.approx(0.1 + 0.05 + 1.25 + 30 + 4 * 1 + 10)
    assert found.disk_bytes > 20_000 * 300 + (80 << 30) // 1000


def test_where_no_cell_is_to_run_no_history_is_read(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """`ibench experiment plan` of an experiment that is done: the lake takes it longer to open than all the rest."""
    asked: list[Workspace] = []

    def none(place: Workspace) -> list[Manifest]:
        asked.append(place)
        return []

    monkeypatch.setattr("ibench_lib.runner.forecast.manifests", none)
    forecaster = Forecaster(workspace)
    assert asked == []
    loaded, cell = load(workspace)
    for _ in range(2):
        assert forecaster.cell(loaded, plan_cell(loaded, cell, BUILD)).source == "a guess"
    assert asked == [workspace]


def test_rates_of_other_cells_on_this_host_are_used(workspace: Workspace, here: dict[str, Any]) -> None:
    store(workspace, Run(), 100.0, here)
    found = forecast(workspace)
    assert found.source == "other cells here"
    # That run loaded 2,000 rows/s, indexed 10,000 rows/s and wrote 5,000 rows/s.
    assert found.seconds == pytest.approx(10 + 2 + 10 + 30 + 4 * 1 + 10)


def test_runs_of_the_same_cell_decide_by_their_median(workspace: Workspace, here: dict[str, Any]) -> None:
    for minute, took_s in enumerate((60.0, 90.0, 300.0)):
        store(workspace, replace(Run(), minute=minute, repeat=minute + 1), took_s, here, same=True)
    assert forecast(workspace).seconds == 90.0
    assert forecast(workspace).source == "the same cell"


def test_another_host_says_nothing_of_this_one(workspace: Workspace, here: dict[str, Any]) -> None:
    store(workspace, Run(), 60.0, {**here, "memory_bytes": 1}, same=True)
    assert forecast(workspace).source == "a guess"


def test_runs_that_did_not_complete_say_nothing(workspace: Workspace, here: dict[str, Any]) -> None:
    store(workspace, Run(status="failed", failed_step="qr100"), 60.0, here, same=True)
    assert forecast(workspace).source == "a guess"


@pytest.mark.long
@pytest.mark.slow
def test_a_cell_that_begins_with_a_snapshot_is_spared_what_it_has_not_to_load(
    workspace: Workspace, here: dict[str, Any]
) -> None:
    def forecasts() -> list[Forecast]:
        path = workspace.root / "forecasts.yaml"
        path.write_text(TEXT + "repeats: 2\nsnapshot_after: l.x\n")
        loaded = load_experiment(path)
        shared = share(dict.fromkeys((1, 2), LoadSettings({"server": "one"})), to_run=(1, 2))
        planned = [replace(plan_cell(loaded, cell, BUILD), sharing=shared[cell.position]) for cell in loaded.cells()]
        return [Forecaster(workspace).cell(loaded, entry) for entry in planned]

    loads, begins = forecasts()
    assert loads.seconds == pytest.approx(0.1 + 0.05 + 1.25 + 30 + 4 * 1 + 10)
    assert begins.seconds == pytest.approx(1.25 + 30 + 2 * 1 + 10)
    assert loads.disk_bytes == begins.disk_bytes == forecast(workspace).disk_bytes
    assert loads.snapshot_bytes == begins.snapshot_bytes > 0.9 * loads.disk_bytes
    store(workspace, Run(), 100.0, here, same=True)
    store(workspace, Run(minute=1, steps=("l.i1", "qr100"), loaded_from="r1"), 70.0, here, same=True)
    assert [found.source for found in forecasts()] == ["other cells here", "the same cell"]
    assert forecasts()[1].seconds == 70.0
    assert forecast(workspace).seconds == 100.0, "without a snapshot it is another cell"


def test_snapshots_lie_beside_each_other_as_long_as_cells_to_come_need_them(workspace: Workspace) -> None:
    path = workspace.root / "forecasts.yaml"

    def most(order: str) -> int:
        path.write_text(TEXT.replace("fragments: [cy10a]}", "fragments: [cy10a]}, {name: p1, fragments: [cy10a, p1]}")
                        + f"repeats: 2\norder: {order}\nsnapshot_after: l.x\n")  # fmt: skip
        loaded = load_experiment(path)
        cells = loaded.cells()
        settings = {cell.position: LoadSettings({"config": cell.config.name}) for cell in cells}
        shared = share(settings, to_run=settings)
        planned = [replace(plan_cell(loaded, cell, BUILD), sharing=shared[cell.position]) for cell in cells]
        return most_disk_bytes([(entry, Forecast(1.0, 1000, 1, "a guess", 10)) for entry in planned])

    assert most("interleaved") == 1000 + 2 * 10, "A B A B: both are there when the second A runs"
    assert most("grouped") == 1000 + 10
