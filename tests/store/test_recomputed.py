"""The question that puts published figures next to what imported files give."""

from __future__ import annotations

from pathlib import Path

import pytest

import ibench_lib as ib
from ibench_lib.analysis.recomputed import explained_rows
from ibench_lib.ask.selection import choose
from ibench_lib.importers.intake import import_file
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.importers.host_text import iostat, vmstat
from tests.importers.iibench_logs import client_log
from tests.importers.linkbench_logs import COUNTS, request_log, requests_of
from tests.importers.sysbench_logs import log
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake

RESULT = "my8033.cy10a"


def publish(workspace: Workspace, *rows: str) -> None:
    table = workspace.root / "table.csv"
    table.write_text("\n".join(rows) + "\n")
    import_file(table, "table", "their table", workspace)


@pytest.mark.slow
def test_logs_without_seconds_give_their_queries_over_their_time(workspace: Workspace, tmp_path: Path) -> None:
    """Microbenchmarks: 18,000 queries in 3.0011 s, and a scan, whose published figure has another unit."""
    folder = tmp_path / RESULT
    folder.mkdir()
    for test in ("read-only.range10", "scan.range100", "point-query.range100"):
        (folder / f"sb.o.{test}.pk1.dop4").write_text(log((), rest=3000))
    import_file(folder.parent, "theirs", "their logs", workspace, setup="small")
    publish(
        workspace, "setup,dbms,step,qps", f"small,{RESULT},read-only-10.t4,5998", f"small,{RESULT},scan.t4,114",
        f"small,{RESULT},point-query.t4,6100", f"small,{RESULT},hot-points.t4,5000",
    )  # fmt: skip
    post = choose(reader.lake(workspace), "*")
    rows = post.ask("recomputed")
    assert rows.select("step", "published").rows() == [
        *(("read-only-10.t4", 5998.0), ("scan.t4", 114.0), ("point-query.t4", 6100.0), ("hot-points.t4", 5000.0)),
    ]
    assert rows["recomputed"].to_list() == [*[pytest.approx(18_000 / 3.0011)] * 3, None]
    assert rows["dbms"].unique().to_list() == [RESULT]
    assert [(one.status, one.kind) for one in explained_rows(rows)] == [
        *(("equal", ""), ("explained", "another unit"), ("unexplained", ""), ("alone", "")),
    ]
    assert ib.recomputed_statements(rows)[0].startswith(
        "Of 3 published figures with files to recompute them from, 1 is"
    )
    columns = ["experiment", "origin", "files", "steps", "with_seconds"]
    imports = [(*row[:2], len(row[2]), *row[3:]) for row in post.ask("imports").select(columns).rows()]
    assert imports == [("table", "published", 0, 4, 0), ("theirs", "imported", 3, 3, 0)]


@pytest.mark.slow
def test_seconds_samples_and_clients_are_there_to_repeat_mistakes_with(workspace: Workspace, tmp_path: Path) -> None:
    """Two clients, 60 s: 30,000 rows of one and 60,000 of the other, and 100 of the first that no line has."""
    folder = tmp_path / RESULT / "l.i0"
    folder.mkdir(parents=True)
    (folder / "o.ib.dop2.1").write_text(client_log(1, ips=[500] * 60, responses=301))
    (folder / "o.ib.dop2.2").write_text(client_log(2, ips=[1000] * 60))
    (folder / "o.vm.dop2").write_text(vmstat([1000, 3000] * 6))
    (folder / "o.io.dop2").write_text(iostat([100, 300] * 6))
    import_file(tmp_path / RESULT, "theirs", "their logs", workspace, setup="20m", dbms=RESULT)
    # 12 samples and a header line: 70 % and 2,000 switches a second became these.
    publish(workspace, "setup,dbms,step,ips,cpups,csps", f"20m,{RESULT},l.i0,{90_100 / 70:.2f},64.6,1846.15")
    frame = choose(reader.lake(workspace), "*").ask("recomputed")
    cpu, switches, rate = frame.to_dicts()
    assert [row["metric"] for row in (cpu, switches, rate)] == ["cpups", "csps", "ips"]
    assert (cpu["recomputed"], switches["recomputed"]) == pytest.approx((70, 2000)) and cpu["host_samples"] == 12
    assert rate["recomputed"] == pytest.approx(90_100 / 60)
    assert (rate["amount"], rate["lines"], rate["lines_amount"], rate["clients"]) == (90_100, 60, 90_000, 2)
    assert rate["first_rate"] == pytest.approx(30_100 / 60) and not rate["windows"]
    zeros = "header lines averaged as zeros"
    assert [one.kind for one in explained_rows(frame)] == [zeros, zeros, "whole seconds"]


@pytest.mark.slow
def test_means_of_the_last_seconds_are_there(workspace: Workspace, tmp_path: Path) -> None:
    """Of a published pair, one figure is of the last minute of two, the other of both."""
    results = {"my8021.bp140": [100] * 60 + [200] * 60, "ma1054.bp140": [150] * 120}
    for result, tps in results.items():
        (tmp_path / "logs" / result).mkdir(parents=True)
        (tmp_path / "logs" / result / "run.log").write_text(log(tps, rest=0, seconds="120.0011"))
    import_file(tmp_path / "logs", "theirs", "their logs", workspace, setup="small")
    step = "oltp_read_write.t4"
    publish(
        workspace, "setup,dbms,step,throughput", f"small,my8021.bp140,{step},200", f"small,ma1054.bp140,{step},150",
    )  # fmt: skip
    frame = choose(reader.lake(workspace), "*").ask("recomputed")
    windows = {row["dbms"]: {one["last_s"]: one["rate"] for one in row["windows"]} for row in frame.to_dicts()}
    assert windows["my8021.bp140"] == {60: 200.0, 100: 160.0}
    found = {row["dbms"]: one for row, one in zip(frame.to_dicts(), explained_rows(frame), strict=True)}
    assert found["ma1054.bp140"].status == "equal"
    assert found["my8021.bp140"].reason == "mixed windows: mean of the last 60 s; others are of another part"


@pytest.mark.slow
def test_throughput_of_a_benchmark_without_names_for_its_rates_is_published_too(
    workspace: Workspace, tmp_path: Path
) -> None:
    """LinkBench divides by a time of its own: 333 requests a second by its log."""
    folder = tmp_path / RESULT
    folder.mkdir()
    (folder / "req.txt").write_text(request_log().replace("Requests/second = 2", "Requests/second = 333"))
    import_file(folder, "theirs", "their logs", workspace, setup="10m", dbms=RESULT)
    publish(workspace, "setup,dbms,step,throughput", f"10m,{RESULT},t2,333")
    post = choose(reader.lake(workspace), "*")
    frame = post.ask("recomputed")
    (row,) = frame.to_dicts()
    requests = sum(map(requests_of, COUNTS))
    assert (row["recomputed"], row["tool_rate"]) == (pytest.approx(requests / 4.1), 333)
    (found,) = explained_rows(frame)
    assert found.reason == f"as its tool prints it: divided by {requests / 333:,.2f} s, not 4.10 s"
    rates = post.ask("step_throughput").filter(dbms=f"{RESULT} (table) (published)")
    assert rates["throughput"].to_list() == [333]


@pytest.mark.slow
def test_a_step_that_did_not_end_gives_no_figure(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "my8021.bp140"
    folder.mkdir()
    text = log([100] * 60, rest=0, seconds="60.0011")
    (folder / "run.log").write_text(text.partition("SQL statistics")[0])
    import_file(tmp_path, "theirs", "their logs", workspace, setup="small")
    publish(workspace, "setup,dbms,step,throughput", "small,my8021.bp140,oltp_read_write.t4,100")
    frame = choose(reader.lake(workspace), "*").ask("recomputed")
    assert frame["step_status"].to_list() == ["failed"] and frame["recomputed"].to_list() == [None]
    assert [one.status for one in explained_rows(frame)] == ["alone"]


def test_a_lake_without_published_figures_has_none(workspace: Workspace) -> None:
    write_runs(workspace, Run())
    assert choose(reader.lake(workspace), "demo").ask("recomputed").is_empty()
