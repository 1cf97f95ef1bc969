"""A lake in small: what the generator of `benchmarks/lake_scale.py` makes, what it weighs, and how questions scale."""

from __future__ import annotations

import json
import time
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from benchmarks.performance_page import write_section
from benchmarks.scale_lake import EXPERIMENT, QUERIES, WRITES, Size, make_lake, shares
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import with_checksum
from tests.synthetic import answer

pytestmark = [pytest.mark.lake, pytest.mark.slow]

SMALL = Size(scale=0.02, dbms=2, clients=2)
LARGE = Size(scale=0.2, dbms=2, clients=2)
BYTES_PER_ROW = 110
ROLLED_UP = """
    WITH stored AS (
        SELECT run_id, step_id, worker, operation, 'service' AS timing, service_max_us AS max_us,
               service_bins AS bins, service_counts AS counts
        FROM ops
        UNION ALL
        SELECT run_id, step_id, worker, operation, 'intended', intended_max_us, intended_bins, intended_counts
        FROM ops WHERE intended_bins IS NOT NULL
    )
    SELECT * FROM (
        SELECT run_id, step_id, worker, operation, timing, bin, sum(n)::BIGINT AS n
        FROM (SELECT *, unnest(bins) AS bin, unnest(counts) AS n FROM stored) GROUP BY ALL
    ) JOIN (
        SELECT run_id, step_id, worker, operation, timing, max(max_us) AS max_us FROM stored GROUP BY ALL
    ) USING (run_id, step_id, worker, operation, timing)
    ORDER BY ALL
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = Workspace(tmp_path_factory.mktemp("small"))
    make_lake(workspace, SMALL, processes=1)
    return workspace


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = Workspace(tmp_path_factory.mktemp("large"))
    make_lake(workspace, LARGE, processes=1)
    return workspace


def answers(workspace: Workspace) -> dict[str, pl.DataFrame]:
    lake = reader.lake(workspace)
    assert reader.sql(lake, "FROM problems").is_empty()
    found = {name: answer(lake, name, EXPERIMENT) for name in ("step_throughput", "response_time_histogram")}
    found["response_bins"] = reader.sql(lake, "FROM response_bins ORDER BY ALL")
    return found


def test_the_generator_makes_the_rows_that_it_says(small: Workspace) -> None:
    lake = reader.lake(small)
    (row,) = reader.sql(
        lake,
        """SELECT count(*) AS n, count(DISTINCT (run_id, step_id, worker, operation, second)) AS keys,
                  count(*) FILTER (ops <> list_sum(service_counts)) AS wrong,
                  count(*) FILTER (len(service_bins) <> len(service_counts)) AS ragged,
                  count(*) FILTER (list_sort(service_bins) <> service_bins) AS unsorted,
                  count(DISTINCT run_id) AS runs
           FROM ops""",
    ).to_dicts()
    assert row == {"n": SMALL.rows, "keys": SMALL.rows, "wrong": 0, "ragged": 0, "unsorted": 0, "runs": 2}
    assert SMALL.rows == 2 * 2 * 3 * 800
    assert Size().rows == 14_400_000
    steps = reader.sql(lake, "SELECT DISTINCT step_id, step FROM steps ORDER BY ALL")["step"].to_list()
    assert steps == ["l.i0", "l.x", "l.i1", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"]
    assert answer(lake, "gaps", EXPERIMENT).is_empty()
    use = reader.sql(lake, f"FROM step_use(runs_of('{EXPERIMENT}'), [])")
    assert use["known"].all()
    assert use["step_id"].n_unique() == len(steps)
    assert use["share"].min() == use["share"].max() == 1, "counted from the step's start to its end"


def test_histograms_are_as_wide_as_those_of_real_runs() -> None:
    rng = np.random.default_rng(1)
    bins = {
        rate: np.count_nonzero(rng.poisson(shares(median_us, parts) * rate, (20, len(shares(1.0, parts)))), axis=1)
        for rate, median_us, parts in ((7400, 140.0, QUERIES), (152, 2500.0, WRITES))
    }
    assert np.mean(bins[7400]) > 280
    assert np.mean(bins[152]) > 95


def test_the_same_seed_makes_the_same_files(small: Workspace, tmp_path: Path) -> None:
    again = Workspace(tmp_path)
    make_lake(again, Size(scale=SMALL.scale, dbms=1, clients=SMALL.clients), processes=1)
    (run,) = again.runs.iterdir()
    mine, theirs = (json.loads((runs / run.name / "manifest.json").read_text()) for runs in (again.runs, small.runs))
    assert mine["files"] == theirs["files"]


def test_the_roll_up_is_what_the_seconds_say(small: Workspace) -> None:
    lake = reader.lake(small)
    rolled_up = reader.sql(
        lake,
        """SELECT run_id, step_id, worker, operation, timing, unnest(bins) AS bin, unnest(counts)::BIGINT AS n, max_us
           FROM response_times ORDER BY ALL""",
    )
    assert len(rolled_up) > 10_000
    assert rolled_up.equals(reader.sql(lake, ROLLED_UP))
    assert reader.sql(lake, "FROM response_times WHERE responses <> list_sum(counts)").is_empty()


@pytest.mark.long
def test_answers_are_the_same_without_rolled_up_rows(small: Workspace) -> None:
    rolled_up = answers(small)
    hidden = []
    for directory in small.runs.iterdir():
        manifest = directory / "manifest.json"
        hidden.append((manifest, manifest.read_text(), directory / "response_times.parquet"))
    try:
        for manifest, text, path in hidden:
            content = json.loads(text)
            del content["files"][path.name]
            manifest.write_bytes(with_checksum(content))
            path.rename(path.with_suffix(".hidden"))
        from_seconds = answers(small)
    finally:
        for manifest, text, path in hidden:
            manifest.write_text(text)
            path.with_suffix(".hidden").rename(path)
    for name, frame in rolled_up.items():
        assert len(frame)
        assert frame.equals(from_seconds[name]), name


@pytest.mark.long
def test_a_row_takes_the_bytes_that_the_documentation_says(large: Workspace) -> None:
    for path in large.runs.glob("*/ops.parquet"):
        assert path.stat().st_size / pq.read_metadata(path).num_rows < BYTES_PER_ROW


def test_a_filter_on_run_leaves_out_the_files_of_other_runs(small: Workspace) -> None:
    lake = reader.lake(small)
    run_id = reader.sql(lake, "SELECT min(run_id) AS r FROM runs")["r"][0]
    for table in ("ops", "host_samples", "server_counters", "response_times"):
        text = f"EXPLAIN ANALYZE SELECT count(*) FROM {table} WHERE run_id = '{run_id}'"
        assert "Total Files Read: 1 " in plan_of(lake, text), table
    # By way of a join all files are open, but only the row groups of the step are read.
    groups = sum(pq.read_metadata(path).num_row_groups for path in small.runs.glob("*/ops.parquet"))
    text = plan_of(
        lake,
        "EXPLAIN ANALYZE SELECT sum(x.rows) FROM ops x JOIN steps s USING (run_id, step_id)"
        f" WHERE s.run_id = '{run_id}' AND s.step = 'qr500'",
    )
    assert f"Row Groups Scanned: 1 / {groups // 2}" in text


def plan_of(lake: duckdb.DuckDBPyConnection, text: str) -> str:
    return " ".join(str(lake.execute(text).fetchall()[0][1]).split())


@pytest.mark.long
@pytest.mark.timing
def test_ten_times_the_rows_cost_at_most_about_ten_times_the_time(small: Workspace, large: Workspace) -> None:
    lakes = [reader.lake(each) for each in (small, large)]
    for name, more in (("response_time_histogram", {}), ("one_second", {"steps": ["qr100"], "points": 2000})):
        took: list[list[float]] = [[], []]
        for _ in range(4):
            for lake, found in zip(lakes, took, strict=True):
                start = time.perf_counter()
                assert len(answer(lake, name, EXPERIMENT, **more))
                found.append(time.perf_counter() - start)
        assert min(took[1]) < 15 * min(took[0]), name


def test_a_section_of_the_page_leaves_the_others_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    write_section("one", "# One\n\\1 first", page)
    write_section("two", "# Two", page)
    write_section("one", "# One\n\\1 again", page)
    assert page.read_text().splitlines() == [
        "<!-- section one: written by benchmarks/one.py -->", "# One", "\\1 again", "<!-- end of one -->", "",
        "<!-- section two: written by benchmarks/two.py -->", "# Two", "<!-- end of two -->",
    ]  # fmt: skip
