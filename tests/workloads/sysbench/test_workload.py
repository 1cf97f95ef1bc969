"""sysbench from the experiment file to the answers, on a real server."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.experiment.cells import LoadedExperiment, load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.paths import workspace as project
from ibench_lib.runner.cell import run_cell
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import plan_cell
from ibench_lib.servers import catalogue
from ibench_lib.servers.build import Build
from ibench_lib.store import reader
from ibench_lib.store.verify import verify
from ibench_lib.workloads import workload
from tests.builds.test_builds import distribution
from tests.synthetic import answer

pytestmark = pytest.mark.lake

TEXT = """\
title: t
builds: [system]
configs: [{name: base, fragments: [tiny]}]
configs_folder: own
setups: [{name: s, tables: 2, table_size: 500, seconds: 2, warm_up: 0}]
workload: {benchmark: sysbench, tests: [oltp_insert, oltp_write_only], threads: [1, 2], rand_type: uniform}
"""


def loaded(folder: Path, text: str = TEXT) -> LoadedExperiment:
    (folder / "own").mkdir(exist_ok=True)
    (folder / "own" / "tiny.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=64M\nskip_log_bin\n")
    path = folder / "t.yaml"
    path.write_text(text)
    return load_experiment(path)


@pytest.mark.slow
@pytest.mark.usefixtures("sysbench")
def test_from_prepare_to_answers(tmp_path: Path, build: Build, workspace: Workspace) -> None:
    experiment = loaded(tmp_path, TEXT.replace("oltp_insert,", "oltp_insert, bulk_insert,"))
    manifest = run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())
    assert manifest.status == "complete" and verify(workspace.run_dir(manifest.run_id)) == []
    lake = reader.lake(workspace)
    names = reader.sql(lake, "SELECT step FROM steps ORDER BY step_id")["step"].to_list()
    assert names == [
        "prepare", "oltp_insert.t1", "prepare.2", "oltp_insert.t2", "prepare.3", "bulk_insert.t1", "prepare.4",
        "bulk_insert.t2", "prepare.5", "oltp_write_only.t1", "oltp_write_only.t2",
    ]  # fmt: skip
    counts = reader.sql(lake, "SELECT DISTINCT step, row_count FROM table_counts ORDER BY ALL")
    assert set(counts["row_count"]) == {500} and "oltp_insert.t1" not in counts["step"].to_list()
    totals = reader.sql(
        lake,
        "SELECT w.step, any_value(w.duration) AS seconds,"
        " sum(o.ops) FILTER (o.operation = 'transaction')::BIGINT AS done,"
        " sum(list_sum(o.service_counts))::BIGINT AS timed"
        " FROM (SELECT *, end_s - start_s AS duration FROM workers) w JOIN ops o USING (step_id) GROUP BY w.step",
    )
    summary = answer(lake, "sysbench_summary", "t")
    for row in summary.to_dicts():
        (of_step,) = totals.filter(step=row["step"]).to_dicts()
        assert row["tps"] == pytest.approx(of_step["done"] / of_step["seconds"]) and of_step["timed"] == of_step["done"]
        assert row["p50_s"] > 0
    assert (summary["threads"].to_list(), summary["scale_up"].null_count()) == ([1, 2] * 3, 3)
    checked = reader.sql(lake, "SELECT step, found, expected FROM checks WHERE step LIKE 'bulk_insert%'")
    assert checked["step"].to_list() == ["bulk_insert.t1", "bulk_insert.t2"] and checked["found"].min() > 0
    assert checked["found"].to_list() == checked["expected"].to_list()
    gaps = answer(lake, "gaps", "t").filter(pl.col("step").str.starts_with("prepare"))
    assert set(gaps["problem"]) <= {
        "seconds not recorded: a driven program has printed its total only", "seconds without a history list sample",
    }  # fmt: skip
    limits = reader.sql(lake, "SELECT client_limit_share AS share FROM steps WHERE kind = 'test'")["share"]
    assert limits.null_count() < len(limits) and limits.drop_nulls().min() > 0, "the CPU of the busiest thread"
    statements = answer(lake, "sysbench_statements", "t")
    writes = statements.filter(pl.col("statement") != "read", pl.col("retries") == 0)
    assert len(writes) >= 4 and set(writes["unexplained"]) == {0}
    assert any("counted exactly the writes" in text for text in ib.sysbench_counted_statements(statements))
    said = ib.sysbench_statements(answer(lake, "sysbench_workload", "t"), answer(lake, "checks", "t"))
    assert said[-1] == (
        "Verdict: the run passed the checks: the tables have as many rows as were prepared and those of bulk_insert "
        "have as many as its transactions."
    )
    assert said[0].startswith("s: 2 tables of 500 rows, rand_type uniform") and "sysbench 1." in said[0]


def test_what_decides_the_tables_is_the_program_and_not_the_threads(tmp_path: Path) -> None:
    sysbench = workload.find("sysbench")

    def key(text: str, steps: int) -> dict[str, str]:
        experiment = loaded(tmp_path, text)
        planned = sysbench.steps(experiment.spec.workload, experiment.cells()[0].setup, 1.0)
        return sysbench.load_key(experiment.spec.workload, planned[:steps])

    other = TEXT.replace("threads: [1, 2]", "threads: [3]")
    assert key(TEXT, 1) == key(other, 1)
    assert key(TEXT, 2) != key(other, 2), "oltp_insert has changed the rows"
    assert key(TEXT, 1) != key(TEXT.replace("table_size: 500", "table_size: 501"), 1)
    assert key(TEXT, 1) != key(TEXT.replace("uniform", "pareto"), 1)
    assert key(TEXT, 1) != key(TEXT.replace("uniform", "uniform, engine: rocksdb"), 1)
    assert key(TEXT, 1)["program"]
    bulk = TEXT.replace("[oltp_insert, oltp_write_only]", "[bulk_insert]")
    assert key(bulk, 1) != key(TEXT, 1), "its empty tables are others"
    assert key(bulk, 1) != key(bulk.replace("threads: [1, 2]", "threads: [2]"), 1)


@pytest.mark.slow
@pytest.mark.registries
@pytest.mark.usefixtures("sysbench")
def test_myrocks_from_prepare_to_seal(tmp_path: Path, workspace: Workspace) -> None:
    build = catalogue.install(f"{distribution()}-rocksdb", project())
    text = TEXT.replace("uniform", "uniform, engine: rocksdb").replace("oltp_insert,", "oltp_insert, scan,")
    experiment = loaded(tmp_path, text)
    manifest = run_cell(experiment, plan_cell(experiment, experiment.cells()[0], build), workspace, Observer())
    assert manifest.status == "complete" and verify(workspace.run_dir(manifest.run_id)) == []
    lake = reader.lake(workspace)
    summary = answer(lake, "sysbench_summary", "t")
    assert all(tps > 0 for tps in summary["tps"].to_list())
    written = reader.sql(
        lake,
        "SELECT max(value) AS n FROM server_counters WHERE name = 'Rocksdb_number_keys_written'",
    )
    assert written["n"].item() > 1000, "the tables are MyRocks'"
