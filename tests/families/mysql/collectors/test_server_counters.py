import subprocess
import time
from pathlib import Path
from typing import Any

import pymysql
import pytest

from ibench_lib.capture.session import Capture
from ibench_lib.families.mysql.collectors.server_counters import ServerCounters
from ibench_lib.families.mysql.connection import connect, rows
from ibench_lib.families.mysql.figure_places import history_list_length
from ibench_lib.families.mysql.innodb_places import PLACES
from ibench_lib.server_figures import FIGURES, Counter
from tests.capture.scenes import NOBODY, Booted, Sink, clock, scene, until_sampled
from tests.faults import Victim
from tests.waiting import until


def sampled(collector: ServerCounters, *ticks: int) -> None:
    """Sample now, and name the ticks; the clock of the scene begins anew with each."""
    for tick in ticks:
        collector.sample(tick, lambda tick=tick: tick + 0.01)  # type: ignore[misc]


def latest(sink: Sink, tick: int) -> dict[tuple[str, str], Any]:
    """Every counter's value at a tick: of its last row until then."""
    values = {}
    for row in sink["server_counters"]:
        if row["tick"] <= tick:
            values[row["source"], row["name"]] = row["value"] if row["value"] is not None else row["real_value"]
    return values


def test_history_list_sees_purge_held_back_by_an_open_read_view(booted: Booted, tmp_path: Path) -> None:
    address = booted.address.arguments()
    sink = Sink()
    watched = scene(tmp_path, address, booted.pid)
    writer, reader = pymysql.connect(**address, autocommit=True), pymysql.connect(**address)
    with Capture(watched, sink, [ServerCounters]) as capture, writer.cursor() as write, reader.cursor() as read:
        write.execute("CREATE DATABASE d")
        write.execute("CREATE TABLE d.t (a INT PRIMARY KEY, b INT) ENGINE=InnoDB")
        write.execute("INSERT INTO d.t VALUES (1, 0)")
        before, no_reason = history_list_length(address, PLACES)
        assert no_reason is None
        read.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        for number in range(500):
            write.execute("UPDATE d.t SET b = %s", (number,))
        after, _ = history_list_length(address, PLACES)
        for _ in range(2):
            until_sampled(lambda: sink["server_samples"], watched)
    assert before is not None and after is not None
    assert after - before >= 450
    samples = sink["server_samples"]
    assert len(samples) >= 2
    assert all(row["history_list_length"] >= 450 for row in samples[-2:])
    late_s = [row["t_s"] - row["tick"] for row in samples]
    assert min(late_s) >= 0, "never before the second that it is of"
    assert "server_samples.history_list_length" not in capture.null_reasons()
    (report,) = capture.reports()
    assert report.reason is None


@pytest.mark.fault("F36")
def test_a_server_that_is_gone_gives_rows_of_nulls_with_a_reason(tmp_path: Path) -> None:
    sink = Sink()
    with Capture(scene(tmp_path), sink, [ServerCounters]) as capture:
        until(lambda: sink["server_samples"], "a sample")
    row = sink["server_samples"][0]  # on a busy core a second one may have come
    assert (row["tick"], row["t_s"]) == (1, 1.0)
    assert all(row[figure.column] is None for figure in FIGURES)
    reasons = capture.null_reasons()
    assert {f"server_samples.{figure.column}" for figure in FIGURES} <= set(reasons)
    assert "connect to MySQL server" in reasons["server_samples.uptime_s"]
    value, reason = history_list_length(NOBODY, PLACES)
    assert value is None and "connect to MySQL server" in str(reason)


def test_counters_are_what_the_server_says_and_only_changes_are_kept(running: Booted, tmp_path: Path) -> None:
    address = running.address.arguments()
    sink = Sink()
    collector = ServerCounters(scene(tmp_path, address, running.pid), sink)
    sampled(collector, 1)
    first = len(sink["server_counters"])
    with connect(address) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        sampled(collector, 2)
        changed = [row for row in sink["server_counters"] if row["tick"] == 2]
        assert 10 < len(changed) < first / 3
        told = {str(name): str(value) for name, value in rows(connection, "SHOW GLOBAL STATUS")}
    ours = {name: value for (source, name), value in latest(sink, 2).items() if source == "status"}
    numeric = {name for name, value in told.items() if value.lstrip("-").replace(".", "", 1).isdigit()}
    assert numeric == set(ours)
    still = [name for name in ours if name.startswith(("Innodb_buffer_pool_pages_t", "Com_create"))]
    assert len(still) > 5
    assert {name: float(told[name]) for name in still} == {name: float(ours[name]) for name in still}
    assert not [row for row in sink["server_counters"] if (row["value"] is None) == (row["real_value"] is None)]
    sample = sink["server_samples"][-1]
    assert sample["questions"] == ours["Questions"]
    assert sample["pages"] * 16384 == 32 << 20 or sample["pages"] > 1900
    collector.close()


def test_a_metric_that_is_not_set_yet_is_null_until_it_says_something(
    booted: Booted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = Sink()
    collector = ServerCounters(scene(tmp_path, booted.address.arguments(), booted.pid), sink)
    sampled(collector, 1)
    assert collector._places is not None and not collector._places.unset, "no server of today sets one later"
    age = Counter("metric", "log_lsn_checkpoint_age", False)
    collector._places.counters["checkpoint_age_bytes"] = age
    collector._places.unset = {age.name}
    said = [0, 0, 4096, 0]
    ask = collector._ask

    def told(*arguments: Any) -> Any:
        value = str(said.pop(0)).encode()
        row = bytes([len(age.name)]) + age.name.encode() + bytes([len(value)]) + value
        for source, answer in ask(*arguments):
            ours = [one for one in answer if age.name.encode() not in one]
            yield source, [*ours, row] if source == "metric" else answer

    monkeypatch.setattr(collector, "_ask", told)
    sampled(collector, 2, 3, 4, 5)
    collector.close()
    assert [row["checkpoint_age_bytes"] for row in sink["server_samples"][1:]] == [None, None, 4096, 0]
    kept = [
        (row["tick"], row["value"]) for row in sink["server_counters"] if row["name"] == age.name and row["tick"] > 1
    ]
    assert kept == [(4, 4096), (5, 0)]
    reason = collector.null_reasons["server_samples.checkpoint_age_bytes"]
    assert reason.endswith("was switched on for this run, and this server sets it only when it next writes redo")


@pytest.mark.measurement("M13")
def test_a_restarted_server_is_another_incarnation_and_loses_nothing(booted: Booted, tmp_path: Path) -> None:
    sink = Sink()
    address = booted.address.arguments()
    watched = scene(tmp_path, address, booted.pid)
    with pymysql.connect(**address) as connection, connection.cursor() as cursor:
        for _ in range(300):
            cursor.execute("SELECT 1")

    def answered() -> list[dict[str, Any]]:
        return [row for row in sink["server_samples"] if row["questions"] is not None]

    with Capture(watched, sink, [ServerCounters]):
        until(lambda: len(answered()) >= 2, "two samples")
        process = booted.box.process
        assert process is not None
        command = process.args
        Victim(process.pid).kill()
        process.wait()
        until(lambda: len(sink["server_samples"]) > len(answered()), "a sample without an answer")
        before_restart = len(answered())
        restart(booted, command)
        until(lambda: len(answered()) >= before_restart + 2, "two samples of the restarted server")
    samples = sink["server_samples"]
    ticks = [row["tick"] for row in samples]
    assert ticks == list(range(ticks[0], ticks[-1] + 1)), "every second has its row"
    assert {row["incarnation"] for row in answered()} == {0, 1}
    assert any(row["questions"] is None for row in samples), "the gap is to be seen"
    first = next(row for row in answered() if row["incarnation"] == 1)
    assert first["questions"] < answered()[0]["questions"]
    for incarnation in (0, 1):
        values = [row["questions"] for row in answered() if row["incarnation"] == incarnation]
        assert values == sorted(values)
    begun = {row["name"] for row in sink["server_counters"] if (row["tick"], row["incarnation"]) == (first["tick"], 1)}
    before = {row["name"] for row in sink["server_counters"] if row["tick"] == answered()[0]["tick"]}
    assert len(begun) > 400 and begun >= {name for name in before if name.startswith("Com_")}


def restart(booted: Booted, command: Any) -> None:
    """The same server on the same data directory and socket."""
    (booted.box.directory / "init.sql").write_text("")
    booted.box.process = subprocess.Popen(command, env=booted.box._environment(), cwd=booted.box.directory)
    booted.box._wait_until_it_answers(booted.address)


@pytest.mark.timing
def test_a_late_answer_belongs_to_the_second_in_which_it_came(booted: Booted, tmp_path: Path) -> None:
    sink = Sink()
    watched = scene(tmp_path, booted.address.arguments(), booted.pid)
    now_s, pid = clock(watched), booted.pid()
    assert pid is not None
    server = Victim(pid)
    with Capture(watched, sink, [ServerCounters]) as capture:
        until(lambda: now_s() % 1 > 0.5 and sink["server_samples"], "half a second after a sample")
        last = sink["server_samples"][-1]["tick"]
        server.stop()
        until(lambda: now_s() > last + 3.5, "three seconds have begun that the server does not answer in")
        server.resume()
        until(lambda: sink["server_samples"][-1]["tick"] >= last + 4, "it answers again")
    samples = sink["server_samples"]
    ticks = [row["tick"] for row in samples]
    assert ticks == list(range(1, ticks[-1] + 1))
    silent = [row["tick"] for row in samples if row["questions"] is None]
    # It was asked in the first of the three seconds and answers in the third, whose row that is.
    assert silent == [last + 1, last + 2]
    assert {row["incarnation"] for row in samples} == {0}
    assert (
        f"no answer in 2 seconds, first in second {last + 1}; last error: "
        in capture.null_reasons()["server_samples.questions"]
    )


@pytest.mark.parametrize("grants", ["", "PROCESS"])
@pytest.mark.fault("F36")
def test_without_privileges_it_is_null_with_a_reason(grants: str, booted: Booted, tmp_path: Path) -> None:
    with connect(booted.address.arguments()) as connection:
        rows(connection, "CREATE USER low@localhost IDENTIFIED BY 'pw'")
        if grants:
            rows(connection, f"GRANT {grants} ON *.* TO low@localhost")
    address = {**booted.address.arguments(), "user": "low", "password": "pw"}
    sink = Sink()
    with Capture(scene(tmp_path, address), sink, [ServerCounters]) as capture:
        until(
            lambda: sink["server_samples"] and "server_samples.pages_flushed_adaptive" in capture.null_reasons(),
            "a sample and the reasons of its NULLs",
        )
    row = sink["server_samples"][-1]
    reasons = capture.null_reasons()
    assert row["questions"] > 0 and "server_samples.questions" not in reasons
    nulls = {figure.column for figure in FIGURES if row[figure.column] is None}
    assert {f"server_samples.{column}" for column in nulls} == set(reasons)
    assert row["pages_flushed_adaptive"] is None
    reason = reasons["server_samples.pages_flushed_adaptive"]
    if grants:
        assert reason.startswith("access denied: metric buffer_flush_adaptive_total_pages is off, and innodb_monitor")
        assert any(row["source"] == "metric" for row in sink["server_counters"])
    else:
        assert reason.startswith("access denied: INNODB_METRICS: ") and "PROCESS" in reason
        assert not any(row["source"] == "metric" for row in sink["server_counters"])
    assert any("columns of server_samples are NULL: access denied" in warning for warning in capture.warnings())
    (report,) = capture.reports()
    assert report.reason is None and report.samples >= 1
    value, reason_of_one = history_list_length(address, PLACES)
    assert (value is None) == (row["history_list_length"] is None)
    assert reason_of_one is None or "denied" in reason_of_one


def test_a_tick_costs_little(running: Booted, tmp_path: Path) -> None:
    watched = scene(tmp_path, running.address.arguments(), running.pid)
    collector = ServerCounters(watched, Sink())
    collector.sample(1, clock(watched))
    begun = time.thread_time()
    for tick in range(2, 22):
        sampled(collector, tick)
    assert (time.thread_time() - begun) / 20 < 0.01
    collector.close()
