"""Rates over the seconds of a step, averages of its devices and its sizes, worked out by hand."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.metrics import METRICS
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.show.parsed import Parsed
from tests.store.test_resources import lake_with
from tests.synthetic import Run, answer, write_runs

pytestmark = pytest.mark.lake

KEY = {"step_id": 2, "step": "l.i1"}


def seconds_of(*clients: list[int], partial: int = 0) -> dict[str, list[dict[str, Any]]]:
    """A step whose clients insert these rows in their seconds, and after the last full second some more."""
    longest = max(map(len, clients))
    ops = []
    for client, rates in enumerate(clients, start=1):
        last = [(len(rates), partial)] if partial and len(rates) == longest else []
        for second, rows in [*enumerate(rates), *last]:
            ops.append(
                {
                    **KEY, "client": client, "worker": client, "operation": "insert", "second": second, "rows": rows,
                    "ops": rows // 5, "service_bins": [], "service_counts": [],
                }
            )  # fmt: skip
    workers = [
        {
            **KEY,
            "client": c,
            "worker": c,
            "role": "inserter",
            "status": "complete",
            "start_s": 7.0,
            "end_s": 7.0 + len(r),
        }
        for c, r in enumerate(clients, start=1)
    ]
    end = longest + (0.5 if partial else 0.0)
    step = {**KEY, "kind": "write", "status": "complete", "clients": len(clients), "start_s": 7.0, "end_s": 7.0 + end}
    return {"ops": ops, "workers": workers, "steps": [{**step, "duration_s": end}]}


def stability(workspace: Workspace, *clients: list[int], partial: int = 0) -> dict[str, Any]:
    lake = lake_with(workspace, **seconds_of(*clients, partial=partial))
    return answer(lake, "rate_stability", steps=["l.i1"]).row(0, named=True)


def test_a_rate_is_met_or_beaten_in_99_of_100_seconds(workspace: Workspace) -> None:
    # All clients together; the partial second, however fast, is none.
    found = stability(workspace, [60] * 97 + [30, 10, 5], [40] * 97 + [15, 10, 5], partial=9999)
    assert (found["seconds_at_work"], found["rate_p50"], found["rate_p99"]) == (100, 100.0, 20.0)
    assert found["stalled_seconds"] == 3


def test_a_second_in_which_somebody_is_done_already_says_nothing_of_the_rate(workspace: Workspace) -> None:
    """It is no stall and lowers no percentile."""
    found = stability(workspace, [50] * 6, [50] * 14)
    assert (found["seconds_at_work"], found["rate_p50"], found["rate_p99"]) == (6, 100.0, 100.0)
    assert found["stalled_seconds"] == 0


def test_it_lowers_no_tenth_and_not_the_median_that_stalls_are_told_by(workspace: Workspace) -> None:
    lake = lake_with(workspace, **seconds_of([50] * 10 + [25] * 2, [50] * 10 + [20] * 2 + [1] * 8))
    row = answer(lake, "rate_by_tenth", steps=["l.i1"]).row(0, named=True)
    assert row["full_seconds"] == 12 and row["rates"][:8] == [100.0] * 8
    found = answer(lake, "rate_stability", steps=["l.i1"]).row(0, named=True)
    assert (found["seconds_at_work"], found["stalled_seconds"]) == (12, 2), "of a median of 100, not of 72"
    assert answer(lake, "steadiness", steps=["l.i1"]).row(0, named=True)["min_rate"] == 45.0


@pytest.mark.parametrize("seed", range(6))
def test_the_rate_is_the_largest_that_is_met_often_enough(workspace: Workspace, seed: int) -> None:
    draw = random.Random(seed)
    rates = [draw.randint(0, 30) for _ in range(draw.choice([1, 2, 37, 99, 100, 101, 200]))]
    found = stability(workspace, rates)
    for share, rate in ((50, found["rate_p50"]), (99, found["rate_p99"])):
        met = [value for value in sorted(set(rates)) if 100 * sum(r >= value for r in rates) >= share * len(rates)]
        assert rate == max(met)


def test_tenths_are_as_equal_as_whole_seconds_allow(workspace: Workspace) -> None:
    lake = lake_with(workspace, **seconds_of(list(range(25)), partial=1000))
    row = answer(lake, "rate_by_tenth", steps=["l.i1"]).row(0, named=True)
    parts = [[s for s in range(25) if 10 * s // 25 == tenth] for tenth in range(10)]
    assert sorted({len(part) for part in parts}) == [2, 3] and sum(map(len, parts)) == 25
    assert row["rates"] == [sum(part) / len(part) for part in parts]
    table = Parsed(ib.rate_by_tenth_table(answer(lake, "rate_by_tenth", steps=["l.i1"])))
    # The median tenth is 12.25: 1, 3.5 and 6 are under half of it.
    assert table.of("system.cy10a")[:4] == ["1 low", "4 low", "6 low", "8"]


def test_a_step_without_ten_full_seconds_has_no_tenths(workspace: Workspace) -> None:
    assert answer(lake_with(workspace, **seconds_of([5] * 9, partial=3)), "rate_by_tenth").is_empty()


def device(name: str, tick: int, holds_data: bool, **counts: float) -> dict[str, Any]:
    return {"device": name, "tick": tick, "t_s": float(tick), "holds_data": holds_data, **counts}


def test_device_averages_are_iostat_s(workspace: Workspace) -> None:
    """Ten seconds with 100 reads of 8 KB and 0.5 ms, and 50 writes of 32 KB and 2 ms each; 5 flushes a second."""
    samples = [
        device(
            name, t, name == "nvme0n1", reads=100 * t, read_bytes=100 * t * 8192, read_s=t * 0.05, writes=50 * t,
            written_bytes=50 * t * 32768, write_s=t * 0.1, busy_s=t * 0.25, queue_s=t * 0.15, flushes=5 * t,
            flush_s=t * 0.01,
        )
        for t in range(7, 18)
        for name in ("nvme0n1", "sda")
    ]  # fmt: skip
    lake = lake_with(workspace, device_samples=samples, **seconds_of([10] * 10))
    frame = answer(lake, "device_averages", steps=["l.i1"])
    (row,) = frame.to_dicts()
    measured = {name: round(row[name], 6) for name in frame.columns if name in METRICS}
    assert measured == {
        "rps": 100.0, "rmbps": 0.78125, "read_wait_ms": 0.5, "read_kb": 8.0, "wps": 50.0, "wmbps": 1.5625,
        "write_wait_ms": 2.0, "write_kb": 32.0, "flushes_per_s": 5.0, "flush_wait_ms": 2.0, "queue": 0.15,
        "busy_pct": 25.0,
    }  # fmt: skip
    table = Parsed(ib.device_table(frame))
    assert table.of("dbms")[:4] == ["r/s", "rMB/s", "r_await", "rareq-sz"]
    assert table.of("system.cy10a")[:4] == ["100", "0.8", "0.500", "8.0"]


def test_each_device_of_the_data_has_a_row(workspace: Workspace) -> None:
    samples = [device(name, t, True, reads=n * t) for t in range(7, 18) for name, n in (("sda", 10), ("sda1", 4))]
    lake = lake_with(workspace, device_samples=samples, **seconds_of([10] * 10))
    table = Parsed(ib.device_table(answer(lake, "device_averages", steps=["l.i1"])))
    assert [table.of(f"system.cy10a, {name}")[0] for name in ("sda", "sda1")] == ["10", "4"]


def test_sizes_are_sums_over_the_tables_and_unknown_is_not_zero(workspace: Workspace) -> None:
    gib = 2**30
    sizes = [
        {**KEY, "what": "table_data", "name": "pi1", "bytes": gib},
        {**KEY, "what": "table_data", "name": "pi2", "bytes": gib // 2},
        {**KEY, "what": "table_index", "name": "pi1", "bytes": gib},
        {**KEY, "what": "table_index", "name": "pi2", "bytes": None},
        {**KEY, "what": "database", "name": "", "bytes": 3 * gib},
        {**KEY, "what": "undo", "name": "", "bytes": 0},
        {**KEY, "what": "datadir", "name": "", "bytes": 4 * gib},
    ]
    lake = lake_with(workspace, sizes=sizes, **seconds_of([10]))
    frame = answer(lake, "sizes_at_step_end", steps=["l.i1"])
    row = frame.row(0, named=True)
    assert (row["table_data"], row["table_index"], row["dbgb1"], row["undo"], row["dbgb2"]) == (1.5, None, 3, 0, 4)
    table = Parsed(ib.sizes_table(frame))
    cells = dict(zip(table.of("dbms"), table.of("system.cy10a"), strict=True))
    assert (cells["rows"], cells["indexes"], cells["undo"], cells["redo"]) == ("1.500", "-", "0.000", "-")


def sized(data: int, index: int, files: int, *, rows: int) -> dict[str, list[dict[str, Any]]]:
    """What the server and its files say of two tables at the end of a step that left so many rows."""
    sizes = [
        {**KEY, "what": what, "name": name, "bytes": size // 2}
        for what, size in (("table_data", data), ("table_index", index))
        for name in ("pi1", "pi2")
    ]
    counts = [{**KEY, "table_name": name, "row_count": rows // 2, "seconds": 0.1} for name in ("pi1", "pi2")]
    return {"sizes": [*sizes, {**KEY, "what": "database", "name": "", "bytes": files}], "table_counts": counts}


MB = 10**6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "index", "files", "rows", "known"),
    [
        (81_920, 0, 29 * MB, 120_000, False),  # right after a load: those of empty tables
        pytest.param(81_920, 0, 29 * MB, 0, False, marks=pytest.mark.long),  # also where the rows are not counted
        pytest.param(
            32_768, 0, 3 * MB, 20_000, False, marks=pytest.mark.long
        ),  # too little for the rows, in files too small to judge by
        (12_600_000, 7_000_000, 48 * MB, 60_000, True),  # many deleted rows have left free pages in the files
        pytest.param(26 * MB, 0, 29 * MB, 120_000, True, marks=pytest.mark.long),  # before there is an index
        # from the middle of the load, or before an index was built
        pytest.param(13 * MB, 0, 29 * MB, 120_000, False, marks=pytest.mark.long),
        pytest.param(32_768, 32_768, 2 * MB, 100, True, marks=pytest.mark.long),
    ],
)
def test_statistics_that_lag_behind_are_not_yet_known(
    workspace: Workspace, data: int, index: int, files: int, rows: int, known: bool
) -> None:
    lake = lake_with(workspace, **sized(data, index, files, rows=rows), **seconds_of([10]))
    frame = answer(lake, "sizes_at_step_end", steps=["l.i1"])
    row = frame.row(0, named=True)
    expected = (data / 2**30, index / 2**30) if known else (None, None)
    assert (row["table_data"], row["table_index"]) == expected and row["statistics_lag"] != known
    assert row["dbgb1"] == files / 2**30
    values = answer(lake, "metric_values", steps=["l.i1"])
    assert [values.filter(metric=name)["value"].item() for name in ("table_data", "table_index")] == [*expected]
    table = Parsed(ib.sizes_table(frame))
    cells = dict(zip(table.of("dbms"), table.of("system.cy10a"), strict=True))
    assert (cells["rows"] == "not yet known") != known and (cells["indexes"] == "not yet known") != known


@pytest.mark.slow
@pytest.mark.parametrize("grown", [0, 1])
def test_statistics_of_an_earlier_step_are_not_those_of_files_that_have_grown(workspace: Workspace, grown: int) -> None:
    """A step that writes more than 1 % of the files has other statistics, if the server updated them."""
    before, after = (sized(20 * MB, 6 * MB, files, rows=120_000) for files in (30 * MB, (30 + grown) * MB))
    earlier = [{**row, "step_id": KEY["step_id"] - 1} for row in before["sizes"]]
    lake = lake_with(workspace, **{**after, "sizes": [*earlier, *after["sizes"]]}, **seconds_of([10]))
    row = answer(lake, "sizes_at_step_end", steps=["l.i1"]).row(0, named=True)
    assert row["statistics_lag"] == bool(grown) == (row["table_data"] is None)


def test_the_sample_has_no_table_of_no_size() -> None:
    lake = reader.lake()
    runs = reader.sql(lake, "SELECT run_id FROM runs WHERE experiment = 'innodb_purge_lag_sample'")["run_id"].to_list()
    frame = reader.question(lake, "sizes_at_step_end", runs=runs, steps=[])
    early = frame.filter(pl.col("step").is_in(["l.i0", "l.x"]))
    assert len(early) >= 42 and early["statistics_lag"].all()
    assert early["table_data"].null_count() == len(early) and early["dbgb1"].min() > 0.02  # type: ignore[operator]
    late = frame.filter(step="l.i1")
    assert late["table_data"].null_count() == 0 and late["table_index"].min() > 0.001  # type: ignore[operator]


@pytest.mark.long
@pytest.mark.slow
def test_step_metrics_are_those_of_the_other_questions(workspace: Workspace) -> None:
    write_runs(workspace, Run(), Run("b", minute=1, status="failed", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1")))
    lake = reader.lake(workspace)
    everything = answer(lake, "step_metrics")
    key = ["run_id", "step_id"]
    for name in ("step_throughput", "step_resources", "rate_stability"):
        other = answer(lake, name)
        shared = [column for column in other.columns if column in everything.columns]
        mine = everything.join(other.select(key), on=key, how="semi").select(shared).sort(key)
        assert mine.equals(other.select(shared).sort(key)), name
        assert len(shared) > 10
    assert everything.filter(pl.col("step") == "qr100")["rate_p99"].to_list() == [1000.0, None]
