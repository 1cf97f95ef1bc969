"""Logs of HammerDB: NOPM is told apart from TPM and from NOTPM, and medians of users are never taken for sums."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.errors import UsageError
from ibench_lib.importers.hammerdb import IMPORTER
from ibench_lib.importers.importer import ImportedRun, ImportRequest
from ibench_lib.importers.intake import import_file
from ibench_lib.importers.source import Source
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from tests.importers.hammerdb_logs import SECRETS, counter, database, log, profile
from tests.importers.rows import rows_of
from tests.show.parsed import Parsed

pytestmark = pytest.mark.lake

TOLD = ImportRequest("small", "my8033.cy10a")


def read(folder: Path, told: ImportRequest = TOLD, **files: str) -> list[ImportedRun]:
    """The runs of files, which are called after their names with `_` for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return list(IMPORTER.runs(Source(folder), told))


def figures(run: ImportedRun) -> dict[str, float]:
    return {row["metric"]: row["value"] for row in rows_of(run, "published")}


def printed(run: ImportedRun) -> dict[str, Any]:
    found: dict[str, Any] = run.steps[0].details["printed"]
    return found


@pytest.mark.parametrize("old", [False, True])
def test_nopm_are_committed_new_orders_and_tpm_are_no_figure_of_ours(tmp_path: Path, old: bool) -> None:
    (run,) = read(tmp_path, run_log=log(old=old))
    assert figures(run) == {"notpm_committed": 1200.0} and printed(run) == {"nopm": 1200, "tpm": 2800}
    (step,) = run.steps
    assert (step.threads, step.details["seconds"], step.details["ramp_up_s"]) == (4, 300, 120)
    assert run.warnings == [] and run.error is None


def test_every_line_is_understood(tmp_path: Path) -> None:
    read(tmp_path, run_log=log(), a_log=profile(), b_log=counter())
    with Source(tmp_path) as source:
        list(IMPORTER.runs(source, TOLD))
        assert [lines.lost.first for lines in source.read().values()] == [[], [], []]


def test_calls_of_the_time_profile_are_those_of_all_users_not_of_its_summary(tmp_path: Path) -> None:
    (run,) = read(tmp_path, run_log=log(), hdbxtprofile_log=profile(), hdbtcount_log=counter())
    assert printed(run)["with_ramp_up"] == [
        {"operation": "new_order", "virtual_users": 2, "calls": 400, "min_ms": 1.0, "mean_ms": 3.5, "max_ms": 40.0}
    ]
    assert printed(run)["tpm_samples"] == {"samples": 3, "least": 2700, "median": 2900, "most": 3100}
    assert set(run.steps[0].files) == {"run.log", "hdbxtprofile.log", "hdbtcount.log"}


def test_a_profile_of_several_results_is_of_none(tmp_path: Path) -> None:
    runs = read(tmp_path, run_log=log() + log(nopm=1300), hdbxtprofile_log=profile())
    assert [figures(run)["notpm_committed"] for run in runs] == [1200.0, 1300.0]
    assert [run.repeat for run in runs] == [1, 2] and not any("with_ramp_up" in printed(run) for run in runs)
    assert [remark.text for remark in runs[0].warnings] == ["no single result is in its folder: it was left out"]


def test_a_result_that_a_script_has_copied_is_one(tmp_path: Path) -> None:
    result = "Result:  Vuser 1:TEST RESULT : System achieved 1200 NOPM from 2800 MySQL TPM\n"
    (run,) = read(tmp_path, run_log=log(), summary_txt=result)
    assert run.file == "run.log" and run.steps[0].threads == 4
    assert [(one.file, one.text) for one in run.warnings] == [
        ("summary.txt", "it is the result of run.log: it was left out")
    ]
    (once,) = read(tmp_path / "twice", result_txt=2 * result)
    assert figures(once) == {"notpm_committed": 1200.0}


def test_jobs_of_a_database_are_results_with_their_own_profile(tmp_path: Path) -> None:
    database(tmp_path / "hammer.DB", log(), log(ended=False), log(nopm=1300, users=8))
    runs = list(IMPORTER.runs(Source(tmp_path / "hammer.DB"), TOLD))
    assert [(run.setup, figures(run)["notpm_committed"]) for run in runs] == [("small-4vu", 1200), ("small-8vu", 1300)]
    (same,) = read(tmp_path / "log", run_log=log(), hdbxtprofile_log=profile(), hdbtcount_log=counter())
    assert printed(runs[0]) == printed(same) and runs[0].steps[0].details["seconds"] == 300
    assert [(one.file, one.line, one.text) for one in runs[0].warnings] == [
        ("hammer.DB", 2, "this job has no result: it was left out")
    ]


def test_a_database_of_other_jobs_or_none_is_named(tmp_path: Path) -> None:
    database(tmp_path / "of_h.DB", log(), benchmark="TPC-H")
    (tmp_path / "empty.DB").write_bytes(b"SQLite format 3\0" + bytes(5_000))
    with pytest.raises(UsageError, match="no log that can be used") as caught:
        list(IMPORTER.runs(Source(tmp_path), TOLD))
    assert "of_h.DB:1: this job is of 'TPC-H': it was left out" in str(caught.value.detail)
    assert "empty.DB:1: it is cut off or damaged: it was left out" in str(caught.value.detail)


def test_a_job_that_is_in_a_log_too_is_one_and_no_secret_of_a_database_is_kept(
    workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "run.log").write_text(log())
    database(tmp_path / "hammer.DB", log())
    result = import_file(tmp_path, "others", "a report", workspace, setup="small", dbms="my8033.cy10a")
    (run_id,) = result.run_ids
    assert any("it is the result of" in text for text in result.warnings)
    stored = b"".join(path.read_bytes() for path in workspace.run_dir(run_id).rglob("*") if path.is_file())
    assert [word for word in SECRETS if word in stored] == []


def test_virtual_users_make_setups(tmp_path: Path) -> None:
    runs = read(tmp_path, a_log=log(), b_log=log(nopm=2000, users=8))
    assert [run.setup for run in runs] == ["small-4vu", "small-8vu"]
    (alone,) = read(tmp_path / "alone", ImportRequest(dbms="my8033.cy10a"), a_log=log())
    assert alone.setup == "4vu"
    with pytest.raises(UsageError, match="does not say how many virtual users"):
        bare = "Vuser 1:TEST RESULT : System achieved 1200 NOPM from 2800 MySQL TPM\n"
        read(tmp_path / "bare", ImportRequest(dbms="my8033.cy10a"), a_log=bare)


def test_a_user_that_failed_makes_the_run_a_failed_one(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(log().replace("Vuser 1:1 minutes elapsed", "Vuser 3:FINISHED FAILED"))
    given = {"experiment": "others", "source": "a report", "setup": "small", "dbms": "my8033.cy10a"}
    (run_id,) = import_file(tmp_path / "run.log", workspace=workspace, **given).run_ids  # type: ignore[arg-type]
    manifest = read_manifest(workspace.run_dir(run_id))
    assert (manifest.status, manifest.error) == ("failed", "run.log:13: a virtual user failed")


def test_what_a_log_does_not_say_must_be_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"run\.log:16: a log does not say of what dbms"):
        read(tmp_path, ImportRequest("small"), run_log=log())
    with pytest.raises(UsageError, match="have no test"):
        read(tmp_path, ImportRequest("small", "my8033.cy10a", "oltp_read_only"))
    with pytest.raises(UsageError, match="no log that can be used"):
        read(tmp_path / "begun", run_log=log(ended=False))


def test_results_are_compared_by_committed_orders_and_stand_next_to_published_notpm(
    workspace: Workspace, tmp_path: Path
) -> None:
    for config, nopm in (("a", 1000), ("b", 1500)):
        (tmp_path / f"my8033.{config}").mkdir()
        (tmp_path / f"my8033.{config}" / "run.log").write_text(log(nopm=nopm))
    import_file(tmp_path, "others", "a report", workspace, setup="small")
    post = choose(reader.lake(workspace), "others", base="my8033.a (published)")
    frame = post.ask("tpcc_summary")
    assert frame.select("notpm", "notpm_committed").rows() == [(None, 1000.0), (None, 1500.0)]
    cells = {row[0]: row[1:] for row in Parsed(ib.notpm_table(frame, base="my8033.a (published)")).rows}
    assert cells["my8033.b (published)"][:2] == ["-", "1,500 top\n1.50x above"]
    said = ib.notpm_statements(frame, "my8033.a (published)")
    assert any("ran 1,000 committed new orders per minute, the other one 1,500" in text for text in said), said
    table = tmp_path / "figures.csv"
    table.write_text("benchmark,setup,dbms,step,notpm\ntpcc,small,my8033.a,run,1100\n")
    import_file(table, "others_printed", "the same report", workspace)
    both = choose(reader.lake(workspace), "others*").ask("tpcc_summary")
    assert set(both.select("dbms", "notpm", "notpm_committed").rows()) == {
        ("my8033.a (others) (published)", None, 1000.0), ("my8033.b (published)", None, 1500.0),
        ("my8033.a (others_printed) (published)", 1100.0, None),
    }  # fmt: skip
