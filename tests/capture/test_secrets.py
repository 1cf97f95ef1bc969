"""Statements that may hold a password are not kept."""

import threading
from pathlib import Path

import pymysql
import pytest

from ibench_lib.capture import secrets
from ibench_lib.capture.options import CaptureOptions
from ibench_lib.capture.session import Capture, collectors
from ibench_lib.families.mysql.collectors.innodb_status import InnodbStatus
from ibench_lib.families.mysql.collectors.processlist import Processlist
from ibench_lib.families.mysql.connection import connect, rows
from tests.capture.scenes import Booted, Sink, scene
from tests.waiting import until

CANARY = "c4n4ry" * 4


@pytest.mark.fault("F26")
def test_a_statement_that_may_hold_a_password_is_not_kept() -> None:
    for text in ("CREATE USER a IDENTIFIED BY 'x'", "set Password = 'x'", "CHANGE MASTER TO MASTER_PASSWORD='x'"):
        assert secrets.statement(text) == secrets.NOT_KEPT
    assert secrets.statement("SELECT 1") == "SELECT 1"


def test_without_process_there_is_no_status_and_the_list_says_that_it_is_not_whole(
    running: Booted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(InnodbStatus, "every_s", 1)
    monkeypatch.setattr(Processlist, "every_s", 1)
    with connect(running.address.arguments()) as connection:
        rows(connection, "CREATE USER low@localhost IDENTIFIED BY 'pw'")
    address = {**running.address.arguments(), "user": "low", "password": "pw"}
    with Capture(scene(tmp_path, address), Sink(), [InnodbStatus, Processlist]) as capture:
        until(lambda: {"innodb_status", "processlist"} <= capture.null_reasons().keys(), "two reasons")
    reasons = capture.null_reasons()
    assert reasons["innodb_status"].startswith("access denied: SHOW ENGINE INNODB STATUS")
    assert "PROCESS" in reasons["innodb_status"]
    assert reasons["processlist"] == "access denied: without PROCESS it lists this user's connections only"
    processlist = next(report for report in capture.reports() if report.name == "processlist")
    assert processlist.reason is None


@pytest.mark.fault("F26")
def test_nothing_that_any_collector_emits_holds_a_password(
    running: Booted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = [kind for name, kind in collectors("mysql").items() if name != "profile"]
    for kind in kinds:
        monkeypatch.setattr(kind, "every_s", 1)
    root = running.address.arguments()
    with connect(root) as connection:
        rows(connection, f"CREATE USER boss@localhost IDENTIFIED BY '{CANARY}'")
        rows(connection, "GRANT ALL ON *.* TO boss@localhost")
        rows(connection, "CREATE DATABASE d")
        rows(connection, "CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(100)) ENGINE=InnoDB")
        rows(connection, "INSERT INTO d.t VALUES (1, '')")
    address = {**root, "user": "boss", "password": CANARY}
    sink, other = Sink(), pymysql.connect(**address, autocommit=True)
    # The literal is what a client might log; the server hands out the text of a statement as long as it runs.
    statement = f"UPDATE d.t SET b = CONCAT(SLEEP(3), 'IDENTIFIED\nBY {CANARY}')"
    busy = threading.Thread(target=lambda: rows(other, statement))
    datadir = running.box.datadir
    options = CaptureOptions(waits=True)
    watched = scene(tmp_path, address, running.pid, datadir, options, tmpdir=running.box.tmpdir)
    with Capture(watched, sink, kinds) as capture:
        busy.start()
        until(lambda: any(secrets.NOT_KEPT in row["text"] for row in sink["innodb_status"]), "the report")
        until(lambda: secrets.NOT_KEPT in {row["info"] for row in sink["processlist"]}, "the process list")
        until(lambda: {"server_samples", "host_samples", "process_samples"} <= set(sink.rows), "samples")
        capture.step_ended(0, "l.i0")
        busy.join()
    other.close()
    said = repr((sink.rows, capture.null_reasons(), capture.warnings(), capture.reports()))
    assert CANARY not in said
    assert secrets.NOT_KEPT in {row["info"] for row in sink["processlist"]}
    assert any(secrets.NOT_KEPT in row["text"] for row in sink["innodb_status"])
    emitted = {"server_samples", "innodb_status", "processlist", "host_samples", "process_samples", "sizes"}
    assert emitted <= set(sink.rows)
    # A wrong password is in no message either.
    with Capture(scene(tmp_path, {**address, "password": CANARY + "x"}), sink, kinds) as capture:
        until(lambda: all(each.samples or each.missed or each.reason for each in capture.reports()), "every collector")
        capture.step_ended(0, "l.i0")
    assert "denied" in repr(capture.null_reasons())
    assert CANARY not in repr((capture.null_reasons(), capture.warnings(), capture.reports()))
