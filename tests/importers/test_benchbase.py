"""Files of BenchBase: seconds only where they have all requests, response times only from single requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibench_lib.base.histogram_bins import lower_edge_us
from ibench_lib.errors import UsageError
from ibench_lib.importers.benchbase import IMPORTER
from ibench_lib.importers.importer import ImportedRun, ImportRequest
from ibench_lib.importers.intake import import_file
from ibench_lib.importers.source import Source
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.verify import verify
from tests.importers.benchbase_files import (
    BASE,
    LATENCY_US,
    NEW_ORDERS,
    SECRETS,
    START_S,
    raw,
    summary,
    windows,
    write_windows,
)
from tests.importers.rows import only, remarks, rows_of
from tests.synthetic import answer

pytestmark = pytest.mark.lake

TOLD = ImportRequest("small", "my8033.cy10a")
REQUESTS = 2 * 420 + 3 * 42


def read(folder: Path, told: ImportRequest = TOLD, **files: str) -> list[ImportedRun]:
    """The runs of a folder with more files, which are called after the endings of BenchBase with `_` for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for ending, text in files.items():
        (folder / f"{BASE}.{ending.replace('_', '.')}").write_text(text)
    return list(IMPORTER.runs(Source(folder), told))


def ops(run: ImportedRun, operation: str = "new_order") -> dict[int, int]:
    return {row["second"]: row["ops"] for row in rows_of(run, "ops") if row["operation"] == operation}


def test_every_request_counts_in_the_second_of_its_answer_with_its_time(tmp_path: Path) -> None:
    (run,) = read(tmp_path, summary_json=summary(), raw_csv=raw())
    assert ops(run) == dict(enumerate(NEW_ORDERS)) == ops(run, "payment")
    assert ops(run, "stock_level") == {0: 10, 1: 11, 2: 12, 3: 9}
    row = next(row for row in rows_of(run, "ops") if (row["operation"], row["second"]) == ("new_order", 1))
    assert (row["service_sum_us"], row["service_max_us"]) == (110 * LATENCY_US, LATENCY_US)
    assert row["service_counts"] == [110]
    (number,) = row["service_bins"]
    assert lower_edge_us(number) <= LATENCY_US < lower_edge_us(number + 1)
    assert run.histograms and run.origin_wall is not None and run.origin_wall.timestamp() == START_S
    assert (only(run, "steps")["duration_s"], only(run, "workers")["ops"]) == (4.0, REQUESTS)
    assert run.error is None and remarks(run) == []
    printed = run.steps[0].details["printed"]
    assert (printed["succeeded"], printed["isolation"]) == (REQUESTS - 6, "repeatable_read")
    assert printed["latency_us"] == {"Median": LATENCY_US}
    few = (20, 30, 40, 10)
    (run,) = read(tmp_path, summary_json=summary(few), raw_csv=raw(few, latency_us=40_000))
    assert ops(run, "stock_level") == {0: 1, 1: 2, 2: 4, 3: 3}, "one of second 0 is answered in second 1, two of 1 in 2"


def test_phases_are_one_step_with_a_warning(tmp_path: Path) -> None:
    lines = raw().splitlines(keepends=True)
    changed = [line[:-2] + "2\n" if number > 500 else line for number, line in enumerate(lines)]
    (run,) = read(tmp_path, summary_json=summary(), raw_csv="".join(changed))
    assert sum(ops(run).values()) == 420
    assert remarks(run) == [f"{BASE}.raw.csv:1: it has 2 phases, which may differ in their load: T is of all"]


def test_windows_of_a_second_are_seconds_without_times(tmp_path: Path) -> None:
    write_windows(tmp_path)
    (run,) = read(tmp_path, summary_json=summary())
    assert ops(run) == dict(enumerate(NEW_ORDERS)) and ops(run, "delivery") == {0: 10, 1: 11, 2: 12, 3: 9}
    assert not run.histograms and "no histogram" in run.missing["ops.service_bins"]
    assert not any("service_bins" in row for row in rows_of(run, "ops")) and remarks(run) == []


def test_windows_of_five_seconds_become_no_seconds(tmp_path: Path) -> None:
    ten = (10,) * 10
    write_windows(tmp_path, ten, every=5)
    (run,) = read(tmp_path, summary_json=summary(ten))
    assert not list(rows_of(run, "ops")) and run.resolution_s is None and only(run, "workers")["ops"] == 230
    assert remarks(run) == [
        f"{BASE}.results.Delivery.csv:1: its windows are of 5 s: it has no seconds, only the totals of its summary",
        f"{BASE}.summary.json:1: 6 of 230 requests failed or were rolled back: they are counted, too",
    ]


def test_files_that_lack_a_request_have_no_seconds(tmp_path: Path) -> None:
    lines = raw().splitlines(keepends=True)
    swapped = lines[50].split(",")
    swapped[3], swapped[4] = swapped[4], swapped[3]
    for text in (
        "".join(lines[:-1]),
        "".join([*lines[:50], *lines[51:]]),
        "".join([*lines[:51], *lines[50:]]),
        "".join([*lines[:50], ",".join(swapped), *lines[51:]]),
        "".join([lines[0], *lines[2:100], lines[1], *lines[100:]]),
    ):
        (run,) = read(tmp_path, summary_json=summary(), raw_csv=text)
        assert not list(rows_of(run, "ops")) and only(run, "workers")["ops"] == REQUESTS
        assert "requests that were understood: it has no seconds" in remarks(run)[0]
    (tmp_path / "windows").mkdir()
    write_windows(tmp_path / "windows")
    (run,) = read(tmp_path / "windows", summary_json=summary(), results_Payment_csv=windows([1, 2, 3, 4]))
    assert not list(rows_of(run, "ops")) and "its windows have 556 of 966 requests" in remarks(run)[0]


def test_a_summary_alone_has_totals_and_other_files_need_one(tmp_path: Path) -> None:
    (run,) = read(tmp_path, summary_json=summary())
    assert only(run, "workers")["ops"] == REQUESTS and "it has totals only" in remarks(run)[0]
    with pytest.raises(UsageError, match="no log that can be used") as caught:
        read(tmp_path / "raw", raw_csv=raw())
    assert "no summary of TPC-C is next to it" in str(caught.value.detail)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (summary(**{"Benchmark Type": "ycsb"}), "it is of 'ycsb', which ibench does not have"),
        (summary(**{"Throughput (requests/second)": 5.0}), "its throughput is not that of its requests and its time"),
        (summary(**{"Elapsed Time (nanoseconds)": "4"}), "its time or its requests are no numbers"),
        (summary(**{"Measured Requests": 10**400}), "its time or its requests are no numbers"),
        (
            summary(**{"Throughput (requests/second)": 10**400}),
            "its throughput is not that of its requests and its time",
        ),
        (
            summary(**{"Throughput (requests/second)": float("nan")}),
            "its throughput is not that of its requests and its time",
        ),
        (summary(terminals="many"), "it does not say how many terminals it had"),
        (summary()[:-3], "it is no valid JSON"),
        (summary().replace(f": {LATENCY_US}", ": " + "[" * 50_000), "it is no valid JSON"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(UsageError, match="no log that can be used") as caught:
        read(tmp_path, summary_json=text)
    assert f"{BASE}.summary.json:1: {why}: it was left out" in str(caught.value.detail)


def test_an_error_of_benchbase_makes_the_run_a_failed_one(tmp_path: Path) -> None:
    (run,) = read(tmp_path, summary_json=summary(**{"Final State": "ERROR"}), raw_csv=raw())
    assert run.error is not None and run.failed_step == "run" and only(run, "steps")["status"] == "failed"


def test_runs_are_called_after_warehouses_and_terminals_and_further_ones_are_repeats(tmp_path: Path) -> None:
    read(tmp_path, summary_json=summary())
    (tmp_path / "tpcc_later.summary.json").write_text(summary())
    (tmp_path / "tpcc_more.summary.json").write_text(summary(terminals="8"))
    runs = list(IMPORTER.runs(Source(tmp_path), ImportRequest(dbms="my8033.cy10a")))
    assert sorted((run.setup, run.repeat) for run in runs) == [("2w-4c", 1), ("2w-4c", 2), ("2w-8c", 1)]
    runs = list(IMPORTER.runs(Source(tmp_path), TOLD))
    assert {run.setup for run in runs} == {"small-4c", "small-8c"}
    with pytest.raises(UsageError, match="does not say of what dbms"):
        list(IMPORTER.runs(Source(tmp_path), ImportRequest("small")))
    with pytest.raises(UsageError, match="have no test"):
        list(IMPORTER.runs(Source(tmp_path), ImportRequest("small", "my8033.cy10a", "oltp_read_only")))


def test_its_figures_and_percentiles_are_in_the_lake_and_none_of_its_secrets(
    workspace: Workspace, tmp_path: Path
) -> None:
    read(tmp_path, summary_json=summary(), raw_csv=raw())
    result = import_file(tmp_path, "others", "a report", workspace, dbms="my8033.cy10a")
    assert result.warnings == []
    (run_id,) = result.run_ids
    assert verify(workspace.run_dir(run_id)) == []
    lake = reader.lake(workspace)
    assert answer(lake, "tpcc_summary", "others")["notpm"].to_list() == [6300.0]
    stored = b"".join(path.read_bytes() for path in workspace.run_dir(run_id).rglob("*") if path.is_file())
    assert [word for word in SECRETS if word in stored] == []
    found = reader.sql(lake, "SELECT operation, list_sum(counts) AS answers FROM response_times ORDER BY operation")
    assert dict(found.select("operation", "answers").rows())["new_order"] == 420
