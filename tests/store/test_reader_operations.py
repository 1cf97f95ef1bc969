"""What is asked of the runs of any workload: rates, seconds and targets by the operations and kinds in the manifest."""

from __future__ import annotations

import duckdb
import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.paths import Workspace
from ibench_lib.show.step_detail.detail import step_detail
from ibench_lib.store import reader
from ibench_lib.store.manifest import OperationRecord
from tests.synthetic import OTHER_OPERATIONS, Run, answer, write_other_run, write_runs

pytestmark = pytest.mark.lake


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    workspace = Workspace(tmp_path_factory.mktemp("other-workload"))
    write_other_run(workspace, Run("x"))
    write_other_run(workspace, Run("y", minute=1))
    found = reader.lake(workspace)
    assert reader.sql(found, "FROM problems").is_empty()
    return found


def by_step(frame: pl.DataFrame, *columns: str) -> dict[str, tuple[object, ...]]:
    return {row["step"]: tuple(row[column] for column in columns) for row in frame.filter(dbms="system.x").to_dicts()}


def test_throughput_is_the_rate_of_the_main_family(lake: duckdb.DuckDBPyConnection) -> None:
    frame = answer(lake, "step_throughput")
    # 2 clients x 100 a of 10 rows; 2 clients x 50 b.
    assert by_step(frame, "rate_label", "throughput", "row_rate", "ips", "qps", "maxop_s") == {
        "load": ("as/s", 2000.0, 2000.0, None, None, 0.002),
        "run": ("bs/s", 100.0, 20.0, None, None, 0.002),
    }


def test_a_worker_with_several_operations_counts_in_the_rate_of_each(lake: duckdb.DuckDBPyConnection) -> None:
    frame = answer(lake, "rates_by_family").filter(dbms="system.x")
    assert frame.select("step", "family", "counts", "label", "amount", "rate").rows() == [
        ("load", "a", "rows", "as/s", 20_000, 2000.0),
        ("run", "a", "rows", "as/s", 200, 20.0),
        ("run", "b", "ops", "bs/s", 1000, 100.0),
    ]


def test_the_target_is_of_the_main_family_unless_the_kind_names_others(lake: duckdb.DuckDBPyConnection) -> None:
    frame = answer(lake, "sla")
    columns = ("target_per_s", "families", "labels", "rates", "missed", "sla_failed", "background")
    assert by_step(frame, *columns) == {"run": (120.0, ["b"], ["bs/s"], [100.0], [True], True, False)}
    assert by_step(answer(lake, "step_throughput"), "sla_failed") == {"load": (None,), "run": (True,)}


def test_fairness_applies_where_clients_have_equal_work(lake: duckdb.DuckDBPyConnection) -> None:
    assert by_step(answer(lake, "fairness"), "diff_s") == {"load": (0.0,)}


def test_every_second_has_the_rate_of_each_family(lake: duckdb.DuckDBPyConnection) -> None:
    frame = answer(lake, "one_second").filter((pl.col("dbms") == "system.x") & pl.col("client").is_null())
    rates = frame.group_by("step", "operation", "rate_label", maintain_order=True).agg(pl.col("rate_mean").unique())
    assert rates.rows() == [
        ("load", "a", "as/s", [2000.0]), ("run", "a", "as/s", [20.0]), ("run", "b", "bs/s", [100.0]),
    ]  # fmt: skip
    series = answer(lake, "operation_series").filter(dbms="system.x", step="run")["series"].unique().sort().to_list()
    assert series == ["a_max_s", "as_per_s", "b_max_s", "bs_per_s"]
    assert by_step(answer(lake, "rate_stability"), "rate_p50", "seconds_at_work") == {
        "load": (2000.0, 10),
        "run": (100.0, 10),
    }


@pytest.mark.slow
def test_its_metrics_are_those_that_every_workload_has(lake: duckdb.DuckDBPyConnection) -> None:
    frame = answer(lake, "metric_values").filter(dbms="system.x", step="run")
    values = dict(frame.filter(pl.col("operation").is_null()).select("metric", "value").rows())
    assert values["throughput"] == values["rate_p50"] == 100.0
    assert not {"ips", "dps", "qps", "get_min_s", "fairness_pct"} & values.keys()
    assert frame["operation"].drop_nulls().unique(maintain_order=True).to_list() == ["a", "b"]


@pytest.mark.slow
def test_all_tables_charts_and_statements_can_be_made_of_it(lake: duckdb.DuckDBPyConnection) -> None:
    post = choose(lake, "demo")
    head = ib.throughput_table(post.ask("step_throughput")).html()
    assert "as/s" in head and "bs/s" in head and "inserts/s" not in head
    table = ib.sla_table(post.ask("sla")).html()
    assert "Rates of bs that have a target" in table and "below 0.95" in table
    assert ib.sla_statements(post.ask("sla")) == [
        "cached, run: less than 0.95 of the target of 120 operations/s: system.x (100 bs/s), system.y (100 bs/s)."
    ]
    assert "throughput" in ib.step_metrics_table(post.ask("step_metrics").filter(step="run")).html()
    said = ib.throughput_statements(post.ask("step_throughput"), post.bases)
    assert said[1:] == [
        "cached: in load and run no configuration lies below 0.95x or above 1.05x of system.x (1 compared)."
    ]
    detail = step_detail(choose(lake, "demo", steps=["run"]).ask)
    chart = ib.step_detail_chart(detail.series.filter(dbms="system.x"), detail=detail)
    headings = [note.text for note in chart.layout.annotations]
    assert headings[0] == "Bs (bs/s)" and "As (rows/s)" in headings
    assert ib.say(post, ib.insert_benchmark_statements, ib.step_statements).markup == ""


def test_sixteen_families_stay_apart(workspace: Workspace) -> None:
    more = [OperationRecord(name=f"op{n}", family=f"f{n}", counts="ops", label=f"op{n}s/s") for n in range(14)]
    write_other_run(workspace, Run("x"), operations=(*OTHER_OPERATIONS, *more))
    lake = reader.lake(workspace)
    families = ["a", "b", *(f"f{n}" for n in range(14))]
    seconds = answer(lake, "one_second", steps=["run"]).filter(pl.col("client").is_null())
    assert seconds["operation"].unique(maintain_order=True).to_list() == families
    assert set(seconds.filter(pl.col("operation").str.starts_with("f"))["rate_mean"]) == {2.0}
    percentiles = answer(lake, "response_percentiles_over_time", steps=["run"])
    counts = percentiles.group_by("operation", maintain_order=True).agg(pl.col("responses").sum())
    assert counts.rows() == [("a", 200), ("b", 1000), *((name, 20) for name in families[2:])]


def test_two_workloads_stand_in_one_lake(workspace: Workspace) -> None:
    write_runs(workspace, Run())
    write_other_run(workspace, Run("x", minute=1))
    frame = answer(reader.lake(workspace), "step_throughput")
    labels = frame.select("dbms", "step", "rate_label").rows()
    assert ("system.cy10a", "l.x", "rows indexed/s") in labels and ("system.x", "run", "bs/s") in labels
    assert frame.filter(step="qr100").select("ips", "dps", "qps").rows() == [(200.0, 200.0, 1000.0)]
