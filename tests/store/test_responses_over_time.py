"""Response times over time are those of the raw bins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ibench_lib.ask.selection import choose
from ibench_lib.ask.shared import read_kept, work_out
from ibench_lib.base.histogram_bins import lower_edge_us
from ibench_lib.client.histogram import bin_latencies
from ibench_lib.paths import Workspace
from ibench_lib.store import catalogue, reader
from ibench_lib.store.narrow import narrowed
from ibench_lib.store.writer import RunWriter
from tests.places import ROOT
from tests.show.stalled import l_i1
from tests.synthetic import Run, manifest_of

pytestmark = pytest.mark.lake


def random_run(workspace: Workspace, seconds: int) -> list[list[np.ndarray[Any, Any]]]:
    """A run of one step whose responses are drawn: nanoseconds by second and client; second 3 has none."""
    rng = np.random.default_rng(5)
    run = Run(steps=())
    writer = RunWriter(workspace.run_dir(run.run_id))
    key = {"step_id": 2, "step": "l.i1"}
    drawn = []
    for second in range(seconds):
        size = 0 if second == 3 else 200
        drawn.append([rng.lognormal(14, 2, size).astype(np.int64) for _ in (1, 2)])
        for worker, latencies in enumerate(drawn[-1]):
            bins, counts = bin_latencies(latencies)
            writer.append(
                "ops", **key, client=worker + 1, worker=worker, operation="insert", second=second, ops=len(latencies),
                rows=len(latencies), errors=0, retries=0, unknown=0, service_sum_us=0.0,
                service_max_us=float(latencies.max()) / 1000 if size else None,
                service_bins=bins, service_counts=counts,
                intended_max_us=None, intended_bins=None, intended_counts=None,
            )  # fmt: skip
    for worker in (0, 1):
        writer.append(
            "workers", **key, client=worker + 1, worker=worker, role="inserter", status="complete", start_s=1.0,
            end_s=1.0 + seconds, ops=1, rows=1, errors=0, retries=0, unknown=0,
        )  # fmt: skip
    writer.append(
        "steps", **key, kind="write", status="complete", clients=2, start_s=1.0, end_s=1.0 + seconds,
        duration_s=float(seconds), insert_rows_per_commit=1, target_rows_per_s=None, existing_rows=0,
        history_list_length=None, client_bound=None,
    )  # fmt: skip
    writer.seal(manifest_of(run))
    return drawn


@pytest.mark.parametrize(("points", "bucket_s"), [(100, 1), (5, 3)])
def test_percentiles_over_time_are_those_of_the_raw_bins(workspace: Workspace, points: int, bucket_s: int) -> None:
    drawn = random_run(workspace, 10)
    found = l_i1(workspace, points=points).ask("response_percentiles_over_time")
    assert found["t_s"].to_list() == [(bucket + 0.5) * bucket_s for bucket in range(-(-10 // bucket_s))]
    for row in found.to_dicts():
        first = int(row["t_s"] - bucket_s / 2)
        latencies = np.concatenate([of for second in drawn[first : first + bucket_s] for of in second])
        assert row["responses"] == len(latencies)
        if not len(latencies):
            assert [row[name] for name in ("p50_s", "p99_s", "p999_s", "max_s")] == [None] * 4
            continue
        # Sealed runs keep the largest response in whole microseconds.
        largest = round(latencies.max() / 1000)
        assert row["max_s"] == largest / 1e6
        bins, counts = bin_latencies(latencies)
        for name, per_mille in (("p50_s", 500), ("p99_s", 990), ("p999_s", 999)):
            place = bins[int(np.searchsorted(1000 * np.cumsum(counts), per_mille * len(latencies)))]
            middle = (lower_edge_us(place) + lower_edge_us(place + 1)) / 2
            assert row[name] == pytest.approx(min(middle, largest) / 1e6, rel=1e-12)
            exact = np.quantile(latencies, per_mille / 1000, method="inverted_cdf") / 1e9
            assert row[name] == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize(("points", "bucket_s"), [(100, 1), (5, 3)])
def test_shares_over_time_are_those_of_the_responses(workspace: Workspace, points: int, bucket_s: int) -> None:
    drawn = random_run(workspace, 10)
    found = l_i1(workspace, points=points).ask("response_shares_over_time")
    for (t_s,), column in found.group_by("t_s"):
        first = int(t_s - bucket_s / 2)
        latencies = np.concatenate([of for second in drawn[first : first + bucket_s] for of in second]) / 1e9
        assert column["share"].sum() == pytest.approx(100)
        for from_s, share in column.select("from_s", "share").iter_rows():
            mine = np.count_nonzero((latencies >= from_s) & (latencies < 2 * from_s))
            assert share == pytest.approx(100 * mine / len(latencies))
    assert bucket_s > 1 or 3.5 not in found["t_s"]


@pytest.mark.slow
def test_no_bin_is_joined_to_steps_or_operations_that_it_is_not_of(tmp_path: Path) -> None:
    """Where the runs are known beforehand, DuckDB takes another plan, which once made 86 rows of each bin."""
    lake = reader.lake(str(ROOT / "data" / "sample"))
    runs = choose(lake, "tpcc_waves").run_ids
    connection, profile = narrowed(lake, runs), tmp_path / "profile.json"
    for macro in ("selected_runs", "whole_seconds"):
        work_out(connection, macro, f"temp.kept_{macro}", runs, ["run"])
        read_kept(connection, macro, f"temp.kept_{macro}")
    for statement in ("enable_profiling = 'json'", f"profiling_output = '{profile}'", "profiling_mode = 'detailed'"):
        connection.execute(f"SET {statement}")
    text, _ = catalogue.load_question("response_shares_over_time")
    connection.execute(text, {"runs": runs, "steps": ["run"], "points": 300}).fetchall()
    connection.execute("PRAGMA disable_profiling")
    sizes = dict[str, int]()
    for kind, rows in operators(json.loads(profile.read_bytes())):
        sizes[kind] = max(sizes.get(kind, 0), rows)
    assert sizes["HASH_JOIN"] <= sizes["UNNEST"] > 100_000, sizes


def operators(profile: Any) -> Iterator[tuple[str, int]]:
    """Kind, and how many rows it gives, of each operator of a query profile."""
    for each in profile if isinstance(profile, list) else [profile]:
        if isinstance(each, dict):
            if "type" in each:
                yield each["type"], each["intermediate_rows"]
            yield from operators(list(each.values()))
        elif isinstance(each, list):
            yield from operators(each)
