"""The seam of workloads: a workload is one folder that nothing else names."""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from ibench_lib import paths, plugins
from ibench_lib.errors import ExperimentError
from ibench_lib.experiment.cells import LoadedExperiment, load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.runner.cell import run_cell
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import plan_cell
from ibench_lib.servers.build import Build
from ibench_lib.store import reader
from ibench_lib.store.manifest import Manifest
from ibench_lib.workloads.workload import find, known
from tests.command import PROGRAM
from tests.places import ROOT
from tests.publish.posting import SharedKernel, page_of, unpacked

pytestmark = pytest.mark.lake

TEXT = """\
title: counters
builds: [system]
configs: [{name: base, fragments: [tiny]}]
configs_folder: own
setups: [small]
workload: {benchmark: counter, clients: 2, %s}
"""
PACED_OPERATIONS = 2 * 200 * 2
"""What is due at `rate: 200`: 200/s of each of two clients, for the two seconds of the setup."""


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The counter, as if a package had installed it."""
    points = {kind: [("counter", "tests.workloads.counter")] if kind == "workloads" else [] for kind in plugins.KINDS}
    monkeypatch.setattr(plugins, "_points", lambda: points)
    paths.workload_modules.cache_clear()
    yield
    paths.workload_modules.cache_clear()


def written(folder: Path, more: str = "connections: 1") -> Path:
    (folder / "own").mkdir(exist_ok=True)
    (folder / "own" / "tiny.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=64M\nskip_log_bin\n")
    path = folder / "counters.yaml"
    path.write_text(TEXT % more)
    return path


def loaded(folder: Path, more: str = "connections: 1") -> LoadedExperiment:
    return load_experiment(written(folder, more))


def made(folder: Path, build: Build, workspace: Workspace, more: str = "connections: 1") -> Manifest:
    experiment = loaded(folder, more)
    return run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())


def environment_with_counter(folder: Path) -> Path:
    """The Python of an environment that has what this one has, and a wheel with the counter as `acme_bench`."""
    package = folder / "source" / "acme_bench"
    shutil.copytree(ROOT / "tests" / "workloads" / "counter", package / "counter")
    (package / "__init__.py").touch()
    for path in package.rglob("*.py"):
        path.write_text(path.read_text().replace("tests.workloads.counter", "acme_bench.counter"))
    (folder / "source" / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "acme-bench"\nversion = "1.0"\n'
        '[project.entry-points."ibench.workloads"]\ncounter = "acme_bench.counter"\n'
    )
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=folder / "source", check=True, capture_output=True)
    venv.create(folder / "venv", symlinks=True)
    python = folder / "venv" / "bin" / "python"
    (site,) = (folder / "venv").glob("lib/*/site-packages")
    here = [path for path in sys.path if path.endswith("site-packages")]
    (site / "here.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in here))
    (wheel,) = folder.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "-q", "--python", str(python), "install", "--no-index", "--no-deps"]
    subprocess.run([*pip, str(wheel)], check=True)
    return python


def test_every_workload_of_the_library_is_found_and_says_what_it_counts() -> None:
    assert "insert_benchmark" in known()
    for name in known():
        workload = find(name)
        families = {operation.family for operation in workload.operations}
        assert workload.name == name and workload.presets
        assert {kind.main for kind in workload.kinds} <= families
        assert len({operation.name for operation in workload.operations}) == len(workload.operations)


@pytest.mark.usefixtures("counter")
def test_an_experiment_is_typed_by_its_workload(tmp_path: Path) -> None:
    assert {"counter", "insert_benchmark"} <= set(known())
    experiment = loaded(tmp_path)
    assert [step.name for step in experiment.steps(experiment.cells()[0])] == ["fill", "play"]
    for more, words in (
        ("queriers: 2", "unknown key 'workload.queriers'"),
        ("connections: many", "workload.connections: should be a valid integer"),
    ):
        with pytest.raises(ExperimentError, match=words):
            loaded(tmp_path, more)


def test_an_unknown_benchmark_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"counters\.yaml:6: workload: unknown benchmark 'counter'; known: "):
        loaded(tmp_path)
    (tmp_path / "none.yaml").write_text("title: t\nbuilds: [a]\nconfigs: []\nsetups: []\nworkload: {clients: 1}\n")
    with pytest.raises(ExperimentError, match=r"none\.yaml: 2 problems") as caught:
        load_experiment(tmp_path / "none.yaml")
    assert "workload: `benchmark` must name the workload: command, insert_benchmark" in (caught.value.detail or "")


@pytest.mark.usefixtures("counter")
@pytest.mark.parametrize(
    "more", ["connections: 1", "connections: 8, rate: 200", pytest.param("connections: 8", marks=pytest.mark.long)]
)
def test_a_counter_runs_end_to_end(tmp_path: Path, build: Build, workspace: Workspace, more: str) -> None:
    """One process a client, with one connection or with many: counts are exact, and the server's sums are right."""
    manifest = made(tmp_path, build, workspace, more)
    assert manifest.status == "complete"
    lake = reader.lake(workspace)
    by_step = reader.sql(lake, 'SELECT step, sum(ops) AS ops, sum("rows") AS "rows" FROM workers GROUP BY step')
    per_second = reader.sql(lake, "SELECT step, operation, sum(ops) AS ops FROM ops GROUP BY ALL ORDER BY ALL")
    assert by_step.filter(step="fill").rows() == [("fill", 200, 200)]
    play = per_second.filter(step="play")
    assert play["operation"].to_list() == ["bump", "move"] and play["ops"].min() > 0
    assert play["ops"].sum() == by_step.filter(step="play")["ops"].item()
    if "rate" in more:
        assert play["ops"].sum() <= PACED_OPERATIONS, "a slow machine does not send all that is due, but never more"
        timings = reader.sql(lake, "SELECT DISTINCT timing FROM response_times WHERE step = 'play'")
        assert set(timings["timing"]) == {"service", "intended"}
    counted = reader.sql(lake, "SELECT step, table_name, row_count FROM table_counts ORDER BY ALL")
    assert counted["row_count"].to_list() == [100] * 4
    bounds = reader.sql(lake, "SELECT status FROM workers").select(pl.col("status").unique())
    assert bounds["status"].to_list() == ["complete"]


@pytest.mark.long
@pytest.mark.usefixtures("build")
def test_a_workload_of_an_installed_wheel_runs_end_to_end(tmp_path: Path, workspace: Workspace) -> None:
    """The package is code of somebody else, and nothing of the library or of a project names it."""
    python = environment_with_counter(tmp_path)
    written(tmp_path, "connections: 2")

    def ibench(*arguments: str) -> str:
        environment = {**os.environ, "IBENCH_HOME": str(workspace.root)}
        command = [str(python), "-P", "-c", PROGRAM, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    ibench("run", "counters.yaml", "--any-host")
    assert "complete" in ibench("runs", "--format", "csv")
    rows = ibench(
        "sql", "SELECT step, sum(rows)::BIGINT FROM workers WHERE step = 'fill' GROUP BY ALL", "--format", "csv"
    )
    assert rows.splitlines()[1:] == ["fill,200"]


@pytest.mark.timing
@pytest.mark.usefixtures("counter")
def test_a_paced_counter_sends_all_that_is_due(tmp_path: Path, build: Build, workspace: Workspace) -> None:
    """What is due when the step ends is not sent if the machine gives the client no time then, so it may try again."""
    sent = []
    while len(sent) < 5 and PACED_OPERATIONS not in sent:
        manifest = made(tmp_path, build, workspace, "connections: 8, rate: 200")
        ops = "SELECT sum(ops)::BIGINT FROM ops WHERE step = 'play' AND run_id = "
        sent.append(reader.sql(reader.lake(workspace), f"{ops} '{manifest.run_id}'").item())
    assert sent[-1] == PACED_OPERATIONS, sent


@pytest.mark.long
@pytest.mark.usefixtures("counter")
def test_a_counter_has_pages_in_its_own_words(tmp_path: Path, build: Build, workspace: Workspace) -> None:
    """Notebooks of every workload show its operations and units, though nothing but its own folder knows them."""
    manifest = made(tmp_path, build, workspace, "connections: 8")
    place = Workspace(workspace.root)
    shutil.copytree(ROOT / "notebooks", place.notebooks)
    chosen = {"experiment": manifest.experiment.name, "step": "play", "repeat": 1}
    kernel = SharedKernel()
    try:
        page = unpacked(page_of(kernel, place, "step_detail", **chosen))
    finally:
        kernel.close()
    assert b"hits/s" in page and b"shares of responses" in page
    text = page.split(b'id="evidence"')[0]
    for word in (b"inserts/s", b"queries/s", b"get_min", b"deletes/s"):
        assert word not in text, word
