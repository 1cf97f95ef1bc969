"""Logs of sysbench: their seconds are those of their lines, their totals are exact, and nothing is made up."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.errors import LakeError, UsageError
from ibench_lib.importers import intake, sysbench
from ibench_lib.importers.importer import ImportedRun, ImportRequest
from ibench_lib.importers.intake import ImportResult, import_file
from ibench_lib.importers.source import Source
from ibench_lib.importers.sysbench import IMPORTER
from ibench_lib.paths import Workspace
from ibench_lib.show.kit.display import say
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from ibench_lib.store.remove import remove_run
from ibench_lib.store.verify import verify
from tests.command import ibench, refused
from tests.importers.host_text import dstat, iostat, mpstat, vmstat
from tests.importers.metric_tables import table
from tests.importers.rows import remarks, rows_of
from tests.importers.sysbench_logs import (
    COMMAND,
    OLD_COMMAND,
    SECRETS,
    json_alone,
    json_interval,
    line,
    log,
    old_log,
)
from tests.synthetic import answer

pytestmark = pytest.mark.lake

TOLD = ImportRequest("small", "my8033.cy10a")
STEP = "oltp_read_write.t4"
Counts = dict[int, int]


def read(folder: Path, text: str | bytes, name: str = "run.log", told: ImportRequest = TOLD) -> list[ImportedRun]:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(IMPORTER.runs(Source(path), told))


def ops(run: ImportedRun, operation: str = "transaction", step: str = STEP, count: str = "ops") -> Counts:
    """A count of each second of a step."""
    rows = [row for row in rows_of(run, "ops") if (row["operation"], row["step"]) == (operation, step)]
    return {row["second"]: row[count] for row in rows}


def worker(run: ImportedRun, step: str = STEP) -> dict[str, Any]:
    (row,) = [dict(row) for row in run.rows["workers"] if row["step"] == step]
    return row


def take(workspace: Workspace, path: Path, **options: Any) -> ImportResult:
    given = {"experiment": "others", "source": "a report", "setup": "small", "dbms": "my8033.cy10a", **options}
    return import_file(path, workspace=workspace, **given)


def test_more_threads_and_a_higher_rate_than_an_experiment_may_ask_for_are_taken(
    workspace: Workspace, tmp_path: Path
) -> None:
    threads, rate = "Number of threads: 99999\n", 999_999_999
    text = log(threads=99_999).replace(threads, f"{threads}Target transaction rate: {rate}/sec\n")
    (tmp_path / "run.log").write_text(text)
    (run_id,) = take(workspace, tmp_path / "run.log").run_ids
    assert verify(workspace.run_dir(run_id)) == []
    (step,) = read_manifest(workspace.run_dir(run_id)).workload["resolved_steps"]
    assert (step["threads"], step["test"]["rate"]) == (99_999, rate)


def test_thousands_of_logs_have_few_warnings_and_their_runs_are_limited(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run keeps the warnings of its import: 150,000 of them made a manifest too large to be read."""
    begun = "Running the test with following options:\nNumber of threads: 4\n"
    (tmp_path / "run.log").write_text(log() + "\n" + begun * 3_000 + log() + "\n")
    result = take(workspace, tmp_path / "run.log")
    assert len(result.run_ids) == 2 and len(result.warnings) <= intake.MOST_WARNINGS + 3
    assert "further warnings of this import: 2,900" in result.warnings
    kept = [read_manifest(workspace.run_dir(run_id)).warnings for run_id in result.run_ids]
    assert "further warnings of this import: 2,900" in kept[0]
    assert max(map(len, kept)) <= intake.MOST_WARNINGS + 3
    monkeypatch.setattr(intake, "MOST_RUNS", 1)
    with pytest.raises(UsageError, match=r"run\.log has over 1 runs"):
        take(workspace, tmp_path / "run.log", experiment="more")
    assert len(list(workspace.runs.iterdir())) == 2


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("sb.o.read-only.range10.pk1.dop4", "read-only-10.t4"),
        ("sb.o.read-only.range10000.pk1.dop4", "read-only-10000.t4"),
        ("sb.o.read-only-count.range1000.pk1.dop4", "read-only-count.t4"),
        ("sb.o.range-notcovered-si.pre.range100.pk1", "range-notcovered-si-pre.t4"),
        ("sb.o.scan.warmpre.range100.pk1.dop4", "scan-warm-pre.t4"),
        ("sb.o.of-my-own.range10.pk1.dop4", STEP),
        ("sb.o.read-only.range10", STEP),
    ],
)
def test_the_name_of_a_log_tells_which_microbenchmark_it_is_of(tmp_path: Path, name: str, step: str) -> None:
    """The scripts of others run one Lua file as different tests, with other options."""
    (run,) = read(tmp_path, log(), name)
    assert [one.name for one in run.steps] == [step]
    (row,) = run.rows["steps"]
    assert row["kind"] == ("warm_up" if "warm" in step else "test")
    test = run.steps[0].details["test"]
    assert (test["name"], test["script"]) == (step.removesuffix(".t4"), "oltp_read_write")


def test_microbenchmarks_of_one_script_are_steps_of_one_run(tmp_path: Path) -> None:
    for size in (10, 100):
        text = log(command=COMMAND.replace("--range-size=50", f"--range-size={size}"))
        (tmp_path / f"sb.o.read-only.range{size}.pk1.dop4").write_text(text)
    (run,) = IMPORTER.runs(Source(tmp_path), TOLD)
    assert [one.name for one in run.steps] == ["read-only-10.t4", "read-only-100.t4"]


def test_the_name_of_a_file_is_searched_for_a_test_once(tmp_path: Path) -> None:
    """A name has thousands of parts that could be a test, and a file thousands of logs."""
    name = "oltp_read_write_" + "a_" * 110 + "a.log"
    sysbench._named_by.cache_clear()
    assert len(read(tmp_path, (log(command=None) + "\n") * 50, name)) == 50
    assert sysbench._named_by.cache_info().misses == 1


# What a log says.


@pytest.mark.parametrize("form", ["text", "csv"])
@pytest.mark.parametrize("version", ["1.0.20", "1.1.0-3ceba0b"])
def test_lines_are_seconds_and_the_rest_of_the_total_is_the_last_part(tmp_path: Path, form: str, version: str) -> None:
    (run,) = read(tmp_path, log(form=form, version=version))
    assert ops(run) == {0: 100, 1: 110, 2: 120, 3: 5}
    assert ops(run, "read") == {0: 200, 1: 220, 2: 240, 3: 10}
    assert ops(run, "write") == {0: 300, 1: 330, 2: 360, 3: 15}
    assert ops(run, "other") == ops(run)
    assert ops(run, count="retries") == {0: 0, 1: 2, 2: 0, 3: 0}
    done = worker(run)
    assert (done["ops"], done["retries"], done["errors"], done["connections"]) == (7 * 335, 2, 0, 4)
    assert (done["ops_from"], done["rows"], done["unknown"]) == ("counts", None, None)
    assert not {"service_counts", "service_max_us"} & {name for piece in run.columns["ops"] for name in piece.values}
    assert run.missing["ops.service_counts"].startswith("sysbench prints a percentile")
    (step,) = run.rows["steps"]
    assert (step["step"], step["kind"], step["status"], step["duration_s"]) == (STEP, "test", "complete", 3.0011)
    (named,) = run.steps
    assert (named.name, named.details["threads"], named.details["test"]["options"]) == (STEP, 4, {"range-size": 50})
    printed = named.details["printed"]
    assert (printed["latency_percentile_ms"], printed["transactions_per_s"]) == (12.3, 111.63)
    assert run.workload["program"]["version"] == f"sysbench {version}"
    assert (run.error, list(run.warnings), run.resolution_s) == (None, [], 1.0)


def test_every_line_of_a_log_is_used(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(log())
    source = Source(path)
    list(IMPORTER.runs(source, TOLD))
    assert source.read()["a.log"].lost.count == 0


def test_the_last_interval_that_was_not_printed_is_a_second(tmp_path: Path) -> None:
    (run,) = read(tmp_path, log((100, 110), rest=125))
    assert ops(run) == {0: 100, 1: 110, 2: 125}


def test_rounding_that_is_too_much_is_taken_from_the_last_seconds(tmp_path: Path) -> None:
    (run,) = read(tmp_path, log((200, 200, 200), rest=-3))
    assert ops(run) == {0: 200, 1: 200, 2: 197, 3: 0}
    assert worker(run)["ops"] == 7 * 597


def test_lines_that_have_more_than_the_total_become_no_seconds(tmp_path: Path) -> None:
    (run,) = read(tmp_path, log((200, 200, 200), rest=-300))
    assert ops(run) == {} and worker(run)["ops"] == 300
    assert "run.log:2: its lines have more transactions than its totals" in remarks(run)[0]


def test_totals_that_do_not_fit_are_said(tmp_path: Path) -> None:
    (run,) = read(tmp_path, log(rest=500))
    assert remarks(run) == ["run.log:2: its totals have 500 transactions more than its lines"]
    (run,) = read(tmp_path, log().replace("read:                            670", "read:  671"))
    assert remarks(run) == ["run.log:2: its reads, writes and others do not add up to its queries"]


def test_a_line_that_is_missing_is_no_second(tmp_path: Path) -> None:
    text = log().replace(line(2, 110, errors=2) + "\n", "")
    (run,) = read(tmp_path, text)
    assert ops(run) == {0: 100, 2: 120, 3: 115}
    assert "has 2 of 3 lines of its seconds" in remarks(run)[0]


def rates(run: ImportedRun, operation: str = "transaction", step: str = STEP) -> dict[tuple[float, float], float]:
    """The rate of each interval, by its end and its length in seconds."""
    return {
        (row["end_s"], row["seconds"]): row["ops_per_s"]
        for row in rows_of(run, "intervals")
        if (row["operation"], row["step"]) == (operation, step)
    }


OF_TEN_S = {(10.0, 10.0): 100.0, (20.0, 10.0): 110.0}


@pytest.mark.parametrize("form", ["text", "csv", "json"])
def test_intervals_of_ten_seconds_are_intervals_and_no_seconds(tmp_path: Path, form: str) -> None:
    (run,) = read(tmp_path, log((100, 110), every=10, rest=7, seconds="25.0011", form=form))
    assert run.columns.keys() == {"intervals"} and run.resolution_s is None
    assert worker(run)["ops"] == 2107
    assert rates(run) == OF_TEN_S, "what its totals have beyond them is not exactly that of the last 5 s"
    assert rates(run, "write") == {at: 3 * rate for at, rate in OF_TEN_S.items()}
    assert {row["client"] for row in rows_of(run, "intervals")} == {0}
    assert remarks(run) == ["run.log:2: its lines are 10 s apart: they become intervals, not seconds"]


def test_errors_of_an_interval_are_those_of_its_transactions(tmp_path: Path) -> None:
    (run,) = read(tmp_path, log((100, 110), every=10, errors=3, seconds="20.0011"))
    found = {(row["operation"], row["end_s"]): row["retries_per_s"] for row in rows_of(run, "intervals")}
    assert found["transaction", 20.0] == 3.0 and found["transaction", 10.0] == 0.0
    assert {rate for (operation, _), rate in found.items() if operation != "transaction"} == {None}
    assert {"intervals.ops", "intervals.retries_per_s"} <= run.missing.keys()


def test_intervals_of_other_forms(tmp_path: Path) -> None:
    (run,) = read(tmp_path, json_alone((100, 110), 10), "oltp_read_write.log")
    assert rates(run) == OF_TEN_S
    (run,) = read(tmp_path, old_log((100, 110), every=10))
    assert rates(run) == OF_TEN_S and rates(run, "other") == {}


def test_an_interval_is_as_long_as_the_ends_of_two_lines_are_apart(tmp_path: Path) -> None:
    """A line that is late stands for more, and the next one for less. After one that is missing, nobody knows."""
    text = log((100, 110, 120, 130, 140), every=10, seconds="50.0011")
    (run,) = read(tmp_path, text.replace("[ 20s ]", "[ 22s ]"))
    assert list(rates(run)) == [(10.0, 10.0), (22.0, 12.0), (30.0, 8.0), (40.0, 10.0), (50.0, 10.0)]
    (run,) = read(tmp_path, text.replace(line(30, 120) + "\n", "[ 3\n"))
    assert list(rates(run)) == [(10.0, 10.0), (20.0, 10.0), (50.0, 10.0)]
    assert remarks(run)[0].endswith("become intervals, not seconds, but for 1 line after one that may be missing")
    (run,) = read(tmp_path, text.replace(line(10, 100) + "\n", ""))
    assert list(rates(run)) == [(30.0, 10.0), (40.0, 10.0), (50.0, 10.0)]


def test_intervals_of_unknown_length_are_none(tmp_path: Path) -> None:
    """Without the line that says it, seconds between them may be missing."""
    seconds = [json_interval(second, 100) for second in range(1, 5)]
    (tmp_path / "some").mkdir()
    for lines in (seconds[1::2], seconds[::2], [seconds[0].replace('"tps"', '"tqs"'), *seconds[1::2]]):
        (run,) = read(tmp_path, "[\n" + ",\n".join(lines) + "\n]\n", "oltp_read_write.log")
        assert (rates(run) == {}) == (lines != seconds[1::2]), lines
    text = log((100, 110), every=10, seconds="20.0011").replace("Report intermediate", "Report\x00intermediate")
    (run,) = read(tmp_path, text)
    assert rates(run) == {} and "nothing says how long they stand for" in remarks(run)[0]


def test_intervals_with_more_than_the_totals_are_none(tmp_path: Path) -> None:
    (run,) = read(tmp_path, log((100, 110), every=10, rest=-50, seconds="20.0011"))
    assert not run.columns and "more transactions than its totals" in remarks(run)[0]
    (run,) = read(tmp_path, log((100, 110), every=10, rest=-20, seconds="20.0011"))
    assert rates(run) == OF_TEN_S, "less than 1 % is rounding"


def test_a_log_that_ends_early_has_its_intervals(tmp_path: Path) -> None:
    (run,) = read(tmp_path, log((100, 110), every=10, seconds="20.0011").partition("SQL statistics")[0])
    assert rates(run) == OF_TEN_S and run.error is not None and worker(run)["status"] == "failed"


def test_intervals_are_drawn_and_nothing_else_takes_them(workspace: Workspace) -> None:
    """The lowest has under half of the others' rate: were it ten seconds, it would be a stall."""
    path = workspace.root / "run.log"
    path.write_text(log((100, 110, 30, 120, 105, 115), every=10, seconds="60.0011"))
    import_file(path, "others", "a report", workspace, setup="small", dbms="my8033.cy10a")
    (run_dir,) = workspace.runs.iterdir()
    assert verify(run_dir) == []
    lake = reader.lake(workspace)
    drawn = answer(lake, "one_second", "others").filter(operation="transaction")
    columns = ["client", "t_s", "bucket_s", "interval_s", "rate_min", "rate_mean", "rate_max"]
    assert drawn.select(columns).row(2) == (None, 20.0, 10.0, 10.0, 30.0, 30.0, 30.0)
    assert drawn["t_s"].to_list() == [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
    few = answer(lake, "one_second", "others", points=3).filter(operation="transaction")
    assert few.select(columns[1:]).row(1) == (20.0, 20.0, 10.0, 30.0, 75.0, 120.0)
    series = answer(lake, "operation_series", "others").filter(series="transactions_per_s")
    assert series.select("t_s", "middle").row(2) == (25.0, 30.0)
    for question in ("dips", "stalls", "rate_by_tenth"):
        assert answer(lake, question, "others").is_empty(), question
    (steady,) = answer(lake, "steadiness", "others").to_dicts()
    assert (steady["rated_seconds"], steady["median_rate"], steady["stalls"]) == (None, None, None)
    (metrics,) = answer(lake, "step_metrics", "others").to_dicts()
    assert metrics["rate_p50"] is metrics["rate_p99"] is None
    detail = ib.step_detail(choose(lake, "others").ask)
    chart = ib.step_detail_chart(detail.series, detail=detail)
    assert chart.layout.title.text == f"{STEP}, small: my8033.cy10a (imported), rates of intervals of 10 s"
    (line_of_transactions,) = [trace for trace in chart.data if trace.name == "transactions"]
    assert list(line_of_transactions.x)[6:9] == [20.05, 25.0, 29.95]
    assert list(line_of_transactions.y)[6:9] == [30.0] * 3
    (said,) = ib.steadiness_statements(detail.steadiness, detail.dips)
    assert said.endswith("no full second is known, so no rate per second is, and no dip.")
    assert answer(lake, "imports", "others").select("steps", "with_seconds", "with_intervals").row(0) == (1, 0, 1)
    gaps = answer(lake, "gaps", "others")["problem"].to_list()
    assert gaps == ["seconds not recorded: a driven program has printed longer intervals"]


def test_several_logs_of_a_file_are_steps_and_repeats(tmp_path: Path) -> None:
    text = log() + log(threads=8, tps=(200, 200, 200)) + log(tps=(50, 50, 50))
    first, second = read(tmp_path, text)
    assert [step.name for step in first.steps] == [STEP, "oltp_read_write.t8"]
    assert [step.name for step in second.steps] == [STEP] and (first.repeat, second.repeat) == (1, 2)
    assert ops(first, step="oltp_read_write.t8") == {0: 200, 1: 200, 2: 200, 3: 5}
    assert [row["start_s"] for row in first.rows["steps"]] == [0.0, 3.0011], "one after the other"
    assert first.workload["threads"] == [4, 8]


@pytest.mark.parametrize("first", [False, True])
def test_a_log_of_0_5_is_one_of_the_same_test_without_rates_of_other_statements(tmp_path: Path, first: bool) -> None:
    (run,) = read(tmp_path, old_log(first=first))
    assert ops(run) == {0: 100, 1: 110, 2: 120, 3: 5} and ops(run, "write") == {0: 300, 1: 330, 2: 360, 3: 15}
    assert ops(run, "other") == {}, "they are in the totals only"
    done = worker(run)
    assert (done["ops"], done["retries"], done["errors"]) == (6 * 335, 2, None if first else 0)
    assert {row.get("retries") for row in rows_of(run, "ops")} == ({None} if first else {0, 2})
    assert ("workers.errors" in run.missing) == first
    (step,) = run.steps
    assert (step.name, step.details["tables"], step.details["table_size"], step.details["seconds"]) == (
        STEP,
        4,
        1000,
        3,
    )
    assert step.details["test"]["options"] == {"range-size": 50}
    printed = step.details["printed"]
    assert (printed["other"], printed["latency_percentile_ms"], printed["latency_sum_ms"]) == (335, 12.3, 11_990.0)
    assert (run.error, list(run.warnings), run.resolution_s) == (None, [], 1.0)
    assert run.workload["program"]["version"] == "sysbench 0.5"


def test_of_a_script_of_0_5_without_commits_each_statement_is_a_transaction(tmp_path: Path) -> None:
    command = OLD_COMMAND.replace("oltp.lua", "oltp_simple.lua")
    (run,) = read(tmp_path, old_log(commits=False, command=command))
    step = "oltp_point_select.t4"
    assert ops(run, step=step) == {0: 100, 1: 110, 2: 120, 3: 5} == ops(run, "read", step)
    assert worker(run, step)["ops"] == 2 * 335 and list(run.warnings) == []
    several = old_log(commits=False).replace("number of events:              335", "number of events:              67")
    (run,) = read(tmp_path, several)
    assert not run.columns and worker(run)["ops"] == 67
    assert "its lines count no transactions and become no seconds" in remarks(run)[0]


def test_a_log_of_0_4_has_its_totals(tmp_path: Path) -> None:
    text = old_log((), rest=335, first=True, command="sysbench --test=oltp --num-threads=4 run", version="0.4.12")
    for new, old in (("General statistics", "Test execution summary"), ("response time:", "per-request statistics:")):
        text = text.replace(new, old)
    text = text.replace("Threads started!", "Doing OLTP test.\nRunning mixed OLTP test\nThreads started!\nDone.")
    runs, unused = lost(tmp_path, text)
    assert unused == [] and not runs[0].columns and worker(runs[0])["ops"] == 335


@pytest.mark.parametrize(
    ("options", "test"),
    [("--oltp-read-only=on", "oltp_read_only"), ("--oltp_write_only=on", "oltp_write_only"), ("", "oltp_read_write")],
)
def test_a_script_of_0_5_is_called_as_that_of_1_0(tmp_path: Path, options: str, test: str) -> None:
    (run,) = read(tmp_path, old_log(command=OLD_COMMAND.replace(" run", f" {options} run")))
    assert [step.name for step in run.steps] == [f"{test}.t4"]
    (run,) = read(tmp_path, old_log(command=OLD_COMMAND.replace("oltp.lua", "insert.lua")))
    assert [step.name for step in run.steps] == ["oltp_insert.t4"]


@pytest.mark.parametrize("text", [old_log(), old_log(first=True), log(form="json"), json_alone()])
def test_every_line_of_other_forms_is_used(tmp_path: Path, text: str) -> None:
    (tmp_path / "oltp_read_write.log").write_text(text)
    source = Source(tmp_path / "oltp_read_write.log")
    assert len(list(IMPORTER.runs(source, TOLD))) == 1
    assert source.read()["oltp_read_write.log"].lost.first == []


def test_intervals_in_json_are_those_of_the_text(tmp_path: Path) -> None:
    (run,), (same,) = read(tmp_path, log(form="json", errors=0)), read(tmp_path, log(errors=0))
    assert list(rows_of(run, "ops")) == list(rows_of(same, "ops")) and worker(run) == worker(same)


def test_json_alone_has_seconds_and_no_totals(tmp_path: Path) -> None:
    (run,) = read(tmp_path, json_alone(), "oltp_read_write.json")
    assert ops(run) == {0: 100, 1: 110, 2: 120} and run.error is None
    assert (worker(run)["ops"], worker(run)["ops_from"], worker(run)["connections"]) == (7 * 330, "rates", 4)
    assert run.rows["steps"][0]["duration_s"] == 3.0  # type: ignore[index]
    assert "its transactions are what its lines add up to" in remarks(run)[0]
    (cut,) = read(tmp_path, json_alone()[:-2], "oltp_read_write.json")
    assert ops(cut) == ops(run) and cut.error is not None and "ends in second 3" in cut.error.text
    means = f"[\n{json_interval(4, 110, threads=0)}\n]\n"
    (run,) = read(tmp_path, json_alone() + means, "oltp_read_write.json")
    assert ops(run) == {0: 100, 1: 110, 2: 120}, "the means of the whole test have no threads, and are no interval"
    assert run.steps[0].details["printed"] == {"transactions_per_s": 110.0}
    first, second = read(tmp_path, 2 * json_alone(), "oltp_read_write.json")
    assert ops(first) == ops(second) and (first.repeat, second.repeat) == (1, 2)


def test_bins_that_are_printed_with_the_same_value_are_one(tmp_path: Path) -> None:
    head = "Latency histogram (values are in milliseconds)\n   value  ------------- distribution ------------- count\n"
    bins = "       0.001 |*             3\n       0.001 |*             4\n"
    (run,) = read(tmp_path, log().replace("SQL statistics:", f"{head}{bins}       1.021 |**    328\nSQL statistics:"))
    assert run.steps[0].details["printed"]["histogram"] == [[0.001, 7], [1.021, 328]]


def test_other_options_are_no_repeat(tmp_path: Path) -> None:
    other = COMMAND.replace("--range-size=50", "--range-size=100")
    with pytest.raises(UsageError, match=r"run\.log:44: this log is of the same test and threads as .*run\.log:2"):
        read(tmp_path, log() + log(command=other))


def test_a_log_without_a_test_is_named_by_its_file_or_by_the_user(tmp_path: Path) -> None:
    bare = log(command=None)
    with pytest.raises(UsageError, match=r"run\.log:1: a log does not say of what test it is"):
        read(tmp_path, bare)
    (run,) = read(tmp_path, bare, "my_oltp_update_non_index_4.txt")
    assert [step.name for step in run.steps] == ["oltp_update_non_index.t4"]
    (run,) = read(tmp_path, bare, told=ImportRequest("small", "a.x", "oltp_delete"))
    assert [step.name for step in run.steps] == ["oltp_delete.t4"]
    with pytest.raises(UsageError, match="unknown test 'nothing'"):
        read(tmp_path, bare, told=ImportRequest("small", "a.x", "nothing"))
    with pytest.raises(UsageError, match=r"run\.log:2: this log is not of the test 'oltp_delete'"):
        read(tmp_path, log(command=f"{COMMAND} 2>&1 | tee run.log"), told=ImportRequest("small", "a.x", "oltp_delete"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (old_log(commits=False).partition("OLTP test")[0], "its lines have no transactions, and it has no totals"),
        (log(command=COMMAND.replace("oltp_read_write", "./queue.lua")), "none of the tests that ibench knows"),
        (log().partition("[ 1s ]")[0], "it has no figures"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError, match="has no log that can be used") as caught:
        read(tmp_path, text)
    assert "run.log:2: " in str(caught.value.detail) and said in str(caught.value.detail)
    (run,) = read(tmp_path, text + log())
    assert said in remarks(run)[0] and ops(run) == {0: 100, 1: 110, 2: 120, 3: 5}


def test_setup_and_dbms_have_to_be_known(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not say of what setup it is"):
        read(tmp_path, log(), told=ImportRequest(None, "a.x"))
    with pytest.raises(UsageError, match=r"run\.log:2: a log does not say of what dbms it is"):
        read(tmp_path, log(), told=ImportRequest("small"))


@pytest.mark.parametrize(
    ("command", "test", "options"),
    [
        ("LUA_PATH=/x/?.lua /x/sysbench --time=3 /x/oltp_delete.lua run --mysql-user=bob --skip-trx", "oltp_delete",
         {"skip-trx": "on"}),
        ("sysbench --test=oltp_insert.lua --range_size=7 --mysql-password=1 run 2>&1 | tee run", "oltp_insert",
         {"range-size": 7}),
        ("sysbench oltp_read_only --delta=x;y --mysql-db=t run > log", "oltp_read_only", {}),
    ],
)  # fmt: skip
def test_a_command_line_names_the_test_and_its_options(
    tmp_path: Path, command: str, test: str, options: dict[str, Any]
) -> None:
    (run,) = read(tmp_path, log(command=command))
    (step,) = run.steps
    assert (step.name, step.details["test"]["options"]) == (f"{test}.t4", options)


# Bad input.


def seconds_of(runs: list[ImportedRun]) -> set[tuple[Any, ...]]:
    return {(row["step"], row["operation"], row["second"], row["ops"]) for run in runs for row in rows_of(run, "ops")}


def test_a_log_that_is_cut_at_any_line_has_no_row_that_the_whole_log_does_not_have(tmp_path: Path) -> None:
    text = log()
    whole, lines, statuses = seconds_of(read(tmp_path, text)), text.splitlines(keepends=True), set()
    for end in range(1, len(lines) + 1):
        for kept in ("".join(lines[:end]), "".join(lines[:end])[:-3]):
            try:
                runs = read(tmp_path, kept)
            except UsageError as error:
                assert "run.log" in error.what
                continue
            assert seconds_of(runs) <= whole
            statuses |= {(run.error and run.error.text, run.failed_step) for run in runs}
    error = "its log ends in second {} without its totals"
    assert statuses == {(None, None), *((error.format(second), STEP) for second in (1, 2, 3))}


def test_a_log_that_ends_early_is_a_failed_step_with_what_its_lines_add_up_to(tmp_path: Path) -> None:
    (run,) = read(tmp_path, log().partition("SQL statistics")[0])
    assert ops(run) == {0: 100, 1: 110, 2: 120}
    assert (worker(run)["status"], worker(run)["ops"], worker(run)["ops_from"]) == ("failed", 7 * 330, "rates")
    (run,) = read(tmp_path, log((100, 110), every=10).partition("SQL statistics")[0])
    assert worker(run)["ops"] == 2100 and run.rows["steps"][0]["duration_s"] == 20.0  # type: ignore[index]


def test_a_count_at_the_end_of_a_file_may_be_cut_and_is_lost(tmp_path: Path) -> None:
    runs, unused = lost(tmp_path, log().partition("70\n        write:")[0])
    assert unused == [19] and "read" not in runs[0].steps[0].details["printed"]


def test_a_total_that_is_damaged_leaves_the_seconds_as_they_are(tmp_path: Path) -> None:
    runs, unused = lost(tmp_path, log().replace("        write:", "        wr\0ite:"))
    assert len(unused) == 1 and ops(runs[0], "write") == {0: 300, 1: 330, 2: 360, 3: 0}


def test_other_ends_of_lines_are_the_same_log(tmp_path: Path) -> None:
    assert seconds_of(read(tmp_path, log().replace("\n", "\r\n"))) == seconds_of(read(tmp_path, log()))


def lost(folder: Path, text: str) -> tuple[list[ImportedRun], list[int]]:
    """The runs of a text, and the numbers of the lines that were not used."""
    path = folder / "run.log"
    path.write_text(text)
    source = Source(path)
    runs = list(IMPORTER.runs(source, TOLD))
    return runs, source.read()["run.log"].lost.first


def test_lines_that_are_damaged_or_of_another_tool_are_left_out_and_counted(tmp_path: Path) -> None:
    text, whole = log(), seconds_of(read(tmp_path, log()))
    second = line(2, 110, errors=2)
    runs, unused = lost(tmp_path, text.replace(second, f"{second}\n{second}"))
    assert seconds_of(runs) == whole and unused == [16]
    runs, unused = lost(tmp_path, text.replace(second, second[:20] + "\0" + second[20:]))
    assert ops(runs[0]) == {0: 100, 2: 120, 3: 115} and unused == [15]
    runs, unused = lost(tmp_path, text.replace(f"{line(1, 100)}\n{second}\n", f"{second}\n{line(1, 100)}\n"))
    assert ops(runs[0]) == {1: 110, 2: 120, 3: 105} and unused == [15]
    runs, unused = lost(tmp_path, text + "   1, trx: 607, 95%: 5.224\n" + line(9, 999) + "\n")
    assert seconds_of(runs) == whole and unused == [43, 44]
    every_twice = "".join(2 * one for one in text.splitlines(keepends=True))
    runs, unused = lost(tmp_path, every_twice)
    assert seconds_of(runs) == whole and len(unused) >= 3


def test_what_is_no_text_is_refused_in_one_line(tmp_path: Path) -> None:
    for content in (log().encode("utf-16"), log().encode() + b"\xff\xfe", gzip.compress(log().encode())[:-20]):
        path = tmp_path / "run.log"
        path.write_bytes(content)
        with pytest.raises(UsageError):
            list(IMPORTER.runs(Source(path), TOLD))


# Into the lake.


@pytest.fixture(params=["folder", "tar.gz", "zip"])
def packed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Two dbms, each with a folder of logs."""
    texts = {
        "res/my8033.cy10a/oltp_read_write.4.log": log(),
        "res/my8033.cy10a/oltp_read_write.8.log": log((200, 210, 220), threads=8),
        "res/ma1011.cy10a/oltp_read_write.4.log": log((300, 310, 320)),
        "res/notes.txt": "nothing of sysbench\n",
    }
    path = tmp_path / f"given.{request.param}"
    if request.param == "folder":
        for name, text in texts.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(text)
    elif request.param == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in texts.items():
                archive.writestr(name, text)
    else:
        with tarfile.open(path, "w:gz") as archive:
            for name, text in texts.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
    yield path


def test_folders_of_an_archive_name_the_dbms(packed: Path, workspace: Workspace) -> None:
    taken = take(workspace, packed, dbms=None)
    assert taken.warnings == ["1 file was not read: res/notes.txt"]
    rows = reader.sql(
        reader.lake(workspace),
        "SELECT dbms, step, sum(ops)::BIGINT AS n FROM ops JOIN runs USING (run_id) "
        "WHERE operation = 'transaction' GROUP BY ALL ORDER BY ALL",
    )
    assert rows.rows() == [
        ("ma1011.cy10a", STEP, 935), ("my8033.cy10a", STEP, 335), ("my8033.cy10a", "oltp_read_write.t8", 635),
    ]  # fmt: skip
    assert all(verify(path) == [] for path in workspace.runs.iterdir())


def test_questions_are_answered_with_what_is_known(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(log() + log((200, 210), threads=8, every=10, rest=5, seconds="20.0000"))
    take(workspace, path)
    lake = reader.lake(workspace)
    rates = answer(lake, "step_throughput", "others")
    assert rates["throughput"].to_list() == pytest.approx([335 / 3.0011, 4105 / 20.0])
    summary = answer(lake, "sysbench_summary", "others")
    shown = summary.select("test", "test_group", "threads", "p95_s", "reconnects").rows()
    assert shown == [("oltp_read_write", "reads and writes", n, None, 0) for n in (4, 8)]
    assert summary["tps"].to_list() == pytest.approx([335 / 3.0011, 4105 / 20.0])
    assert summary["qps"].to_list() == pytest.approx([6 * 335 / 3.0011, None])
    assert summary["scale_up"].to_list()[1] == pytest.approx(4105 / 20.0 / (335 / 3.0011))
    statements = answer(lake, "sysbench_statements", "others")
    assert statements["sent"].to_list() == [670, 1005, 335] and statements["counted"].null_count() == 3
    seconds = answer(lake, "one_second", "others").filter(pl.col("client").is_null(), operation="transaction")
    known = seconds.drop_nulls("rate_mean").select("step", "t_s", "interval_s", "rate_mean").rows()
    assert known == [
        *((STEP, at, None, 100.0 + 10 * at) for at in (0.0, 1.0, 2.0)),
        *(("oltp_read_write.t8", 10 * at, 10.0, 200.0 + 10 * at) for at in (0.0, 1.0)),
    ]
    (problem,) = answer(lake, "gaps", "others")["problem"].to_list()
    assert problem.startswith("seconds not recorded")
    (printed,) = reader.sql(lake, "SELECT workload->'$.resolved_steps[0].printed' AS p FROM runs")["p"].to_list()
    assert json.loads(printed)["transactions"] == 335


def test_they_are_called_imported_wherever_runs_are_named(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(log())
    take(workspace, path)
    post = choose(reader.lake(workspace), "others")
    assert post.runs["dbms"].to_list() == ["my8033.cy10a (imported)"]
    assert "Attention: 1 of 1 run (others: 1 result, 1 setup) is imported, not measured here." in (
        say(post, ib.run_statements).markup
    )
    assert "imported, not measured here" in str(ib.runs_table(post.runs).html())
    evidence = ib.evidence(post).html.markup
    assert "others, imported logs (a report), as it was in 1 run" in evidence
    assert "imported, not measured here: a report" in evidence
    said = ib.sysbench_statements(post.ask("sysbench_workload"), post.ask("checks"))[0]
    assert said == (
        "small: 4 tables of 1,000 rows, rand_type not recorded, db_ps_mode not recorded; 1 test with 4 threads, a "
        "warm-up is not recorded; sysbench 1.0.20."
    )


def test_no_password_user_host_or_path_is_stored(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(log())
    take(workspace, path)
    (run_dir,) = workspace.runs.iterdir()
    manifest = read_manifest(run_dir)
    assert manifest.experiment.text.endswith("  run.log\n") and len(manifest.experiment.text) == 64 + 10
    stored = {path: path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}
    assert not [(path, secret) for path, content in stored.items() for secret in SECRETS if secret in content]


def test_a_second_import_of_the_same_is_already_there(workspace: Workspace, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.log").write_text(log())
    first, second = take(workspace, tmp_path / "a" / "run.log"), take(workspace, tmp_path / "b" / "run.log")
    assert (first.already, second.already, second.run_ids) == ([], first.run_ids, [])
    assert len(list(workspace.runs.iterdir())) == 1
    (tmp_path / "b" / "run.log").write_text(log(rest=6))
    with pytest.raises(LakeError, match="experiment others already has runs"):
        take(workspace, tmp_path / "b" / "run.log")


@pytest.mark.slow
@pytest.mark.parametrize("end", ["", " (imported)"])
def test_two_of_them_are_compared_by_either_name(workspace: Workspace, tmp_path: Path, end: str) -> None:
    for name, tps in (("my8033.cy10a", 100), ("ma1011.cy10a", 200)):
        (tmp_path / "given" / name).mkdir(parents=True)
        (tmp_path / "given" / name / "run.log").write_text(log((tps, tps, tps)))
    take(workspace, tmp_path / "given", dbms=None)
    said = ibench(workspace, "compare", f"my8033.cy10a{end}", f"ma1011.cy10a{end}").stdout
    assert "ma1011.cy10a (imported)" in said and "1.98x" in said


@pytest.mark.slow
def test_the_command(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(log(command=None).partition("SQL statistics")[0] + "noise\n")
    arguments = ["runs", "import", str(path), "-e", "others", "-s", "a report", "--setup", "small", "--dbms", "a.x"]
    refused(ibench(workspace, *arguments), "a log does not say of what test it is")
    done = ibench(workspace, *arguments, "--test", "oltp_read_write")
    assert "1 sysbench run of others" in done.stdout
    assert "1 line was not understood and left out: run.log:16" in done.stderr
    assert "already there: " in ibench(workspace, *arguments, "--test", "oltp_read_write").stdout
    listed = ibench(workspace, "runs").stdout
    assert "failed" in listed and "ends in second 3 without its totals; imported, not measured here" in listed
    assert "(imported)" in ibench(workspace, "summary", "others").stdout
    asked = ibench(workspace, "sql", "SELECT sum(ops) AS n FROM ops WHERE operation = 'transaction'")
    assert "330" in asked.stdout


# The command: plans, several paths, and what is kept of names.


HOSTED = {
    "beast-node7.corp/2021-02-24-08-26/my8033.cy10a/alice_oltp_read_write.thr16.log": log(threads=16),
    "beast-node7.corp/2021-02-24-08-26/my8033.cy10a/alice_oltp_read_write.thr4.log": log().partition("SQL st")[0],
    "beast-node7.corp/2021-02-24-08-26/my8033.cy10a/oltp_read_write.thr1@10.0.0.17.log": log(threads=1) + "noise\n",
    "beast-node7.corp/ip-10-0-0-7/notes of bob.txt": "nothing\n",
}


def folder_of(path: Path, texts: dict[str, str]) -> Path:
    for name, text in texts.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


def test_steps_are_in_the_order_of_their_threads(workspace: Workspace, tmp_path: Path) -> None:
    take(workspace, folder_of(tmp_path / "given", HOSTED), dbms=None)
    rows = reader.sql(reader.lake(workspace), "SELECT step, start_s FROM steps ORDER BY step_id").rows()
    assert rows == [("oltp_read_write.t1", 0.0), ("oltp_read_write.t4", 3.0011), ("oltp_read_write.t16", 6.0011)]


def test_no_host_user_or_address_in_the_name_of_a_file_is_stored(workspace: Workspace, tmp_path: Path) -> None:
    taken = take(workspace, folder_of(tmp_path / "hosted", HOSTED), dbms=None)
    assert "thr1@10.0.0.17.log:43" in taken.warnings[0], "people see the names as they are"
    (run_dir,) = workspace.runs.iterdir()
    manifest = read_manifest(run_dir)
    names = [row.partition("  ")[2] for row in manifest.experiment.text.splitlines()]
    assert len(set(names)) == 4 and all("/name" in f"/{name}" for name in names)
    assert (manifest.error or "").endswith("oltp_read_write.thr4.log:2: its log ends in second 3 without its totals")
    stored = {path: path.read_bytes().lower() for path in run_dir.rglob("*") if path.is_file()}
    for secret in (*SECRETS, b"beast", b"node7", b"corp/", b"10.0.0", b"10-0-0", b"bob", b"hosted"):
        assert not [path for path, content in stored.items() if secret in content], secret


def test_several_paths_are_one_import(workspace: Workspace, tmp_path: Path) -> None:
    for name, threads in (("a", 4), ("b", 8)):
        folder_of(tmp_path / name, {"oltp_read_write.log": log(threads=threads)})
    paths = [tmp_path / name / "oltp_read_write.log" for name in ("a", "b")]
    taken = import_file(paths, "others", "a report", workspace, setup="small", dbms="a.x")
    assert len(taken.run_ids) == 1
    steps = reader.sql(reader.lake(workspace), "SELECT step FROM steps ORDER BY step_id")["step"].to_list()
    assert steps == ["oltp_read_write.t4", "oltp_read_write.t8"]
    folders = import_file([tmp_path / "b", tmp_path / "a"], "others", "a report", workspace, setup="small", dbms="a.x")
    assert (folders.run_ids, folders.already) == ([], taken.run_ids), "the same files, given in another way"
    with pytest.raises(UsageError, match="is given twice"):
        import_file([paths[0], paths[0]], "others", "a report", workspace, setup="small", dbms="a.x")


def test_a_folder_that_is_called_after_a_dbms_names_it(tmp_path: Path) -> None:
    folder_of(tmp_path, {"x.my8033_rel.cy10a_c8.pk1/a.log": log()})
    source = Source(tmp_path / "x.my8033_rel.cy10a_c8.pk1")
    (run,) = IMPORTER.runs(source, ImportRequest("small"))
    assert run.dbms == "my8033_rel.cy10a_c8"
    folder_of(tmp_path, {"mysql1.example.com/a.log": log()})
    with pytest.raises(UsageError, match="does not say of what dbms it is"):
        list(IMPORTER.runs(Source(tmp_path / "mysql1.example.com"), ImportRequest("small")))


BARE = log(command=None)


def test_samples_of_iostat_and_vmstat_next_to_a_log_are_its_costs(workspace: Workspace, tmp_path: Path) -> None:
    """T is 3.0011 s, so three samples are of a second each."""
    texts = {
        f"mysql/8.4.8/Tier{size}G_RW_4th.{kind}.txt": text
        for size in (2, 32)
        for kind, text in (
            ("sysbench", BARE),
            ("iostat", iostat([9, 100, 200, 300])),
            ("vmstat", vmstat([1000, 2000, 3000 * size])),
        )
    }
    texts |= {
        f"mysql/8.4.8/Tier{size}G.cnf.txt": f"[mysqld]\nuser = alice\ninnodb_buffer_pool_size = {size}G\n"
        for size in (2, 32)
    }
    folder = folder_of(tmp_path / "theirs", texts)
    result = import_file(folder, "others", "a report", workspace, setup="rw", test="oltp_read_write")
    assert result.warnings == [] and len(result.run_ids) == 2
    lake = reader.lake(workspace)
    figures = reader.sql(
        lake, "SELECT dbms, counter, end_value FROM step_counters JOIN runs USING (run_id) WHERE counter IN "
        "('reads', 'context_switches', 'cpu_user_s') ORDER BY dbms, counter"
    ).rows()  # fmt: skip
    assert [(dbms.partition(" ")[0], counter, round(value, 6)) for dbms, counter, value in figures] == [
        ("mysql-8.4.8.Tier2G", "context_switches", 9000), ("mysql-8.4.8.Tier2G", "cpu_user_s", 3.6),
        ("mysql-8.4.8.Tier2G", "reads", 600), ("mysql-8.4.8.Tier32G", "context_switches", 99_000),
        ("mysql-8.4.8.Tier32G", "cpu_user_s", 3.6), ("mysql-8.4.8.Tier32G", "reads", 600),
    ]  # fmt: skip
    kept = reader.sql(lake, "SELECT name, value FROM config_options ORDER BY value").rows()
    assert kept == [("innodb_buffer_pool_size", "2G"), ("innodb_buffer_pool_size", "32G")]
    manifest = read_manifest(workspace.run_dir(result.run_ids[0]))
    assert "samples of iostat and vmstat are of whole seconds" in manifest.workload["assumptions"][0]
    assert manifest.host["logical_cpus"] == "2"


def test_metrics_of_the_server_next_to_a_log_have_their_real_times(workspace: Workspace, tmp_path: Path) -> None:
    """T is 3.0011 s: readings of 4.2 s go on for a second longer, and those of another time are left out."""
    texts = {
        f"mysql/8.4.8/run1_Tier2G_RW_{threads}th.{kind}.txt": text
        for threads in (4, 8, 16)
        for kind, text in (
            ("sysbench", log(command=None, threads=threads)),
            ("innodb", table([10, 20, 15, 30, 40] if threads < 16 else [1] * 9)),
            ("mpstat", mpstat([20, 40, 60], cpus=8)),
            ("dstat", dstat([20, 40, 60])),
        )
    }
    folder = folder_of(tmp_path / "theirs", texts)
    result = import_file(folder, "others", "a report", workspace, setup="rw", test="oltp_read_write")
    assert result.warnings == [
        "mysql/8.4.8/run1_Tier2G_RW_16th.innodb.txt:1: its readings are of 8 s, its test is of 3 s: nothing says when "
        "it began: it was left out"
    ]
    (run_dir,) = workspace.runs.iterdir()
    assert verify(run_dir) == []
    lake = reader.lake(workspace)
    rates = reader.sql(
        lake, "SELECT tick, round(t_s, 4) AS t_s, value, round(per_s, 3) AS per_s FROM counter_seconds "
        "WHERE name = 'buffer_LRU_get_free_search' ORDER BY tick"
    ).rows()  # fmt: skip
    rate = round(100 / 1.05, 3)
    assert rates == [
        (0, 0.0, 0, None), (1, 1.05, 100, rate), (2, 2.1, 200, rate),
        (3, 3.0011, 0, None), (4, 4.0511, 100, rate), (5, 5.1011, 200, rate),
    ], "no difference from one step to the next"  # fmt: skip
    lengths = reader.sql(lake, "SELECT history_list_length AS n FROM server_samples ORDER BY t_s")["n"].to_list()
    assert lengths == [10, 20, 15, 10, 20, 15]
    used = reader.sql(
        lake, "SELECT step, sum(end_value) AS n FROM step_counters WHERE counter = 'cpu_user_s' GROUP BY 1"
    )
    assert used["n"].to_list() == pytest.approx([0.4 * 8 * 3] * 3), "of mpstat, and not of dstat, too"
    manifest = read_manifest(run_dir)
    assert "first reading" in manifest.workload["assumptions"][0]
    assert manifest.null_reasons["server_samples.uptime_s"] == "the table of metrics does not have it"
    stored = {path: path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}
    assert not [path for path, content in stored.items() if b"db7.example" in content]


def test_metrics_of_an_import_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sysbench, "_MOST_PACKED_BYTES", 10)
    texts = {"a.sysbench.txt": BARE, "a.innodb.txt": table([1, 2, 3]), "b.innodb.txt": "nothing\n"}
    (run,) = IMPORTER.runs(Source(folder_of(tmp_path / "theirs", texts)), ImportRequest("rw", "a.x", "oltp_read_write"))
    assert not {"server_counters", "server_samples"} & run.columns.keys()
    assert [said.partition(" ")[2] for said in remarks(run)] == [
        "there are too many metrics before it: it was left out; import the logs in parts",
        "it has no readings of metrics, or too many of them: it was left out",
    ]


def test_logs_of_sysbench_tpcc_are_steps_of_their_own(workspace: Workspace, tmp_path: Path) -> None:
    command = COMMAND.replace("oltp_read_write", "./tpcc.lua").replace("--range-size=50", "--scale=100 --use_fk=0")
    text = log(command=command).replace("Threads started!", "DB SCHEMA publicDB SCHEMA public\nThreads started!")
    runs, unused = lost(tmp_path, text)
    assert ops(runs[0], step="tpcc.t4") == {0: 100, 1: 110, 2: 120, 3: 5} and unused == []
    test = runs[0].steps[0].details["test"]
    assert (test["options"], test["group"]) == ({"scale": 100, "use-fk": 0}, "your own")
    (run,) = read(tmp_path, BARE, told=ImportRequest("100w", "pg13.x", "tpcc"))
    assert [step.name for step in run.steps] == ["tpcc.t4"]
    take(workspace, tmp_path / "run.log", test="tpcc")
    frame = answer(reader.lake(workspace), "step_throughput", "others")
    assert frame["throughput"].to_list() == [pytest.approx(335 / 3.0011)]


def test_logs_of_the_microbenchmarks_are_called_after_their_files(workspace: Workspace, tmp_path: Path) -> None:
    command = COMMAND.replace("oltp_read_write --mysql", "/x/lua/oltp_read_only.lua --mysql")
    texts = {
        f"x.my8033_rel.z12a.pk1/sb.o.{name}.pk1.dop4": log(command=command)
        for name in ("read-only.range10", "read-only.range10000", "scan.warmpre.range100", "point-query.range100")
    }
    texts["x.my8033_rel.z12a.pk1/sb.vm.read-only.range10.pk1.dop4"] = vmstat([1000, 2000, 3000])
    folder = folder_of(tmp_path / "theirs", texts)
    (run,) = IMPORTER.runs(Source(folder), ImportRequest("cached"))
    names = ["scan-warm-pre.t4", "read-only-10.t4", "read-only-10000.t4", "point-query.t4"]
    assert run.dbms == "my8033_rel.z12a" and [step.name for step in run.steps] == names, "as their scripts run them"
    kinds = {row["step"]: row["kind"] for row in run.rows["steps"]}
    assert (kinds["scan-warm-pre.t4"], kinds["point-query.t4"]) == ("warm_up", "test")
    assert {row["step"] for row in run.rows["step_counters"]} == {"read-only-10.t4"}
    assert len(import_file(folder, "others", "a report", workspace, setup="cached").run_ids) == 1
    with pytest.raises(UsageError, match="this log is not of the test 'oltp_delete'"):
        list(IMPORTER.runs(Source(folder), ImportRequest("cached", None, "oltp_delete")))


def test_samples_that_belong_to_no_single_log_are_named(tmp_path: Path) -> None:
    texts = {"a.sysbench.txt": 2 * BARE, "a.vmstat.txt": vmstat([1] * 3), "b.iostat.txt": iostat([9, 1])}
    runs = list(
        IMPORTER.runs(Source(folder_of(tmp_path / "theirs", texts)), ImportRequest("rw", "a.x", "oltp_read_write"))
    )
    assert not any("step_counters" in run.rows for run in runs)
    assert remarks(runs[0]) == [
        f"{name}:1: no single log is called as it is: it was left out" for name in ("a.vmstat.txt", "b.iostat.txt")
    ]


def test_logs_of_several_buffer_pools_are_no_repeats(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "theirs", {f"BP{size}.threads4/results.txt": BARE for size in (10, 80)})
    told = ImportRequest("rw", "fb8020.nvme", "oltp_read_write")
    runs = list(IMPORTER.runs(Source(folder), told))
    assert sorted((run.dbms, run.repeat) for run in runs) == [("fb8020.nvme_BP10", 1), ("fb8020.nvme_BP80", 1)]
    (one,) = IMPORTER.runs(Source(folder / "BP10.threads4"), told)
    assert one.dbms == "fb8020.nvme"


def test_logs_whose_scripts_have_noted_other_parameters_are_no_repeats(tmp_path: Path) -> None:
    noted = "buffer_pool: 60\nthreads: {}\nhost: db7.example.com\nstorage: ssd\n"
    texts = {f"BP60.threads{number}/results.txt": BARE for number in (1, 10)}
    texts |= {f"BP60.threads{number}/params.txt": noted.format(number) for number in (1, 10)}
    told = ImportRequest("rw", "my8023.ssd", "oltp_read_write")
    with pytest.raises(
        UsageError, match=r"BP60.threads10/results.txt:1: this log is of the same test .*different option"
    ):
        list(IMPORTER.runs(Source(folder_of(tmp_path / "theirs", texts)), told))
    texts["BP60.threads10/params.txt"] = noted.format(1).replace("db7", "db8")
    runs = list(IMPORTER.runs(Source(folder_of(tmp_path / "same", texts)), told))
    assert [run.repeat for run in runs] == [1, 2] and runs[0].warnings == []


def test_a_log_that_cannot_be_of_the_test_of_the_user_is_left_out(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, BARE, told=ImportRequest("rw", "a.x", "oltp_read_only"))
    assert "it has writes, and oltp_read_only has none: this log was left out" in str(caught.value.detail)
    reads = BARE.replace("        write:                           1005", "        write:                           0")
    with pytest.raises(UsageError) as caught:
        read(tmp_path, reads, told=ImportRequest("rw", "a.x", "oltp_read_write"))
    assert "it has no writes, and oltp_read_write has some" in str(caught.value.detail)


def test_a_run_that_is_missing_is_imported_and_again_replaces_all(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(log() + log())
    first = take(workspace, path)
    assert len(first.run_ids) == 2
    remove_run(first.run_ids[0], workspace)
    second = take(workspace, path)
    assert (len(second.run_ids), second.already) == (1, [first.run_ids[1]])
    third = take(workspace, path, again=True)
    assert len(third.run_ids) == 2 and not {*third.run_ids} & {*first.run_ids, *second.run_ids}
    assert {run_dir.name for run_dir in workspace.runs.iterdir()} == {*third.run_ids}


def test_a_plan_says_what_each_file_becomes_and_writes_nothing(workspace: Workspace, tmp_path: Path) -> None:
    path = folder_of(tmp_path / "given", HOSTED)
    done = ibench(workspace, "runs", "import", str(path), "--dry-run", "--setup", "small")
    rows = [line.split("  ") for line in done.stdout.splitlines()]
    found = {cells[0].rpartition("/")[2]: [cell.strip() for cell in cells if cell.strip()][1:] for cells in rows[1:]}
    why = "it has 'Running the test with following options:'"
    assert found["alice_oltp_read_write.thr16.log"] == [
        "sysbench", "small, my8033.cy10a", "oltp_read_write.t16", "16", why
    ]  # fmt: skip
    assert found["notes of bob.txt"] == ["-", "-", "-", "-", "no importer reads it"]
    assert "1 line was not understood and left out" in done.stderr
    assert not workspace.runs.exists()


def test_a_file_of_over_10_mb_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(log((100,) * 100_000, errors=0, seconds="100000.0011"))
    assert path.stat().st_size > 10_000_000
    source = Source(path)
    (run,) = IMPORTER.runs(source, TOLD)
    assert source.read()["run.log"].lost.count == 0
    (piece,) = run.columns["ops"]
    assert piece.rows == 4 * 100_001


def test_a_line_of_a_mebibyte_is_lost_and_the_others_are_read(tmp_path: Path) -> None:
    second = line(2, 110, errors=2)
    text = log().replace(second, "x" * (3 << 20) + f"\n{second}")
    runs, unused = lost(tmp_path, text)
    assert unused == [15] and ops(runs[0]) == {0: 100, 1: 110, 2: 120, 3: 5}
