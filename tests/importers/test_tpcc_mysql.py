"""Logs of tpcc-mysql: their seconds have the counts of their lines, their totals are exact, and nothing is made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ibench_lib as ib
from ibench_lib.errors import UsageError
from ibench_lib.importers.importer import ImportedRun, ImportRequest
from ibench_lib.importers.intake import ImportResult, import_file
from ibench_lib.importers.source import Source
from ibench_lib.importers.tpcc_mysql import IMPORTER
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from ibench_lib.store.verify import verify
from ibench_lib.workloads.tpcc.profiles import deviations
from ibench_lib.workloads.tpcc.results.statements import tpcc_statements
from tests.importers.rows import only, remarks, rows_of
from tests.importers.tpcc_logs import NEW_ORDERS, SECRETS, line, log
from tests.synthetic import answer

pytestmark = pytest.mark.lake

TOLD = ImportRequest("small", "my8033.cy10a")


def read(folder: Path, text: str, name: str = "run.log", told: ImportRequest = TOLD) -> list[ImportedRun]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return list(IMPORTER.runs(Source(folder if path.parent != folder else path), told))


def ops(run: ImportedRun, operation: str = "new_order") -> dict[int, int]:
    """Transactions of each second."""
    return {row["second"]: row["ops"] for row in rows_of(run, "ops") if row["operation"] == operation}


def take(workspace: Workspace, path: Path, **options: Any) -> ImportResult:
    given = {"experiment": "others", "source": "a report", "dbms": "my8033.cy10a", **options}
    return import_file(path, workspace=workspace, **given)


def test_lines_are_seconds_and_totals_are_those_at_the_end(tmp_path: Path) -> None:
    (run,) = read(tmp_path, log())
    assert ops(run) == dict(enumerate(NEW_ORDERS)) == ops(run, "payment")
    assert ops(run, "stock_level") == {0: 10, 1: 11, 2: 12, 3: 9}
    assert (only(run, "steps")["duration_s"], only(run, "steps")["status"]) == (4.0, "complete")
    worker = only(run, "workers")
    assert (worker["ops"], worker["retries"], worker["errors"], worker["connections"]) == (420 * 2 + 42 * 3, 10, 0, 4)
    assert run.error is None and remarks(run) == []


def test_every_line_is_understood_and_none_of_its_secrets_are_kept(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "db7.example.com.log").write_text(log())
    result = take(workspace, tmp_path / "db7.example.com.log")
    assert result.warnings == []
    (run_id,) = result.run_ids
    assert verify(workspace.run_dir(run_id)) == []
    stored = b"".join(path.read_bytes() for path in workspace.run_dir(run_id).rglob("*") if path.is_file())
    assert [word for word in SECRETS if word in stored] == []


def test_an_old_log_and_one_without_its_second_totals_give_the_same_counts(tmp_path: Path) -> None:
    (new,), (old,) = read(tmp_path, log()), read(tmp_path, log(old=True, printed_sums=False))
    assert list(rows_of(old, "ops")) == list(rows_of(new, "ops"))
    assert only(old, "workers") == only(new, "workers")


def test_totals_that_do_not_race_count(tmp_path: Path) -> None:
    """The counters of `Raw Results` are raised by all threads without a lock."""
    racing = log().replace("[0] sc:413 lt:7  rt:0 fl:0 avg_rt", "[0] sc:400 lt:7  rt:0 fl:0 avg_rt")
    (run,) = read(tmp_path, racing)
    assert only(run, "workers")["ops"] == 420 * 2 + 42 * 3 and remarks(run) == []
    (alone,) = read(tmp_path, racing.replace("sum ver.", "sum"))
    assert "its lines have more transactions than its totals" in remarks(alone)[0] and ops(alone) == {}


def intervals(run: ImportedRun, operation: str = "new_order") -> dict[tuple[float, float], tuple[int, float]]:
    """Transactions and rate of each interval, by its end and its length in seconds."""
    of_type = (row for row in rows_of(run, "intervals") if row["operation"] == operation)
    return {(row["end_s"], row["seconds"]): (row["ops"], row["ops_per_s"]) for row in of_type}


OF_TEN_S = {(10.0 * number, 10.0): (one, one / 10) for number, one in enumerate(NEW_ORDERS, start=1)}


@pytest.mark.parametrize("old", [False, True])
def test_lines_of_several_seconds_become_intervals(tmp_path: Path, old: bool) -> None:
    (run,) = read(tmp_path, log(every=10, rest=5, old=old))
    assert ops(run) == {} and run.resolution_s is None
    assert intervals(run) == OF_TEN_S == intervals(run, "payment"), "5 payments after the last line are of none"
    assert intervals(run, "delivery")[30.0, 10.0] == (12, 1.2)
    assert remarks(run) == ["run.log:3: its lines are 10 s apart: they become intervals, not seconds"]
    assert (only(run, "workers")["ops"], only(run, "steps")["duration_s"]) == (971, 40.0)


def test_a_lost_line_is_no_interval_and_changes_no_other(tmp_path: Path) -> None:
    (run,) = read(tmp_path, log(every=10).replace(line(20, 110) + "\n", ""))
    assert intervals(run) == {at: done for at, done in OF_TEN_S.items() if at[0] != 20}
    assert remarks(run)[0].endswith("they become intervals, not seconds (it has 3 of 4 lines)")
    (run,) = read(tmp_path, log(every=10).partition("STOPPING")[0])
    assert intervals(run) == OF_TEN_S and run.error is not None


def test_the_interval_is_the_default_of_tpcc_mysql_if_a_log_does_not_say_it(tmp_path: Path) -> None:
    def unsaid(text: str) -> str:
        return "".join(part for part in text.splitlines(keepends=True) if not part.startswith("option i"))

    (run,) = read(tmp_path, unsaid(log(every=10)))
    assert intervals(run) == OF_TEN_S
    for text in (log(), log(every=20), log(every=5), log(every=10).replace(line(20, 110) + "\n", "")):
        (run,) = read(tmp_path, unsaid(text))
        assert "its lines are not 10 s apart, as is the default" in remarks(run)[0] and ops(run) == intervals(run) == {}


def test_intervals_that_do_not_fit_what_a_log_says_are_none(tmp_path: Path) -> None:
    (run,) = read(tmp_path, log().replace("option i with value '1'", "option i with value '10'"))
    assert "its lines are to be 10 s apart, and are not" in remarks(run)[0] and intervals(run) == {}
    (run,) = read(tmp_path, log(every=10).replace("[0] sc:413", "[0] sc:400"))
    assert "its lines have more transactions than its totals" in remarks(run)[0] and intervals(run) == {}


def test_what_the_totals_have_beyond_the_lines_is_the_last_part(tmp_path: Path) -> None:
    (run,) = read(tmp_path, log(rest=5))
    assert ops(run, "payment") == {**dict(enumerate(NEW_ORDERS)), 4: 5}
    assert sum(row["ops"] for row in rows_of(run, "ops")) == only(run, "workers")["ops"]
    assert "it has 4 of 4 lines of its seconds: the other 5 transactions" in remarks(run)[0]


def test_a_lost_line_is_said_and_its_transactions_are_no_second(tmp_path: Path) -> None:
    (run,) = read(tmp_path, log().replace(line(2, 110), "1213, 40001, Deadlock found when trying to get lock"))
    assert ops(run) == {0: 100, 2: 120, 3: 90, 4: 110}
    assert "it has 3 of 4 lines of its seconds: the other 253 transactions" in remarks(run)[0]


def test_a_log_without_its_end_is_a_failed_run_with_its_seconds(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(log().partition("STOPPING")[0])
    (run_id,) = take(workspace, tmp_path / "run.log").run_ids
    manifest = read_manifest(workspace.run_dir(run_id))
    assert (manifest.status, manifest.failed_step) == ("failed", "run")
    assert manifest.error == "run.log:3: its log ends in second 4 without its totals"
    assert answer(reader.lake(workspace), "tpcc_summary", "others")["step_status"].to_list() == ["failed"]


def test_a_log_with_lines_of_ten_seconds_has_the_figure_that_it_prints(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(log(every=10))
    take(workspace, tmp_path / "run.log", setup="small")
    lake = reader.lake(workspace)
    assert answer(lake, "tpcc_summary", "others")["notpm"].to_list() == [630.0]
    assert answer(lake, "step_throughput", "others")["throughput"].to_list() == [(2 * 420 + 3 * 42) / 40]
    series = answer(lake, "notpm_series", "others").select("t_s", "bucket_s", "notpm", "interval_s").rows()
    assert series == [(10.0 * number, 10.0, 6.0 * one, 10.0) for number, one in enumerate(NEW_ORDERS)]
    chart = ib.notpm_chart(answer(lake, "notpm_series", "others"))
    assert chart.layout.title.text.startswith("New orders per minute, in intervals of 10 s, run")
    assert list(chart.data[0].y) == [6.0 * one for one in NEW_ORDERS for _ in range(3)], "each is flat"
    few = answer(lake, "notpm_series", "others", points=2).select("t_s", "bucket_s", "notpm", "interval_s").rows()
    assert few == [(0.0, 20.0, 630.0, 10.0), (20.0, 20.0, 630.0, 10.0)]
    drawn = answer(lake, "one_second", "others").select("t_s", "rate_mean").rows()
    assert drawn[0] == (0.0, 23.0), "of all types"


def test_lines_after_the_measured_time_are_of_no_second(tmp_path: Path) -> None:
    (run,) = read(tmp_path, log(measure=3))
    assert set(ops(run)) == {0, 1, 2, 3}
    assert "it has 3 of 3 lines of its seconds" in remarks(run)[0]


def test_a_setup_is_called_after_what_differs(tmp_path: Path) -> None:
    for connections in (1, 4):
        (tmp_path / f"c{connections}.log").write_text(log(connections=connections))
    (tmp_path / "again.log").write_text(log())
    runs = list(IMPORTER.runs(Source(tmp_path), TOLD))
    assert sorted((run.setup, run.repeat) for run in runs) == [("small-1c", 1), ("small-4c", 1), ("small-4c", 2)]
    alone = list(IMPORTER.runs(Source(tmp_path / "c1.log"), TOLD))
    unnamed = list(IMPORTER.runs(Source(tmp_path / "c1.log"), ImportRequest(dbms="my8033.cy10a")))
    assert [run.setup for run in (*alone, *unnamed)] == ["small", "2w-1c"]


def test_logs_of_other_times_are_no_repeats(tmp_path: Path) -> None:
    text = log() + log((100, 110))
    with pytest.raises(UsageError, match=r"run\.log:\d+: its measure differs from that of .*run\.log:3"):
        read(tmp_path, text)


def test_what_a_log_does_not_say_must_be_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"run\.log:3: a log does not say of what dbms"):
        read(tmp_path, log(), told=ImportRequest("small"))
    text = log().replace("  [warehouse]: 2\n", "")
    with pytest.raises(UsageError, match="does not say how many warehouses and connections"):
        read(tmp_path, text, told=ImportRequest(dbms="my8033.cy10a"))
    with pytest.raises(UsageError, match="have no test"):
        read(tmp_path, log(), told=ImportRequest("small", "my8033.cy10a", "oltp_read_only"))
    (tmp_path / "results").mkdir()
    (run,) = read(tmp_path / "results", log(), "my8033.cy10a/run.log", ImportRequest("small"))
    assert run.dbms == "my8033.cy10a"


def test_a_log_without_figures_is_refused_or_left_out(tmp_path: Path) -> None:
    begun = log().partition("RAMP-UP")[0]
    with pytest.raises(UsageError, match="no log that can be used"):
        read(tmp_path, begun)
    (run,) = read(tmp_path, begun + log())
    assert remarks(run) == ["run.log:3: it has no figures: this log was left out"]


def test_the_figure_that_tpcc_mysql_prints_is_ours(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(log())
    take(workspace, tmp_path / "run.log", setup="small")
    lake = reader.lake(workspace)
    assert answer(lake, "tpcc_summary", "others")["notpm"].to_list() == [6300.0]
    row = answer(lake, "tpcc_workload", "others").row(0, named=True)
    assert (row["warehouses"], row["terminals"], row["ramp_up_s"], row["run_s"]) == (2, 4, 10, 4)
    assert (row["profile"], row["protocol"]) == ("tpcc_mysql", "prepared") and row["isolation"] is None
    assert json.loads(row["deviations"]) == deviations("tpcc_mysql") != []
    said = tpcc_statements(answer(lake, "tpcc_workload", "others"), answer(lake, "checks", "others"))
    size = "2 warehouses, 4 terminals in 1 process (profile tpcc_mysql, prepared statements, as fast as possible"
    assert size in str(said[0]) and "4 s are measured after a ramp-up of 10 s" in str(said[0])
