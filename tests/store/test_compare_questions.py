"""What two dbms are compared by: every metric in one long answer, and what differs next to what they did."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import polars as pl
import pytest

from ibench_lib.metrics import METRICS
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import with_checksum
from ibench_lib.workloads import workload
from tests.shared import asked, lake_of
from tests.store.test_resources import GIB, lake_with, samples, step
from tests.synthetic import Run, answer, begin_run, end_run, three_configurations, write_runs

pytestmark = pytest.mark.lake

NO_VALUE_OF_A_STEP = {
    "duration_s": "a step of given rows takes T as its rate says, one of given seconds always that",
    "throughput": "the Insert Benchmark has names for its rates",
}
"""Declared metrics that `metric_values` leaves out, each with the reason."""


def of_step(frame: pl.DataFrame, step: str, operation: str | None = None) -> dict[str, float | None]:
    """Metric -> value of one step of a frame with one run."""
    of = pl.col("operation").is_null() if operation is None else pl.col("operation") == operation
    rows = frame.filter((pl.col("step") == step) & of).select("metric", "value").rows()
    assert len(dict(rows)) == len(rows)
    return dict(rows)


def change_manifest(workspace: Workspace, run: Run, **changes: dict[str, Any]) -> None:
    """Let a sealed run have other facts: `variables`, `host`, `workload`."""
    path = workspace.run_dir(run.run_id) / "manifest.json"
    manifest = json.loads(path.read_text())
    for what, facts in changes.items():
        place = manifest["server"] if what == "variables" else manifest
        place[what] = {**place[what], **facts}
    path.write_bytes(with_checksum(manifest))


@pytest.mark.slow
def _is_there(name: str) -> bool:
    """Whether a workload has such a module; not each has a folder of results."""
    return find_spec(name.rpartition(".")[0]) is not None and find_spec(name) is not None


def test_every_declared_metric_is_in_the_answer_or_left_out_for_a_reason() -> None:
    found = set(asked("metric_values", Run())["metric"])
    modules = [
        f"ibench_lib.workloads.{name}.results.metrics" for name in workload.known() if name != "insert_benchmark"
    ]
    theirs = {metric.name for name in modules if _is_there(name) for metric in import_module(name).METRICS}
    assert found | NO_VALUE_OF_A_STEP.keys() == METRICS.keys() - theirs
    assert not found & NO_VALUE_OF_A_STEP.keys()


def test_every_value_is_worked_out_by_hand() -> None:
    frame = asked("metric_values", Run())
    not_captured = dict.fromkeys(
        ["rps", "wps", "rmbps", "wmbps", "rpq", "rkbpq", "wpi", "wkbpi", "csps", "cpups", "cspq", "cpupq", "scpupq",
         "rss", "dbgb1", "dbgb2", "table_data", "table_index", "system", "undo", "redo", "temporary", "binary_log",
         "read_wait_ms", "read_kb", "write_wait_ms", "write_kb", "flushes_per_s", "flush_wait_ms", "queue", "busy_pct",
         "other_cpu", "ipq", "cpi"]
    )  # fmt: skip
    # 50,000 rows in 10 s. Four processes with half a CPU second each.
    assert of_step(frame, "l.i1") == pytest.approx(
        {"rate_p50": 5000, "rate_p99": 5000, "ips": 5000, "dps": 5000, "maxop": 0.002, "hll": 30000, "get_min_s": 0.001,
         "fairness_diff_s": 0,
         "fairness_pct": 0, "ccpupq": 2e6 / 50_000, **not_captured}
    )  # fmt: skip
    # Client 2 was done after 8 of the 10 seconds; in these, 1000 and 1250 rows a second.
    assert of_step(frame, "l.i0") == pytest.approx(
        {"rate_p50": 2250, "rate_p99": 2250, "ips": 2000, "maxop": 0.002, "hll": 10, "get_min_s": 0.001,
         "fairness_diff_s": 2, "fairness_pct": 25,
         "ccpupq": 1e6 / 20_000, **not_captured}
    )  # fmt: skip
    assert of_step(frame, "l.x").keys() == of_step(frame, "l.i0").keys() - {
        "fairness_diff_s",
        "fairness_pct",
        "rate_p50",
        "rate_p99",
    }
    assert of_step(frame, "qr100") == pytest.approx(
        {"rate_p50": 1000, "rate_p99": 1000, "ips": 200, "dps": 200, "qps": 1000, "maxop": 0.002, "hll": 5,
         "get_min_s": 0.5, "ccpupq": 3e6 / 5000,
         **not_captured}
    )  # fmt: skip
    # All responses are in one bin, of which 502 us is the middle.
    percentiles = dict.fromkeys(["response_p50_ms", "response_p90_ms", "response_p99_ms", "response_p999_ms"], 0.502)
    assert of_step(frame, "qr100", "range_query") == pytest.approx({**percentiles, "response_max_ms": 2.0}, rel=1e-3)
    few = {"response_p50_ms": 0.502, "response_p90_ms": 0.502, "response_max_ms": 2.0}
    for operation in ("insert", "delete"):  # 20 of each
        assert of_step(frame, "qr100", operation) == pytest.approx(few, rel=1e-3)
    assert set(frame.filter(pl.col("operation").is_not_null())["timing"]) == {"service"}


@pytest.mark.slow
def test_resources_are_those_of_step_resources(workspace: Workspace) -> None:
    key = {"step_id": 3, "step": "qr100", "client": 1, "status": "complete", "start_s": 21.0, "end_s": 61.0}
    lake = lake_with(
        workspace,
        steps=[step(3, "qr100", "query", 21.0, 40.0)],
        workers=[{**key, "worker": 1, "role": "querier", "ops": 4000, "rows": 40_000}],
        sizes=[{"step_id": 3, "step": "qr100", "what": "database", "name": "", "bytes": 2 * GIB}],
        **samples(21.0, 40),
    )
    found = of_step(answer(lake, "metric_values", steps=["qr100"]), "qr100")
    row = answer(lake, "step_resources", steps=["qr100"]).row(0, named=True)
    for metric in ("rps", "wps", "rmbps", "wmbps", "rpq", "rkbpq", "csps", "cpups", "cspq", "cpupq", "scpupq", "rss"):
        assert found[metric] == row[metric] and found[metric], metric
    assert (found["rps"], found["rpq"], found["dbgb1"], found["dbgb2"]) == (pytest.approx(20), 0.2, 2, None)
    # Nobody inserts, so nothing is written per inserted row.
    assert not {"ips", "dps", "wpi", "wkbpi"} & found.keys()


@pytest.mark.long
@pytest.mark.slow
def test_steps_that_did_not_complete_say_so_in_every_row(workspace: Workspace) -> None:
    failed = Run("x", minute=1, status="failed", failed_step="l.i1", error="lost", steps=("l.i0", "l.x", "l.i1"))
    live = Run("live", minute=2, status="running", steps=("l.i0",))
    write_runs(workspace, Run(), failed)
    writer = begin_run(workspace, live, sealed=())
    frame = answer(reader.lake(workspace), "metric_values")
    stands = frame.group_by("dbms", "step").agg(pl.col("step_status").unique())
    assert {(dbms, step): status for dbms, step, [status] in stands.rows()} == {
        **{("system.cy10a", step): "complete" for step in ("l.i0", "l.x", "l.i1", "qr100")},
        ("system.x", "l.i0"): "complete", ("system.x", "l.x"): "complete", ("system.x", "l.i1"): "failed",
        ("system.x", "qr100"): "not run",
        ("system.live", "l.i0"): "running",
        **{("system.live", step): "not begun" for step in ("l.x", "l.i1", "qr100")},
    }  # fmt: skip
    assert frame.filter(step_status="not run")["value"].null_count() == len(frame.filter(step_status="not run"))
    end_run(writer, live)


def test_a_question_can_be_part_of_sql() -> None:
    lake = lake_of(*three_configurations())
    ids = reader.sql(lake, "SELECT run_id FROM runs")["run_id"].to_list()
    listed = ", ".join(f"'{run_id}'" for run_id in ids)
    text = f"SELECT dbms, ips FROM questions.step_throughput([{listed}], ['l.i1']) ORDER BY ips, dbms"
    assert reader.sql(lake, text).rows() == [
        ("system.cy10ap1lag", 2500.0), ("system.cy10a", 5000.0), ("system.cy10ap1", 5000.0),
    ]  # fmt: skip


def test_variables_that_differ_are_told_from_noise_and_from_what_is_not_there(workspace: Workspace) -> None:
    a, b = Run(), Run("b", minute=1)
    write_runs(workspace, a, b)
    for run, uuid in ((a, "1-2"), (b, "3-4")):
        folder = f"/home/{run.config}/sandboxes/{run.run_id}"
        change_manifest(workspace, run, variables={"datadir": f"{folder}/datadir/", "server_uuid": uuid, "same": "x"})
    change_manifest(workspace, a, variables={"innodb_undo_directory": "/disk1", "old_mode": ""})
    change_manifest(workspace, b, variables={"innodb_undo_directory": "/disk2", "innodb_purge_threads": "8"})
    frame = answer(reader.lake(workspace), "fact_diff").filter(source="variable")
    assert frame.select("fact", "base_values", "dbms_values", "noise").rows() == [
        ("innodb_purge_threads", ["4"], ["8"], None),
        # Another disk is another disk: only a run's own folders are alike.
        ("innodb_undo_directory", ["/disk1"], ["/disk2"], None),
        ("old_mode", [""], [None], None),
        ("server_uuid", ["1-2"], ["3-4"], "who the server is"),
    ]
    assert set(frame["dbms"]) == {"system.b"}


def test_runs_of_one_side_that_differ_among_themselves_show_all_their_values(workspace: Workspace) -> None:
    a, again, b, b_again = Run(), Run(repeat=2, minute=1), Run("b", minute=2), Run("b", repeat=2, minute=3)
    write_runs(workspace, a, again, b, b_again)
    change_manifest(workspace, again, variables={"innodb_purge_threads": "1"})
    change_manifest(workspace, b, variables={"seldom": "on"})
    frame = answer(reader.lake(workspace), "fact_diff")
    assert frame.select("fact", "base_values", "dbms_values").rows() == [
        ("innodb_purge_threads", ["1", "4"], ["4"]),
        ("seldom", [None], ["on", None]),
    ]


def test_facts_of_the_host_and_the_workload_differ_or_not(workspace: Workspace) -> None:
    a, b = Run(), Run("b", minute=1, scale=0.5)
    write_runs(workspace, a, b)
    change_manifest(workspace, a, host={"disk_free_bytes": 7, "vm": {"swappiness": "60"}})
    change_manifest(workspace, b, host={"disk_free_bytes": 8, "vm": {"swappiness": "1"}, "smt": False})
    change_manifest(workspace, b, workload={"clients": 8})
    frame = answer(reader.lake(workspace), "fact_diff")
    assert frame.select("source", "fact", "base_values", "dbms_values", "noise").rows() == [
        ("host", "disk_free_bytes", ["7"], ["8"], "different in each run"),
        ("host", "smt", [None], ["false"], None),
        ("host", "vm.swappiness", ["60"], ["1"], None),
        ("workload", "clients", ["2"], ["8"], None),
        ("workload", "scale", ["1.0"], ["0.5"], None),
    ]


def test_a_server_that_did_not_start_has_no_variables_to_differ(workspace: Workspace) -> None:
    a, b = Run(), Run("b", minute=1, status="failed", steps=())
    write_runs(workspace, a, b)
    path = workspace.run_dir(b.run_id) / "manifest.json"
    path.write_bytes(with_checksum({**json.loads(path.read_text()), "server": None}))
    assert answer(reader.lake(workspace), "fact_diff").is_empty()


def test_the_newest_experiment_is_the_first(workspace: Workspace) -> None:
    failed = Run(minute=3, experiment="old", status="failed", failed_step="l.i1", steps=("l.i0",))
    write_runs(workspace, Run(experiment="old"), Run("b", minute=9, setup="io"), Run(minute=4, title="t"), failed)
    found = reader.question(reader.lake(workspace), "known_experiments")
    assert found.drop("first_begun", "last_begun").rows() == [
        ("demo", "Purge lag", 2, 2, 0, 0, 2, ["cached", "io"]),
        ("old", "Purge lag", 2, 1, 0, 1, 1, ["cached"]),
    ]
    assert [str(time) for time in found["last_begun"]] == ["2026-11-21 10:09:00", "2026-11-21 10:03:00"]
