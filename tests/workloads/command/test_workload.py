"""The examples of docs/command.md, run as they stand there, on a real server with the real programs."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ibench_lib import paths
from ibench_lib.base import debian
from ibench_lib.errors import HostUnfit
from ibench_lib.experiment.cells import LoadedExperiment, load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.cell import run_cell
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import plan_cell
from ibench_lib.runner.preflight import require_program
from ibench_lib.servers.build import Build
from ibench_lib.store import reader
from ibench_lib.store.manifest import Manifest
from ibench_lib.store.verify import verify
from ibench_lib.workloads import workload
from tests.places import ROOT
from tests.synthetic import answer

EXAMPLES = dict(re.findall(r"```yaml\n# (\w+)\.yaml\n(.*?)```", (ROOT / "docs" / "command.md").read_text(), re.DOTALL))
SECONDS = "seconds: 500"


def loaded(folder: Path, name: str, **changes: str) -> LoadedExperiment:
    """An example, with its script next to it, and 3 s for each measured step."""
    shutil.copytree(ROOT / "experiments" / "command", folder / "command")
    text = EXAMPLES[name].replace(SECONDS, "seconds: 150")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return load_experiment(path)


def ran(experiment: LoadedExperiment, build: Build, workspace: Workspace) -> Manifest:
    manifest = run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())
    assert manifest.status == "complete" and verify(workspace.run_dir(manifest.run_id)) == []
    return manifest


def totals(lake: Any) -> pl.DataFrame:
    return reader.sql(
        lake,
        "SELECT w.step, any_value(w.ops) AS total, any_value(w.ops_from) AS made, sum(o.ops)::BIGINT AS ops,"
        " sum(o.errors)::BIGINT AS errors, max(o.service_max_us) AS max_us"
        " FROM workers w LEFT JOIN ops o USING (run_id, step_id, worker) GROUP BY ALL ORDER BY any_value(w.step_id)",
    )


def test_the_page_has_three_examples() -> None:
    assert set(EXAMPLES) == {"slap", "counter", "plain_sysbench"}


@pytest.mark.slow
def test_a_script_of_ones_own(tmp_path: Path, build: Build, workspace: Workspace) -> None:
    manifest = ran(loaded(tmp_path, "counter"), build, workspace)
    lake = reader.lake(workspace)
    found = totals(lake)
    assert found["step"].to_list() == ["fill", "update.t1", "update.t4", "away"]
    updates = found.filter(pl.col("step").str.starts_with("update"))
    assert (updates["ops"] == updates["total"]).all() and updates["ops"].min() > 0
    assert set(updates["made"]) == {"counts"} and set(updates["errors"]) == {0} and updates["max_us"].null_count() == 0
    throughput = answer(lake, "step_throughput", "counter")
    results = throughput.filter(compared=True)
    assert results["step"].to_list() == ["update.t1", "update.t4"] and (results["throughput"] > 0).all()
    assert set(results["rate_label"]) == {"operations/s"}
    sampled = answer(lake, "step_resources", "counter").filter(pl.col("covered") >= 0.95, pl.col("step") == "update.t1")
    assert sampled["cpupq"].null_count() == 0, "the CPU of an operation"
    assert answer(lake, "steadiness", "counter").filter(step="update.t1")["rated_seconds"].min() >= 1
    answer(lake, "dips", "counter")  # whether there are any is the host's
    checks = answer(lake, "checks", "counter")
    assert checks["step"].to_list() == ["fill", "update.t1", "update.t4"] and set(checks["held"]) == {1}
    assert not [warning for warning in manifest.warnings if "could not be read" in warning]
    text = (workspace.run_dir(manifest.run_id) / "manifest.json").read_text()
    assert "counter.py (" in text and str(tmp_path / "command") not in text, "where a script lies is not recorded"


@pytest.mark.slow
@pytest.mark.usefixtures("sysbench")
def test_sysbench_as_it_is(tmp_path: Path, build: Build, workspace: Workspace) -> None:
    manifest = ran(loaded(tmp_path, "plain_sysbench"), build, workspace)
    found = totals(reader.lake(workspace)).filter(pl.col("step") != "fill")
    assert found["step"].to_list() == ["point_select.t1", "point_select.t4"]
    assert (found["ops"] == found["total"]).all() and found["ops"].min() > 0 and set(found["made"]) == {"rates"}
    assert any("they are no counts" in warning for warning in manifest.warnings)
    assert not [warning for warning in manifest.warnings if "could not be read" in warning]


@pytest.fixture(scope="module")
def slap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a mysqlslap: on PATH, in a build that was fetched, or from the distribution's packages."""
    builds = sorted(paths.workspace().builds.glob("*/usr/bin/mysqlslap"))
    if on_path := shutil.which("mysqlslap") or (str(builds[0]) if builds else None):
        return Path(on_path).parent
    if not debian.has_apt():
        pytest.skip("no mysqlslap here, and no apt to get it from")
    root = tmp_path_factory.mktemp("slap")
    debian.unpack(["mariadb-client"], root)
    return root / "usr" / "bin"


@pytest.mark.registries
@pytest.mark.slow
def test_mysqlslap(
    slap: Path, tmp_path: Path, build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "bin"
    own.mkdir()
    (own / "mysqlslap").symlink_to(slap / "mysqlslap")
    monkeypatch.setenv("PATH", f"{own}{os.pathsep}{os.environ['PATH']}")
    ran(loaded(tmp_path, "slap"), build, workspace)
    lake = reader.lake(workspace)
    found = totals(lake)
    assert found["step"].to_list() == ["mixed.t1", "mixed.t4"] and found["total"].to_list() == [2000, 2000]
    throughput = answer(lake, "step_throughput", "slap")
    assert (throughput["throughput"] > 0).all()
    assert throughput["throughput"].to_list() == pytest.approx((2000 / throughput["duration_s"]).to_list())
    gaps = answer(lake, "gaps", "slap")
    assert "seconds not recorded: a driven program has printed its total only" in gaps["problem"].to_list()


def test_a_program_that_is_not_there_ends_an_experiment_before_it_starts(tmp_path: Path) -> None:
    experiment = loaded(tmp_path, "counter", **{'argv: ["{python}"': "argv: [no-such-python"})
    with pytest.raises(HostUnfit) as caught:
        require_program(experiment.workload, experiment.spec.workload)
    assert caught.value.what == "benchmark: command needs no-such-python: there is no such program on PATH"


def test_a_cell_has_another_identity_with_another_script_or_argument(tmp_path: Path) -> None:
    command = workload.find("command")

    def key(folder: str, edit: str = "", **changes: str) -> dict[str, str]:
        place = tmp_path / folder
        place.mkdir()
        experiment = loaded(place, "counter", **changes)
        if edit:
            with (place / "command" / "counter.py").open("a") as file:
                file.write(edit)
            experiment = load_experiment(place / "counter.yaml")
        planned = command.steps(experiment.spec.workload, experiment.cells()[0].setup, 1.0)
        return command.load_key(experiment.spec.workload, planned[:1])

    first = key("a")
    assert key("b") == first, "where it lies is no part of it"
    assert key("c", "# edited\n") != first
    assert key("d", **{"rows: 1000": "rows: 2000"}) != first
    assert key("e", **{"threads: [1, 4]": "threads: [1, 2]"}) != first
