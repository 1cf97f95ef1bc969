"""Whole runs: from an empty server to a sealed run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ibench_lib.errors import RunFailed
from ibench_lib.experiment.cells import LoadedExperiment, load_experiment
from ibench_lib.lake.manifest import read_manifest
from ibench_lib.lake.verify import verify
from ibench_lib.paths import Workspace
from ibench_lib.run.cell import run_cell
from ibench_lib.run.observer import Observer
from ibench_lib.run.plan import plan_cell
from ibench_lib.run.step import WorkerState
from ibench_lib.servers.address import Address
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.workloads.linkbench.population import Graph, rows_by_table
from ibench_lib.workloads.linkbench.workload import WORKLOAD
from ibench_lib.workloads.workload import Step
from tests.measurement.real import ask, connect

MY_CNF = (
    "[mysqld]\ninnodb_buffer_pool_size=128M\ninnodb_log_file_size=64M\ninnodb_doublewrite=0\nskip_log_bin\n"
    "innodb_flush_log_at_trx_commit=0\n"
)
TEXT = """\
title: t
builds: [system]
configs: [{name: base, fragments: [tiny]}]
configs_folder: own
setups: [{name: s, nodes: %d, warm_up: 1.0, seconds: 1.0}]
workload: {benchmark: linkbench, clients: 2, seed: 5, degree_tail: scaled, partitions: 2%s}
"""


def loaded(folder: Path, more: str = "", nodes: int = 3000) -> LoadedExperiment:
    (folder / "own").mkdir()
    (folder / "own" / "tiny.cnf").write_text(MY_CNF)
    path = folder / "t.yaml"
    path.write_text(TEXT % (nodes, more))
    return load_experiment(path)


@pytest.mark.parametrize(
    ("more", "names"),
    [
        (", requesters: [1, 4]", ["load", "warm_up", "t1", "t4", "control"]),
        pytest.param(
            ", requesters: [3], control: false, tables: '2013', statements: '2013', secondary_index: after, rate: 200",
            ["load", "index", "warm_up", "t3"],
            marks=pytest.mark.long,
        ),
    ],
    ids=["2015", "2013"],
)
def test_from_load_to_seal(tmp_path: Path, build: Build, workspace: Workspace, more: str, names: list[str]) -> None:
    """The checks after each step have held, or the run would have failed."""
    experiment = loaded(tmp_path, more)
    manifest = run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())
    assert manifest.status == "complete"
    run_dir = workspace.run_dir(manifest.run_id)
    assert verify(run_dir) == []
    assert [row["step"] for row in pq.read_table(run_dir / "steps.parquet").to_pylist()] == names
    counted = {
        (row["step"], row["table_name"]): row["row_count"]
        for row in pq.read_table(run_dir / "table_counts.parquet").to_pylist()
    }
    expected = rows_by_table(Graph(3000, "scaled"))
    assert {table: counted["load", table] for table in expected} == expected
    done = Counter[str]()
    for row in pq.read_table(run_dir / "ops.parquet").to_pylist():
        done[row["operation"]] += row["rows"]
    assert done["get_links_list"] > 0
    assert counted[names[-1], "nodetable"] == 3000 + done["add_node"] - done["delete_node"]


class Meddler(Observer):
    """Changes a count in the middle of a step, which no requester has done."""

    def __init__(self) -> None:
        self.address: Address | None = None
        self.done = False

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        if step.name == "t2" and not self.done:
            assert self.address is not None
            self.done = True
            with connect(self.address) as connection:
                ask(connection, "UPDATE counttable SET count = count + 1 ORDER BY id LIMIT 1")


@pytest.mark.long
def test_a_wrong_count_fails_the_run_and_is_named(
    tmp_path: Path, build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    meddler = Meddler()

    class Seen(Sandbox):
        def __enter__(self) -> Address:
            meddler.address = super().__enter__()
            return meddler.address

    monkeypatch.setattr("ibench_lib.run.server.Sandbox", Seen)
    experiment = loaded(tmp_path, ", requesters: [2], control: false, count_rows: false", nodes=500)
    with pytest.raises(RunFailed) as caught:
        run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, meddler)
    expected = "step t2: the number of counts that differ from the links shown is 1, but LinkBench allows 0"
    assert caught.value.what.endswith(expected)
    (run_dir,) = workspace.runs.iterdir()
    assert read_manifest(run_dir).status == "failed"


def test_cells_that_differ_in_requesters_share_a_load(tmp_path: Path) -> None:
    experiment = loaded(tmp_path)
    options, setup = experiment.spec.workload, experiment.cells()[0].setup
    keys = []
    for requesters in ([1], [8, 16]):
        changed = options.model_copy(update={"requesters": requesters})
        steps = WORKLOAD.steps(changed, setup, 1.0)
        keys.append((WORKLOAD.load_key(changed, steps[:1]), WORKLOAD.load_key(changed, steps)))
    assert keys[0][0] == keys[1][0] and keys[0][1] != keys[1][1]
