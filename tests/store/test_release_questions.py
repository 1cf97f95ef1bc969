"""What a post on releases asks of the lake: the points of its series, and how builds were made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from ibench_lib.metrics import METRICS
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.show.saying import made_of
from tests.synthetic import Run, answer

pytestmark = pytest.mark.lake

GCC = {"compiler": "GCC: (GNU) 4.8.5", "build_id": "ab12", "stripped": False, "allocator": None, "tls_library": None}


def as_release(**binaries: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """Let each run's configuration be its build; some builds have a binary that tells its facts."""

    def change(manifest: dict[str, Any]) -> None:
        cell = manifest["cell"]
        cell["build"], cell["config"], cell["order"] = cell["config"], "c", "shuffle 7"
        manifest["server"]["version"] = f"10.11.{cell['build'][1:]}-MariaDB"
        manifest["server"]["variables"] |= {"version_malloc_library": "system", "version_compile_os": "Linux"}
        manifest["binary"] = binaries.get(cell["build"])

    return change


@pytest.fixture
def two(workspace: Workspace) -> Workspace:
    """Two builds with two runs each; the second one misses the target of qr100 in one of them."""
    runs = [
        Run(f"b{build}", dbms=f"b{build}.c", repeat=repeat, minute=3 * repeat + build,
            background_rows=800 if (build, repeat) == (2, 2) else 1000)
        for repeat in (1, 2) for build in (1, 2)
    ]  # fmt: skip
    made_of(workspace, *runs, change=as_release(b1=GCC))
    return workspace


def test_rates_alone_are_the_same_points(two: Workspace) -> None:
    """`rate_points` computes nothing else, and has what `series_points` has of these metrics: values, types, order."""
    lake, rates = reader.lake(two), [metric.name for metric in METRICS.values() if metric.is_rate_of_step]
    runs = [run_id for (run_id,) in lake.execute("SELECT run_id FROM runs").fetchall()]
    for steps, metrics in (([], rates), (["qr100"], ["qps", "cpupq"]), ([], [])):
        given = {"runs": runs, "steps": steps}
        alone = reader.question(lake, "rate_points", **given, metrics=metrics)
        among_all = reader.question(lake, "series_points", **given, metrics=[name for name in metrics if name in rates])
        assert_frame_equal(alone, among_all, check_exact=True)
        assert alone.is_empty() == (not metrics)
    assert {"throughput", "ips", "qps"} <= set(rates)


def test_points_have_the_main_rate_of_a_step_and_its_costs(two: Workspace) -> None:
    points = answer(reader.lake(two), "release_points")
    rates = points.filter(pl.col("is_rate")).select("step", "metric", "rate_label").unique().sort("step")
    assert rates.rows() == [
        ("l.i0", "ips", "inserts/s"), ("l.i1", "ips", "inserts/s"), ("l.x", "ips", "rows indexed/s"),
        ("qr100", "qps", "queries/s"),
    ]  # fmt: skip
    queries = points.filter((pl.col("step") == "qr100") & pl.col("is_rate") & (pl.col("repeat") == 1))
    assert queries.select("dbms", "build", "value", "problem", "missed").rows() == [
        ("b1.c", "b1", 1000.0, None, False), ("b2.c", "b2", 1000.0, None, False),
    ]  # fmt: skip
    p99 = points.filter(pl.col("metric") == "response_p99_ms").select("step", "operation", "timing").unique()
    assert set(p99.rows()) == {
        ("l.i0", "insert", "service"), ("l.i1", "insert", "service"), ("qr100", "range_query", "service"),
    }  # fmt: skip
    assert {"cpupq", "scpupq", "cspq", "rpq", "wkbpi", "hll"} <= set(points["metric"])
    assert not points.select("run_id", "step_id", "metric", "operation").is_duplicated().any()


@pytest.mark.long
def test_a_missed_target_is_seen(two: Workspace) -> None:
    points = answer(reader.lake(two), "release_points").filter(pl.col("is_rate"))
    missed = points.filter(pl.col("missed")).select("build", "repeat", "step", "value").rows()
    assert missed == [("b2", 2, "qr100", None)]


def test_builds_have_the_facts_that_their_runs_recorded(two: Workspace) -> None:
    builds = answer(reader.lake(two), "builds")
    columns = ("build", "flavour", "server_version", "told", "compiler", "build_id", "stripped", "malloc_library",
               "compile_os", "runs")  # fmt: skip
    assert builds.select(columns).rows() == [
        ("b1", "mariadb", "10.11.1-MariaDB", True, "GCC: (GNU) 4.8.5", "ab12", False, "system", "Linux", 2),
        ("b2", "mariadb", "10.11.2-MariaDB", False, None, None, None, "system", "Linux", 2),
    ]
