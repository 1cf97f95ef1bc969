"""Measurement and faults on the real server: what was acknowledged is there, what goes wrong is seen and kept."""

from __future__ import annotations

import ast
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import ibench_lib
from ibench_lib.errors import ServerLost, WorkerFailed
from ibench_lib.paths import Workspace
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.servers.build import Build
from tests.measurement.real import HandOn, Revived, ask, assert_server_gone, connect, run, sealed, table

ROWS = 60_000
L_I0_ROWS_PER_COMMIT = 100


@pytest.mark.measurement("M5")
def test_m5_seconds_acknowledgements_and_the_server_count_the_same_rows(
    build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: dict[str, int] = {}

    def count(hand: HandOn, _step: str) -> None:
        with hand.connect() as connection:
            for name in ("pi1", "pi2"):
                counted[name] = ask(connection, f"SELECT COUNT(*) FROM {name}")[0][0]

    manifest = run(HandOn(at_end=count), build, workspace, monkeypatch, steps="l.i0", rows=ROWS)
    assert counted == {"pi1": ROWS, "pi2": ROWS}
    seconds: dict[int, int] = defaultdict(int)
    for row in table(workspace, "ops"):
        seconds[row["client"]] += row["rows"]
    assert {f"pi{client}": rows for client, rows in seconds.items()} == counted
    assert {f"pi{row['client']}": row["rows"] for row in table(workspace, "workers")} == counted
    assert {row["table_name"]: row["row_count"] for row in table(workspace, "table_counts")} == counted
    assert not [warning for warning in manifest.warnings if "clock" in warning]


@pytest.mark.long
@pytest.mark.measurement("M6")
def test_m6_after_a_killed_server_at_most_the_statements_in_flight_are_more_than_was_acknowledged(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "left"

    def kill(hand: HandOn, _workers: list[WorkerState]) -> None:
        assert hand.sandbox is not None and hand.sandbox.process is not None
        hand.server.kill()
        hand.sandbox.process.wait()
        hand.sandbox.datadir.rename(left)

    with pytest.raises(ServerLost):
        run(
            HandOn("l.i0", 2.2, kill), build, workspace, monkeypatch, steps="l.i0",
            cnf="innodb_flush_log_at_trx_commit=1\n",
        )  # fmt: skip
    workers = table(workspace, "workers")
    unknown = sum(row["unknown"] for row in workers)
    assert 1 <= unknown <= len(workers) == 2
    (run_dir,) = workspace.runs.iterdir()
    revived = Revived(build, tmp_path / "revived", run_dir / "my.cnf", tmp_path / "revived.log", left)
    with revived as address, connect(address) as connection:
        for worker in workers:
            acknowledged = sum(row["rows"] for row in table(workspace, "ops") if row["worker"] == worker["worker"])
            assert acknowledged == worker["rows"] > 0
            more = ask(connection, f"SELECT COUNT(*) FROM pi{worker['client']}")[0][0] - acknowledged
            assert more in (0, L_I0_ROWS_PER_COMMIT), "a statement is there as a whole or not at all"
            assert more <= worker["unknown"] * L_I0_ROWS_PER_COMMIT
    assert "crash recovery" in (tmp_path / "revived.log").read_text()


@pytest.mark.measurement("M9")
def test_m9_the_wall_clock_is_read_for_dates_only() -> None:
    of_time = ("time", "time_ns", "localtime", "gmtime", "ctime", "strftime", "CLOCK_REALTIME")
    of_dates = ("datetime.now", "datetime.utcnow", "datetime.today", "date.today")
    wall = {f"time.{name}" for name in of_time} | {
        f"{prefix}{name}" for prefix in ("", "datetime.") for name in of_dates
    }
    package = Path(ibench_lib.__file__).parent
    folders = ("servers", "client", "workloads", "capture", "runner", "store")
    files = [path for folder in folders for path in sorted((package / folder).rglob("*.py"))]
    assert len(files) > 60
    found = Counter(
        f"{path.relative_to(package).as_posix()}: {ast.unparse(node)}"
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Attribute) and ast.unparse(node) in wall)
        or (isinstance(node, ast.ImportFrom) and node.module == "time")
    )
    # A certificate is valid from a date; a run has the dates of its two ends; the others say when something happened.
    assert found == {
        "capture/perf_counters.py: time.time": 1,  # to compare with the time of a file
        "store/annotations.py: datetime.now": 2,
        "store/checksums.py: time.time_ns": 1,  # to compare with the times of files
        "store/discovery.py: time.time_ns": 1,  # likewise
        "store/index.py: time.time": 1,  # likewise
        "store/state.py: time.time_ns": 1,  # likewise
        "store/transfer.py: time.localtime": 1,  # the date of a file in an archive
        "runner/cell.py: datetime.now": 2,
        "runner/events.py: datetime.now": 1,
        "runner/ledger.py: datetime.now": 1,
        "runner/snapshot/use.py: datetime.now": 1,
        "servers/certificate.py: datetime.now": 1,
        "servers/sandbox_directory.py: time.time": 1,  # to compare with the time of a folder
    }


@pytest.mark.long
@pytest.mark.fault("F5")
def test_f5_a_server_that_stops_for_good_is_an_error_within_the_timeout(
    build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped_s: list[float] = []
    pid: list[int] = []

    def stop(hand: HandOn, _workers: list[WorkerState]) -> None:
        pid.append(hand.server.pid)
        hand.server.stop()
        stopped_s.append(time.monotonic())

    hand = HandOn("l.i0", 1.2, stop)
    with pytest.raises(WorkerFailed, match=r"step l\.i0: client \d inserter: connection lost: no answer within 2 s"):
        run(hand, build, workspace, monkeypatch, steps="l.i0", timeout_s=2.0)
    took_s = time.monotonic() - stopped_s[0]
    assert took_s < 60, "each client waits 2 s for an answer; without a limit it would wait for ever"
    assert_server_gone(hand, pid[0], workspace)
    manifest = sealed(workspace)
    assert (manifest.status, manifest.failed_step) == ("failed", "l.i0")
    assert "no answer within 2 s" in (manifest.error or "")
    (step,) = table(workspace, "steps")
    assert (step["status"], step["duration_s"] < 30) == ("failed", True)
    workers = table(workspace, "workers")
    assert [row["unknown"] for row in workers] == [1, 1]
    for worker in workers:
        assert 0 in {row["second"] for row in table(workspace, "ops") if row["worker"] == worker["worker"]}
        assert worker["rows"] > 0


@pytest.mark.fault("F11")
def test_f11_a_killed_connection_is_recorded_in_its_second_and_fails_the_step_by_name(
    build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill_an_inserter(hand: HandOn, _workers: list[WorkerState]) -> None:
        with hand.connect() as connection:
            deadline = time.monotonic() + 5
            while time.monotonic() < deadline:
                for thread, info in ask(connection, "SELECT ID, INFO FROM information_schema.PROCESSLIST"):
                    if info and info.startswith("INSERT INTO pi2"):
                        ask(connection, f"KILL {thread}")
                        return
            raise AssertionError("no INSERT into pi2 was to be seen")

    with pytest.raises(WorkerFailed, match=r"step l\.i0: client 2 inserter: "):
        run(HandOn("l.i0", 1.3, kill_an_inserter), build, workspace, monkeypatch, steps="l.i0")
    manifest = sealed(workspace)
    assert (manifest.status, manifest.failed_step) == ("failed", "l.i0")
    workers = {row["client"]: row for row in table(workspace, "workers")}
    assert workers[2]["status"] == "failed" and workers[2]["errors"] + workers[2]["unknown"] == 1
    assert (workers[1]["status"], workers[1]["errors"], workers[1]["unknown"]) == ("interrupted", 0, 0)
    killed = [row for row in table(workspace, "ops") if row["client"] == 2]
    assert [row["errors"] + row["unknown"] for row in killed] == [0] * (len(killed) - 1) + [1]
    assert killed[-1]["second"] == int(workers[2]["end_s"] - workers[2]["start_s"]) >= 1


@pytest.mark.long
@pytest.mark.timing
@pytest.mark.fault("F12")
def test_f12_a_real_lock_wait_is_repeated_counted_in_its_second_and_the_run_passes(
    build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    held_s = 2.5
    holders: list[threading.Thread] = []

    def hold_a_lock(hand: HandOn, _workers: list[WorkerState]) -> None:
        connection = hand.connect()
        ask(connection, "BEGIN")
        # Where the deleter of client 1 goes next; its inserter, at the other end of the table, goes on.
        ask(connection, "SELECT transactionid FROM pi1 ORDER BY transactionid LIMIT 1000 FOR UPDATE")

        def let_go() -> None:
            time.sleep(held_s)
            connection.close()

        holders.append(threading.Thread(target=let_go))
        holders[0].start()

    hand = HandOn("qr100", 1.2, hold_a_lock)
    manifest = run(
        hand, build, workspace, monkeypatch, steps="l.i0, l.x, qr100", rows=5_000, seconds=5,
        cnf="innodb_lock_wait_timeout=1\n",
    )  # fmt: skip
    holders[0].join()
    assert manifest.status == "complete"
    workers = {(row["client"], row["role"]): row for row in table(workspace, "workers", "qr100")}
    deleter = workers[1, "deleter"]
    assert 1 <= deleter["retries"] <= 3 and deleter["errors"] == 0
    assert workers[2, "deleter"]["retries"] == 0
    assert deleter["rows"] == workers[2, "deleter"]["rows"] == 500
    where = {"client": 1, "operation": "delete"}
    seconds = [row for row in table(workspace, "ops", "qr100") if where.items() <= row.items()]
    assert sum(row["retries"] for row in seconds) == deleter["retries"]
    repeated = [row["second"] for row in seconds if row["retries"]]
    slow = max(seconds, key=lambda row: row["service_max_us"] or 0.0)
    assert set(repeated) <= {2, 3, 4} and repeated[0] <= slow["second"] <= 4
    assert slow["service_max_us"] >= (held_s - 0.6) * 1e6, "its response time covers all attempts"
