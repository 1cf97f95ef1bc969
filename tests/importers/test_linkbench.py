"""Files of the original LinkBench: exact counts, its real time, and nothing that its samples do not say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.importers.importer import ImportedRun, ImportRequest
from ibench_lib.importers.intake import ImportResult, import_file
from ibench_lib.importers.linkbench import IMPORTER
from ibench_lib.importers.source import Source
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import read_manifest
from ibench_lib.store.verify import verify
from ibench_lib.workloads.linkbench.results.statements import linkbench_statements
from tests.importers.linkbench_logs import (
    COUNTS,
    DELETED,
    SECRETS,
    load_log,
    request_log,
    requests_of,
    said,
    stats_csv,
    stream_csv,
    totals,
)  # fmt: skip
from tests.importers.rows import only, remarks, rows_of
from tests.synthetic import answer

pytestmark = pytest.mark.lake

TOLD = ImportRequest("small", "my8033.cy10a")
REQUESTS = sum(map(requests_of, COUNTS))


def read(folder: Path, told: ImportRequest = TOLD, **files: str) -> list[ImportedRun]:
    """The runs of files, which are called after their names with `_` for a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return list(IMPORTER.runs(Source(folder), told))


def ops(run: ImportedRun, operation: str, client: int = 1) -> dict[int, int]:
    """Operations of each second of a requester."""
    rows = rows_of(run, "ops")
    return {row["second"]: row["ops"] for row in rows if (row["operation"], row["client"]) == (operation, client)}


def take(workspace: Workspace, path: Path, **options: Any) -> ImportResult:
    given = {"experiment": "others", "source": "a report", "setup": "small", "dbms": "my8033.cy10a", **options}
    return import_file(path, workspace=workspace, **given)


def test_t_is_from_the_first_end_of_a_warm_up_to_the_end_of_the_last_requester(tmp_path: Path) -> None:
    (run,) = read(tmp_path, req_txt=request_log())
    step = only(run, "steps")
    assert (step["step"], step["duration_s"], step["status"], run.error) == ("t2", 4.1, "complete", None)
    workers = list(rows_of(run, "workers"))
    assert [(row["client"], row["ops"], row["end_s"]) for row in workers] == [
        (1, requests_of(COUNTS[0]), 4.0), (2, requests_of(COUNTS[1]), 4.1),
    ]  # fmt: skip


def test_intervals_of_a_second_have_exact_counts_and_no_deletes_of_links(tmp_path: Path) -> None:
    (run,) = read(tmp_path, req_txt=request_log())
    assert ops(run, "get_links_list") == {0: 100, 1: 110, 2: 120, 3: 90}
    assert ops(run, "get_node", 2) == {0: 20, 1: 21, 2: 22, 3: 19}
    assert sum(row["ops"] for row in rows_of(run, "ops")) == REQUESTS - 2 * DELETED
    assert {row["operation"] for row in rows_of(run, "ops")} == {
        name.lower() for name in totals(COUNTS) if name != "DELETE_LINK"
    }
    assert remarks(run) == ["req.txt:6: its intervals have no DELETE_LINK: seconds are without them, totals with them"]


def intervals(run: ImportedRun, operation: str, client: int) -> dict[tuple[float, float], tuple[int, float]]:
    """Requests and their rate in each interval, by its end and its length in seconds. Client 0 is all requesters."""
    return {
        (row["end_s"], row["seconds"]): (row["ops"], row["ops_per_s"])
        for row in rows_of(run, "intervals")
        if (row["operation"], row["client"]) == (operation, client)
    }


def of_ten_s(counts: Sequence[int]) -> dict[tuple[float, float], tuple[int, float]]:
    return {(10.0 * number, 10.0): (one, one / 10) for number, one in enumerate(counts, start=1)}


def test_longer_intervals_are_intervals_of_each_requester_and_of_all(tmp_path: Path) -> None:
    (run,) = read(tmp_path, req_txt=request_log(every_ms=10_000))
    assert "ops" not in run.rows and run.resolution_s is None
    assert intervals(run, "get_links_list", 2) == of_ten_s(COUNTS[1])
    assert intervals(run, "get_links_list", 0) == of_ten_s([sum(both) for both in zip(*COUNTS, strict=True)])
    assert intervals(run, "range_size", 1) == {} == intervals(run, "delete_link", 1)
    assert {row["errors_per_s"] for row in rows_of(run, "intervals")} == {0.0}
    assert remarks(run) == [
        "req.txt:6: 8 intervals of other than a second: no seconds were made of them; they become intervals, which "
        "have no DELETE_LINK"
    ]
    assert (sum(row["ops"] for row in rows_of(run, "workers")), only(run, "steps")["duration_s"]) == (REQUESTS, 40.1)


def test_each_interval_is_divided_by_its_own_time_and_added_up_if_it_ends_with_the_others(tmp_path: Path) -> None:
    text = request_log(every_ms=10_000)
    slower = re.sub(r"(ThreadID = 1 .* sampleDuration = )10000ms", r"\g<1>10200ms", text)
    (run,) = read(tmp_path, req_txt=slower)
    assert intervals(run, "get_links_list", 2)[10.2, 10.2] == (200, pytest.approx(200 / 10.2))
    assert intervals(run, "get_links_list", 0)[10.1, 10.1] == (300, pytest.approx(10 + 200 / 10.2))
    apart = re.sub(r"(ThreadID = 1 .* sampleDuration = )10000ms", r"\g<1>15000ms", text)
    (run,) = read(tmp_path, req_txt=apart)
    assert intervals(run, "get_links_list", 0) == {} and len(intervals(run, "get_links_list", 1)) == 4
    assert remarks(run)[0].endswith("of single requesters, because they do not end together")
    short = re.sub(r"(sampleDuration = )10000ms", r"\g<1>4ms", text)
    (run,) = read(tmp_path, req_txt=short)
    assert list(rows_of(run, "intervals")) == [] and remarks(run)[0].endswith("no seconds were made of them")


def test_longer_intervals_of_csv_files_are_those_of_all(tmp_path: Path) -> None:
    (run,) = read(tmp_path, req_csv=stats_csv(), req_stream_csv=stream_csv(every_ms=10_000))
    assert intervals(run, "get_links_list", 0) == of_ten_s([sum(both) for both in zip(*COUNTS, strict=True)])
    assert {row["client"] for row in rows_of(run, "intervals")} == {0}


def test_longer_intervals_are_drawn_for_all_requesters_and_for_each(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "req.txt").write_text(request_log(every_ms=10_000))
    import_file(tmp_path / "req.txt", "others", "a report", workspace, setup="small", dbms="my8033.cy10a")
    (run_dir,) = workspace.runs.iterdir()
    assert verify(run_dir) == []
    drawn = answer(reader.lake(workspace), "one_second", "others")
    of_each = {client: rows["rate_mean"][0] for (client,), rows in drawn.group_by("client", maintain_order=True)}
    # A tenth of the lists for each of the other eight kinds.
    assert of_each == {None: pytest.approx(54.0), 1: pytest.approx(18.0), 2: pytest.approx(36.0)}
    assert drawn.filter(client=2)["rate_max"].null_count() == 4


def test_a_lost_line_ends_the_seconds_of_its_requester(tmp_path: Path) -> None:
    lines = request_log().splitlines(keepends=True)
    (lost,) = [line for line in lines if "ThreadID = 0 ADD_LINK totalOps = 21 " in line]
    (run,) = read(tmp_path, req_txt="".join(line for line in lines if line is not lost))
    assert ops(run, "get_node") == {0: 10}
    assert len(ops(run, "get_node", 2)) == 4 and sum(row["ops"] for row in rows_of(run, "workers")) == REQUESTS
    assert "a requester's seconds end at the first" in remarks(run)[0]


def test_csv_files_next_to_a_log_are_of_its_step(tmp_path: Path) -> None:
    (run,) = read(tmp_path, req_txt=request_log(), req_csv=stats_csv(), req_stream_csv=stream_csv())
    assert run.steps[0].files == ["req.txt", "req.csv", "req.stream.csv"] and len(remarks(run)) == 1
    assert run.origin_wall is not None and run.origin_wall.timestamp() == 1_795_230_002
    other = stats_csv(((100,), (200,)))
    (run,) = read(tmp_path, req_txt=request_log(), req_csv=other)
    assert remarks(run)[0] == "req.csv:1: it is not of the log next to it, requests: it was left out"


def test_csv_files_alone_give_the_requests_of_all_threads(tmp_path: Path) -> None:
    (run,) = read(tmp_path, req_csv=stats_csv(), req_stream_csv=stream_csv())
    worker = only(run, "workers")
    assert (worker["ops"], worker["connections"], only(run, "steps")["duration_s"]) == (REQUESTS, 2, 4.0)
    assert ops(run, "get_links_list") == {0: 300, 1: 320, 2: 340, 3: 280}
    with pytest.raises(UsageError) as error:
        read(tmp_path, req_csv=stats_csv(), req_stream_csv=stream_csv().rpartition("0,")[0])
    assert "its intervals do not add up to its statistics" in (error.value.detail or "")
    for alone in ({"req_csv": stats_csv()}, {"req_stream_csv": stream_csv()}):
        with pytest.raises(UsageError, match="no log that can be used") as error:
            read(tmp_path / next(iter(alone)), **alone)
        assert "needs a log, or both the file of -csvstats and that of -csvstream" in (error.value.detail or "")


def test_a_load_has_the_rows_of_all_three_tables_if_they_are_known(tmp_path: Path) -> None:
    (run,) = read(tmp_path, load_txt=load_log())
    assert (only(run, "workers")["rows"], only(run, "steps")["duration_s"]) == (1_000 + 10_000 + 5_000, 8.0)
    (run,) = read(tmp_path, load_txt=load_log().replace("samples = 50 mean", "samples = 40 mean"))
    assert only(run, "workers")["rows"] is None
    (lost,) = [line for line in load_log().splitlines(keepends=True) if "LOAD_COUNTS_BULK_NLINKS" in line]
    (run,) = read(tmp_path, load_txt=load_log().replace(lost, ""))
    assert only(run, "workers")["rows"] is None
    assert "does not say how many rows of counttable" in remarks(run)[0]


def test_load_and_requests_are_steps_of_a_run_and_more_of_them_are_repeats(tmp_path: Path) -> None:
    two, one = request_log(), request_log([[10]])
    runs = read(tmp_path, load_txt=load_log(), req1_txt=two, req2_txt=two, one_txt=one)
    assert [(run.repeat, [step.name for step in run.steps]) for run in runs] == [
        (1, ["load", "t1", "t2"]), (2, ["t2"]),
    ]  # fmt: skip
    (run, again) = read(tmp_path / "one", both_txt=request_log() + request_log())
    assert (run.repeat, again.repeat) == (1, 2)


def test_a_log_without_its_end_has_what_its_requesters_have_reported(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "req.txt").write_text(request_log(whole=False))
    (run_id,) = take(workspace, tmp_path / "req.txt").run_ids
    manifest = read_manifest(workspace.run_dir(run_id))
    assert (manifest.status, manifest.failed_step) == ("failed", "t2")
    assert manifest.error == "req.txt:6: its log ends after 4 s without its totals"
    rates = answer(reader.lake(workspace), "linkbench_summary", "others")["ops_per_s"].to_list()
    assert rates == [pytest.approx((REQUESTS - 2) / 4.1)]


def test_totals_that_do_not_agree_are_said(tmp_path: Path) -> None:
    wrong = request_log().replace("ThreadID = 1 total requests = ", "ThreadID = 1 total requests = 1")
    (run,) = read(tmp_path, req_txt=wrong)
    assert run.error is not None and "its requesters did" in run.error.text and run.failed_step == "t2"


def test_every_line_is_understood_and_none_of_its_secrets_are_kept(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "db7.example.com"
    folder.mkdir()
    (folder / "load.txt").write_text(load_log())
    (folder / "req.txt").write_text(request_log())
    (folder / "req.csv").write_text(stats_csv())
    (folder / "req.stream.csv").write_text(stream_csv())
    result = take(workspace, folder)
    (warning,) = result.warnings
    assert warning.startswith("req.txt:6: its intervals have no DELETE_LINK")
    (run_id,) = result.run_ids
    assert verify(workspace.run_dir(run_id)) == []
    stored = b"".join(path.read_bytes() for path in workspace.run_dir(run_id).rglob("*") if path.is_file())
    assert [word for word in SECRETS if word in stored] == []


def test_a_line_of_another_make_is_lost(tmp_path: Path) -> None:
    source = Source(_written(tmp_path / "req.txt", request_log() + said(9999, "Something else") + "\n"))
    (run,) = IMPORTER.runs(source, TOLD)
    (lines,) = source.read().values()
    assert lines.lost.count == 1 and run.error is None


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_what_a_log_does_not_say_must_be_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"req\.txt:6: a log does not say of what dbms"):
        read(tmp_path, ImportRequest("small"), req_txt=request_log())
    with pytest.raises(UsageError, match="does not say of what setup"):
        read(tmp_path, ImportRequest(None, "my8033.cy10a"))
    with pytest.raises(UsageError, match="have no test"):
        read(tmp_path, ImportRequest("small", "my8033.cy10a", "oltp_read_only"))


def test_questions_and_sentences_take_the_totals(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "load.txt").write_text(load_log())
    (tmp_path / "req.txt").write_text(request_log(every_ms=10_000))
    take(workspace, tmp_path)
    lake = reader.lake(workspace)
    row = answer(lake, "linkbench_summary", "others").row(0, named=True)
    assert (row["step"], row["requesters"], row["place"]) == ("t2", 2, 1)
    assert row["ops_per_s"] == pytest.approx(REQUESTS / 40.1)
    assert (row["least"], row["most"]) == (requests_of(COUNTS[0]), requests_of(COUNTS[1]))
    operations = answer(lake, "linkbench_operations", "others")
    assert dict(operations.select("operation", "done").rows()) == {
        name.lower(): total for name, total in totals(COUNTS).items()
    }
    assert operations["share"].sum() == pytest.approx(100)
    throughput = answer(lake, "step_throughput", "others")
    rates = dict(throughput.select("step", "throughput").rows())
    assert rates == {"load": pytest.approx(16_000 / 8), "t2": pytest.approx(REQUESTS / 40.1)}
    text = str(linkbench_statements(answer(lake, "linkbench_workload", "others"), answer(lake, "checks", "others"))[0])
    assert "small: 1,000 nodes and 10,000 links after the load; 2 requesters in up to 1 process" in text
