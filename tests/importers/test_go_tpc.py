"""Logs of go-tpc: counts are those of its lines, no interval becomes a second that it may not be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.importers.go_tpc import IMPORTER
from ibench_lib.importers.importer import ImportedRun, ImportRequest
from ibench_lib.importers.intake import import_file
from ibench_lib.importers.source import Source
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from ibench_lib.store.verify import verify
from ibench_lib.workloads.tpcc.results.statements import tpcc_statements
from tests.importers.go_tpc_logs import COMMAND, NEW_ORDERS, SECRETS, log, rendered
from tests.importers.rows import only, remarks, rows_of
from tests.synthetic import answer

pytestmark = pytest.mark.lake

TOLD = ImportRequest("small", "my8033.cy10a")
FORMS = ("plain", "table", "json")


def read(folder: Path, text: str, told: ImportRequest = TOLD) -> list[ImportedRun]:
    (folder / "run.log").write_text(text)
    return list(IMPORTER.runs(Source(folder / "run.log"), told))


def ops(run: ImportedRun, operation: str = "new_order", count: str = "ops") -> dict[int, int]:
    """Transactions of each second."""
    return {row["second"]: row[count] for row in rows_of(run, "ops") if row["operation"] == operation}


@pytest.mark.parametrize("form", FORMS)
def test_intervals_of_a_second_are_seconds_and_the_summary_has_the_totals(tmp_path: Path, form: str) -> None:
    (run,) = read(tmp_path, log(form=form))
    assert ops(run) == {**dict(enumerate(NEW_ORDERS)), 4: 0}
    assert ops(run, "payment") == {**dict(enumerate(NEW_ORDERS)), 4: 5} and ops(run, "delivery")[1] == 11
    assert ops(run, count="errors") == {0: 0, 1: 2, 2: 0, 3: 0, 4: 0}
    assert (only(run, "steps")["duration_s"], only(run, "steps")["status"]) == (4.2, "complete")
    worker = only(run, "workers")
    assert (worker["ops"], worker["errors"], worker["retries"], worker["connections"]) == (
        2 * 420 + 3 * 42 + 5,
        2,
        None,
        4,
    )
    printed = run.steps[0].details["printed"]
    assert (printed["tpmc"], printed["new_order"]["count"], printed["new_order"]["p99_9_ms"]) == (6000.0, 420, 33.6)
    assert run.error is None and remarks(run) == [] and run.resolution_s == 1.0


@pytest.mark.parametrize("form", FORMS)
def test_every_line_is_understood_and_none_of_its_secrets_are_kept(
    workspace: Workspace, tmp_path: Path, form: str
) -> None:
    (tmp_path / "db7.example.com.log").write_text(log(form=form))
    given = {"experiment": "others", "source": "a report", "workspace": workspace, "dbms": "my8033.cy10a"}
    result = import_file(tmp_path / "db7.example.com.log", **given)  # type: ignore[arg-type]
    assert result.warnings == []
    (run_id,) = result.run_ids
    assert verify(workspace.run_dir(run_id)) == []
    assert read_manifest(workspace.run_dir(run_id)).cell.setup == "2w-4c"
    stored = b"".join(path.read_bytes() for path in workspace.run_dir(run_id).rglob("*") if path.is_file())
    assert [word for word in SECRETS if word in stored] == []
    lake = reader.lake(workspace)
    assert answer(lake, "tpcc_summary", "others")["notpm"].to_list() == [6000.0]
    row = answer(lake, "tpcc_workload", "others").row(0, named=True)
    assert (row["warehouses"], row["terminals"], row["run_s"]) == (2, 4, 4.2)
    said = tpcc_statements(answer(lake, "tpcc_workload", "others"), answer(lake, "checks", "others"))
    assert "2 warehouses, 4 terminals" in str(said[0])


def rates(run: ImportedRun, operation: str = "new_order") -> dict[tuple[float, float], float]:
    """The rate of each interval, by its end and its length in seconds."""
    of_type = (row for row in rows_of(run, "intervals") if row["operation"] == operation)
    return {(row["end_s"], row["seconds"]): row["ops_per_s"] for row in of_type}


OF_TEN_S = {(10.0 * number, 10.0): one / 10 for number, one in enumerate(NEW_ORDERS, start=1)}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("command", [COMMAND, None])
def test_intervals_of_ten_seconds_are_intervals_and_no_seconds(tmp_path: Path, form: str, command: str | None) -> None:
    (run,) = read(tmp_path, log(every=10, form=form, command=command))
    assert not rows_of_ops(run) and run.resolution_s is None and only(run, "workers")["ops"] == 2 * 420 + 3 * 42 + 5
    assert rates(run) == OF_TEN_S == rates(run, "payment"), "5 payments after the last are of none"
    assert rates(run, "delivery")[30.0, 10.0] == 1.2
    found = {row["end_s"]: (row["ops"], row["errors_per_s"]) for row in rows_of(run, "intervals") if row["ops"] == 110}
    assert found == {20.0: (110, 0.0)} or found == {20.0: (110, 0.2)}
    assert [text.partition(": ")[2] for text in remarks(run)] == [
        "its intervals are of 10 s: they become intervals, not seconds"
    ]


def test_how_long_intervals_are_is_said_or_in_the_times_of_several(tmp_path: Path) -> None:
    text = log(every=10, command=None)
    assert rates(read(tmp_path, text.replace("Takes(s): 10.0", "Takes(s): 9.9"))[0]) == {}, "their rates do not fit"
    for text in (log((100, 110), every=10, command=None), log(every=10).replace("--interval 10s", "--interval 1s")):
        (run,) = read(tmp_path, text)
        assert rates(run) == {} and "are of unknown length, or one may be missing" in remarks(run)[0]
    (run,) = read(tmp_path, log((100, 110), every=10))
    assert len(rates(run)) == 2, "the command says it"


def test_the_last_interval_may_be_missing_and_no_other(tmp_path: Path) -> None:
    """That of the end had the transactions that only the summary has. One without any is not printed."""
    text = log(every=10)
    last = "\n".join([line for line in text.split("\n") if line.startswith("[Current]")][-5:]) + "\n"
    (run,) = read(tmp_path, text.replace(last, ""))
    assert list(rates(run)) == [(10.0, 10.0), (20.0, 10.0), (30.0, 10.0)]
    (run,) = read(tmp_path, log((100, 0, 120, 90), every=10, errors=0))
    assert rates(run) == {} and "one may be missing" in remarks(run)[0]
    (run,) = read(tmp_path, text.replace("[Current] DELIVERY", "[Curr ent] DELIVERY", 1))
    assert rates(run) == {}


def test_a_log_without_seconds_has_notpm_by_the_same_definition(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(log(every=10))
    import_file(tmp_path / "run.log", "others", "a report", workspace, setup="small", dbms="my8033.cy10a")
    lake = reader.lake(workspace)
    (row,) = answer(lake, "tpcc_summary", "others").to_dicts()
    assert row["notpm"] == pytest.approx(60 * 420 / 40.2), "not tpmC, which is 626.9"
    (rate,) = answer(lake, "step_throughput", "others").to_dicts()
    assert (
        rate["throughput"] == pytest.approx((2 * 420 + 3 * 42 + 5) / 40.2) and rate["dbms"] == "my8033.cy10a (imported)"
    )


def rows_of_ops(run: ImportedRun) -> list[dict[str, Any]]:
    return list(rows_of(run, "ops"))


def test_an_interval_that_is_missing_or_a_line_that_is_not_understood_leaves_no_seconds(tmp_path: Path) -> None:
    text = log()
    second = "\n".join(rendered("Current", {"DELIVERY": 11, "NEW_ORDER": 110}, 1.0, "plain")) + "\n"
    assert second in text
    whole = "\n".join(line for line in text.split("\n") if "Current" in line)
    for damaged in (
        text.replace(whole.split("\n")[8], whole.split("\n")[8].replace("Count: 11", "Count: 1l")),
        text.replace("Finished", "\n".join([*whole.split("\n")[-5:], *whole.split("\n")[-5:], "Finished"])),
        text.replace(second, second.split("\n")[0] + "\n" + second),
        text.replace("[Current] DELIVERY", "[Curr ent] DELIVERY", 1),
    ):
        (run,) = read(tmp_path, damaged)
        assert not rows_of_ops(run) and only(run, "workers")["ops"] == 2 * 420 + 3 * 42 + 5 and run.error is None
        assert "are of unknown length, or one may be missing" in remarks(run)[0]


def test_a_type_that_an_interval_does_not_have_had_no_transaction(tmp_path: Path) -> None:
    line = next(one for one in log().split("\n") if "STOCK_LEVEL" in one and "Count: 12," in one)
    (run,) = read(tmp_path, log().replace(line + "\n", ""))
    assert ops(run, "stock_level") == {0: 10, 1: 11, 2: 0, 3: 9, 4: 12}


def test_a_log_that_ends_early_is_a_failed_step_with_the_seconds_that_are_whole(tmp_path: Path) -> None:
    (run,) = read(tmp_path, log().partition("Finished")[0])
    assert ops(run) == {0: 100, 1: 110, 2: 120}, "nothing says that the last interval has all of its types"
    assert run.error is not None and "ends after 3 intervals without its summary" in run.error.text
    assert (only(run, "workers")["ops"], only(run, "steps")["status"]) == (2 * 330 + 3 * 33, "failed")
    text = log()
    for name in ("DELIVERY", "PAYMENT"):
        with pytest.raises(UsageError, match="no log that can be used"):  # a summary that lacks a line is none
            read(tmp_path, text.replace(f"[Summary] {name}", f"[Summary] {name} of"))
    (run,) = read(tmp_path, log(every=10).partition("Finished")[0])
    assert list(rates(run)) == [(10.0, 10.0), (20.0, 10.0), (30.0, 10.0)]
    assert (only(run, "steps")["duration_s"], only(run, "steps")["status"]) == (30.0, "failed")
    with pytest.raises(UsageError, match="no log that can be used"):
        read(tmp_path, log((100, 110, 120), every=10, command=None).partition("Finished")[0])


def test_a_thread_that_has_ended_makes_the_run_a_failed_one(tmp_path: Path) -> None:
    ignored = "[2026-01-01 10:00:00] execute run failed, err Error 1213 (40001): Deadlock of alice\n"
    (run,) = read(tmp_path, log().replace("Finished", f"{ignored}Finished"))
    assert run.error is None and len(rows_of_ops(run)) == 25
    (run,) = read(tmp_path, log().replace("Finished", "execute run failed, err Error 2013: lost\nFinished"))
    assert run.error is not None and run.error.text == "a thread has ended with an error"


def test_figures_that_do_not_fit_are_said_or_left_out(tmp_path: Path) -> None:
    text = log()
    (run,) = read(tmp_path, text.replace("tpmTotal: 13871", "tpmTotal: 23871"))
    assert remarks(run) == ["run.log:3: its types do not add up to its tpmTotal"]
    with pytest.raises(UsageError, match="no log that can be used"):  # it is of another log
        read(tmp_path, text.replace("tpmC: 6000.0", "tpmC: 600.0"))
    line = next(one for one in text.split("\n") if "Current" in one and "Count: 110," in one)
    (run,) = read(tmp_path, text.replace(line, line.replace("TPM: 6600.0", "TPM: 660.0")))
    assert not rows_of_ops(run)


def test_logs_of_a_setup_are_its_repeats_and_what_is_not_said_has_to_be(tmp_path: Path) -> None:
    runs = read(tmp_path, 2 * log())
    assert [(run.setup, run.repeat) for run in runs] == [("small", 1), ("small", 2)]
    runs = read(tmp_path, log() + log(command=COMMAND.replace("-T 4", "--threads=8")))
    assert [run.setup for run in runs] == ["small-4c", "small-8c"]
    with pytest.raises(UsageError, match=r"run\.log:2: this log does not say how many warehouses and threads"):
        read(tmp_path, log(command=None), ImportRequest(dbms="my8033.cy10a"))
    with pytest.raises(UsageError, match="does not say of what dbms"):
        read(tmp_path, log(), ImportRequest("small"))
    with pytest.raises(UsageError, match="have no test"):
        read(tmp_path, log(), ImportRequest("small", "my8033.cy10a", "oltp_read_only"))


@pytest.mark.parametrize("end", ["tpmC: 6000.0", "tpmC: 6000.0, efficiency: 97.3%"])
def test_older_versions_end_with_fewer_figures(tmp_path: Path, end: str) -> None:
    text = log()
    (run,) = read(tmp_path, f"{text[: text.index('tpmC')]}{end}\n")
    assert run.error is None and len(rows_of_ops(run)) == 25
    assert run.steps[0].details["printed"]["tpm_total"] is None


@pytest.mark.parametrize(
    "line",
    [
        "[Summary] Q12    - Count: 11, Sum(ms): 105320.3, Avg(ms): 9574.6",
        "| [Current] | Q1 | 2 | 3.0 | 1.5 |",
        '[{"Avg(ms)":"1.5","Count":"2","Operation":"Q1","Prefix":"[Summary] "}]',
    ],
)
def test_transactions_next_to_analytic_queries_are_no_tpc_c(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, f"{log()}{line}\n")
    assert "it is of CH-benCHmark" in str(caught.value.detail)


def test_waits_say_nothing(tmp_path: Path) -> None:
    wait = "[Current] KEYINGTIME-NEW_ORDER - 18.0s\n"
    (run,) = read(tmp_path, log().replace("[Current] DELIVERY", f"{wait}[Current] DELIVERY"))
    assert len(rows_of_ops(run)) == 25 and remarks(run) == []
