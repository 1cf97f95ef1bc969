"""The Insert Benchmark on a real server: all ten steps, and what each option changes."""

from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any

import pymysql
import pytest

from ibench_lib.client.driver import ConnectionLost
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.shared import SharedNumber
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.store.manifest import Manifest
from ibench_lib.workloads.insert_benchmark.client import make_role
from ibench_lib.workloads.insert_benchmark.options import PRESET_SETUPS, Options
from ibench_lib.workloads.insert_benchmark.statements.mysql import create_table
from ibench_lib.workloads.insert_benchmark.steps import Step, plan
from ibench_lib.workloads.insert_benchmark.workers import spec as spec_of
from ibench_lib.workloads.insert_benchmark.workers import workers
from tests.fakes.offline import Offline
from tests.measurement import real
from tests.runner.test_cell import Watcher, rows, run

TEN = "l.i0, l.x, l.i1, l.i2, qr100, qp100, qr500, qp500, qr1000, qp1000"
TEXT = """
title: t
builds: [system]
configs: [{name: tiny, fragments: [cy10a]}]
setups: [{name: tiny, l_i0_rows: 30000, l_i1_rows: 10000, l_i2_rows: 2000, query_seconds: %(seconds)d}]
workload: {benchmark: insert_benchmark, clients: 2, steps: %(steps)s%(more)s}
"""


def made(
    build: Build,
    workspace: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    steps: str,
    more: str = "",
    seconds: int = 2,
) -> tuple[Path, Manifest]:
    configs = tmp_path / "configs"
    configs.mkdir()
    (configs / "cy10a.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=64M\nskip_log_bin\n")
    monkeypatch.setattr("ibench_lib.paths.FRAGMENTS", configs)
    path = tmp_path / "tiny.yaml"
    path.write_text(TEXT % {"steps": steps, "more": f", {more}" if more else "", "seconds": seconds})
    manifest = run(load_experiment(path), build, workspace, Watcher())
    assert manifest.status == "complete"
    return workspace.run_dir(manifest.run_id), manifest


def add_up(run_dir: Path) -> None:
    """Sum of per-second rows = acknowledged rows = change of COUNT(*), for every step."""
    workers, ops = rows(run_dir, "workers"), rows(run_dir, "ops")
    before = 0
    for step in rows(run_dir, "steps"):
        name = step["step"]
        acknowledged: dict[str, int] = defaultdict(int)
        per_second: dict[str, int] = defaultdict(int)
        for worker in workers:
            if worker["step"] == name:
                acknowledged[worker["role"]] += worker["rows"]
        for row in ops:
            if row["step"] == name and row["operation"] in ("insert", "delete"):
                per_second[{"insert": "inserter", "delete": "deleter"}[row["operation"]]] += row["rows"]
        assert {role: acknowledged[role] for role in per_second} == dict(per_second)
        after = sum(row["row_count"] for row in rows(run_dir, "table_counts") if row["step"] == name)
        assert after - before == acknowledged["inserter"] - acknowledged["deleter"]
        before = after


def shares_of_target(run_dir: Path, steps: list[dict[str, Any]], seconds: int) -> list[float]:
    """What the inserters and the deleters of each step did of their targets.

    Of those of the planned time: duration_s also holds the tail of the last query, longer on a busy machine.
    """
    workers = rows(run_dir, "workers")
    return [
        sum(row["rows"] for row in workers if (row["step"], row["role"]) == (step["step"], role))
        / (2 * step["target_rows_per_s"] * seconds)
        for step in steps
        for role in ("inserter", "deleter")
    ]


@pytest.mark.long
@pytest.mark.timing
def test_ten_steps_add_up_and_hold_their_rates(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that stalls in the last hundredths of a step makes it miss its rate, so up to three runs are made."""
    seconds = 2
    for attempt in range(3):
        (tmp_path / str(attempt)).mkdir()
        run_dir, _ = made(build, workspace, tmp_path / str(attempt), monkeypatch, '"2025"', seconds=seconds)
        steps = rows(run_dir, "steps")
        if min(shares_of_target(run_dir, steps[4:], seconds)) >= 0.99:
            break
    assert ", ".join(step["step"] for step in steps) == TEN
    add_up(run_dir)
    assert all(0.99 <= share <= 1.01 for share in shares_of_target(run_dir, steps[4:], seconds))
    workers = rows(run_dir, "workers")
    for step in steps[4:]:
        assert step["target_rows_per_s"] in (100, 500, 1000)
        assert step["duration_s"] >= seconds - 0.001
        operations = {row["operation"] for row in rows(run_dir, "ops") if row["step"] == step["step"]}
        assert operations == {"insert", "delete", "range_query" if step["step"].startswith("qr") else "point_query"}
    queries = [row for row in workers if row["role"] == "querier"]
    # A range query finds its ten rows; a point query those of its ten keys that are still there.
    assert all(row["rows"] > 9.5 * row["ops"] > 0 for row in queries if row["step"].startswith("qr"))
    assert all(0 < row["rows"] <= 10 * row["ops"] for row in queries if row["step"].startswith("qp"))


@pytest.mark.long
def test_prepared_statements_over_tcp_with_two_queriers(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "protocol: prepared, transport: tcp, queriers: 2"
    run_dir, manifest = made(build, workspace, tmp_path, monkeypatch, "[l.i0, l.x, l.i1, qr100, qp100]", more, 1)
    add_up(run_dir)
    workers = [row for row in rows(run_dir, "workers") if row["step"] == "qr100"]
    assert sorted(row["role"] for row in workers) == ["deleter"] * 2 + ["inserter"] * 2 + ["querier"] * 4
    assert all(row["rows"] > 9.5 * row["ops"] for row in workers if row["role"] == "querier")
    assert manifest.server is not None and manifest.server.variables["skip_networking"] == "OFF"
    assert manifest.server.variables["bind_address"] == "127.0.0.1"


def test_tls_is_spoken_when_asked_for(build: Build, tmp_path: Path) -> None:
    (tmp_path / "my.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=24M\nskip_log_bin\n")
    with Sandbox(build, tmp_path / "box", tmp_path / "my.cnf", tmp_path / "log", tls=True) as where:
        connection = Connection(where.arguments(), None, 1.0)
        assert connection.text("SHOW SESSION STATUS LIKE 'Ssl_cipher'", column=1) != ""
        assert connection.query("SELECT 1 UNION SELECT 2 UNION SELECT 3") == 3
        statement = connection.prepare("SELECT ? UNION SELECT 5")
        assert len(statement) == 4
        with pytest.raises(ConnectionLost, match="no answer within 1 s"):  # a silent server is no hang over TLS either
            connection.query("SELECT sleep(20)")


@pytest.mark.long
def test_a_run_over_tls(build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_dir, _ = made(build, workspace, tmp_path, monkeypatch, "[l.i0, l.x, l.i1, qr100]", "transport: tls", seconds=1)
    add_up(run_dir)


@pytest.mark.long
def test_one_table_a_long_transaction_settling_and_steps_of_ones_own(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = (
        "[l.i0, l.x, l.i1, {step: l.i1, name: held, rows: 10000}, {step: l.i1, name: slow, rows: 1000, rate: 500,"
        " rows_per_commit: 10}, {step: qr100, seconds: 1}]"
    )
    more = "tables: one, long_transaction: [held], settle: flush, data_length: [5, 30]"
    run_dir, manifest = made(build, workspace, tmp_path, monkeypatch, steps, more)
    add_up(run_dir)
    by_name = {step["step"]: step for step in rows(run_dir, "steps")}
    # Deletes and inserts of `held` are all kept for the open read view.
    assert by_name["held"]["history_list_length"] >= 2 * 2 * 10_000 / 50 * 0.9
    assert by_name["held"]["history_list_length"] >= by_name["l.i1"]["history_list_length"]
    assert by_name["slow"]["duration_s"] >= 1.9, "1,000 rows at 500 a second; on a busy host it may take longer"
    assert by_name["slow"]["insert_rows_per_commit"] == 10
    assert {row["table_name"] for row in rows(run_dir, "table_counts")} == {"pi1"}
    actions = [(action.before_step, action.action) for action in manifest.settle]
    assert actions == [("qr100", "ANALYZE TABLE pi1"), ("qr100", "wait for dirty pages")]
    assert "dirty" in manifest.settle[1].result
    assert manifest.server is not None
    changed = {name for name in manifest.server.variables_changed if "dirty" in name}
    assert changed == set(), "settling restores what it lowers"


@pytest.mark.long
def test_what_was_asked_and_what_is_in_force_are_in_the_manifest(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "odd.cnf").write_text(
        "[mysqld]\ninnodb_buffer_pool_size=640M\ninnodb_io_capacity=10\nloose_of_the_future=1\nlog_bin\n"
    )
    path = tmp_path / "odd.yaml"
    text = TEXT.replace(
        "configs: [{name: tiny, fragments: [cy10a]}]",
        "configs_folder: own\nscale: 0.1\nconfigs: [{name: odd, fragments: [odd]}]",
    )
    path.write_text(text % {"steps": "[l.i0, l.x, qr100]", "more": ", settle: flush", "seconds": 10})
    # What other processes here are at work at is no matter of this test, that it is told in the warnings is.
    monkeypatch.setattr("ibench_lib.runner.cell.examine", lambda *_: ["somebody else is at work here"])
    manifest = run(load_experiment(path), build, workspace, Watcher())
    assert manifest.status == "complete"
    recorded = {option.key: option for option in manifest.config.options}
    pool = recorded["innodb_buffer_pool_size"]
    assert (pool.full_value, pool.value, pool.origin) == ("640M", str(64 << 20), "odd.cnf:2")
    assert manifest.config.skipped == ["odd.cnf:4: loose_of_the_future"]
    assert manifest.warnings == [
        "skipped, because this server does not know it: odd.cnf:4: loose_of_the_future",
        "somebody else is at work here",
        "innodb_io_capacity: asked 10 (odd.cnf:3), the server uses 100",
    ]
    # The server kept binary logs of the load, and they went when it settled.
    actions = [action.action for action in manifest.settle]
    assert any(action.startswith("RESET ") for action in actions)


def options(**changes: Any) -> Options:
    return Options.model_validate(
        {"benchmark": "insert_benchmark", "clients": 1, "steps": ["l.i0", "l.x", "l.i1", "qr100", "qp100"], **changes}
    )


@pytest.mark.long
def test_both_protocols_make_the_same_rows_and_queries_use_their_forced_indexes(build: Build, tmp_path: Path) -> None:
    (tmp_path / "my.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=64M\nskip_log_bin\n")
    with Sandbox(build, tmp_path / "box", tmp_path / "my.cnf", tmp_path / "log") as where:
        found: dict[str, list[tuple[Any, ...]]] = {}
        sums: dict[str, list[int]] = {}
        for protocol in ("text", "prepared"):
            chosen = options(protocol=protocol)
            steps = plan(chosen, PRESET_SETUPS["cached"], 0.0005)
            connection = Connection(where.arguments(), None, 30)
            connection.query(f"CREATE DATABASE {protocol}")
            connection.query(f"USE {protocol}")
            connection.query(create_table("pi1", chosen.engine))
            sums[protocol] = []
            for step_id, step in enumerate(steps):
                shared = SharedNumber()
                for worker in workers(chosen, step):
                    role = make_role(spec_of(chosen, step, worker, step_id), connection)
                    role.shared = shared
                    role.probe()
                    count = {"l.i0": 100, "l.x": 1}.get(step.name, 40)
                    sums[protocol].append(sum(connection.execute(role.next_statement()) for _ in range(count)))
            with pymysql.connect(**where.arguments(), database=protocol) as check, check.cursor() as cursor:
                cursor.execute("SELECT * FROM pi1 ORDER BY transactionid")
                found[protocol] = list(cursor.fetchall())
                if protocol == "text":
                    explained(cursor, chosen, steps[3])
            connection.close()
        assert found["text"] == found["prepared"]
        assert sums["text"] == sums["prepared"]
        assert len(found["text"]) == 10_000


def explained(cursor: Any, chosen: Options, step: Step) -> None:
    """EXPLAIN of each range query names its forced index, and covers the query with it."""
    querier = workers(chosen, step)[2]
    role = make_role(spec_of(chosen, step, querier, 3), Offline())  # type: ignore[arg-type]
    seen = set()
    for _ in range(60):
        query = role.next_statement()[1:].decode()
        cursor.execute(f"EXPLAIN {query}")
        shown = dict(zip([column[0] for column in cursor.description], cursor.fetchone(), strict=True))
        assert shown["key"] in query
        assert "Using index" in shown["Extra"]
        assert "filesort" not in shown["Extra"]
        seen.add(shown["key"])
    assert seen == {"pi1_marketsegment", "pi1_registersegment", "pi1_pdc"}


@pytest.mark.long
def test_the_timed_probe_is_the_only_query_for_the_smallest_key_apart_from_the_deleters(
    build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the server's own log: no client asks for min(transactionid) outside of what is recorded as a probe."""
    logged: dict[str, list[tuple[int, str]]] = {}

    def read_log(hand: real.HandOn, step: str) -> None:
        sought = "argument REGEXP '(min|max).transactionid|^DELETE'"
        query = f"SELECT thread_id, CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE {sought}"
        with hand.connect() as connection:
            found = real.ask(connection, query)
            real.ask(connection, "TRUNCATE mysql.general_log")
        # The log has these two statements as well.
        logged[step] = [(thread, text) for thread, text in found if "general_log" not in text]

    steps = "l.i0, l.x, l.i1, qr100, qp100"
    cnf = "general_log=1\nlog_output=TABLE\n"
    real.run(real.HandOn(at_end=read_log), build, workspace, monkeypatch, steps=steps, rows=10_000, seconds=2, cnf=cnf)
    probes = [(row["step"], row["client"], row["probe"]) for row in real.table(workspace, "probes")]
    for step in ("l.i1", "qr100", "qp100"):
        deleters = {thread: text.split()[2] for thread, text in logged[step] if text.startswith("DELETE")}
        assert sorted(deleters.values()) == ["pi1", "pi2"]
        for table in ("pi1", "pi2"):
            asking = [thread for thread, text in logged[step] if text == f"SELECT min(transactionid) FROM {table}"]
            recorded = [probe for name, client, probe in probes if (name, f"pi{client}") == (step, table)]
            assert {deleters.get(thread) for thread in asking} == {table}, "only the deleter asks"
            assert len(asking) == len(recorded) and recorded.count("get_min") == 1
        reads_of_max = [thread for thread, text in logged[step] if "max(" in text]
        assert bool(reads_of_max) == (step == "qp100"), "the point queriers re-read max, and nothing else does"
        assert not {*reads_of_max} & {*deleters}


@pytest.mark.long
def test_dateandtime_never_goes_back_within_a_run(
    build: Build, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: dict[str, tuple[int, datetime]] = {}
    seen: list[str] = []

    def look(hand: real.HandOn, step: str) -> None:
        with hand.connect() as connection:
            for table in ("pi1", "pi2"):
                last_id, last = ends.get(table, (0, datetime.min))
                of_step = f"SELECT MIN(dateandtime), MAX(dateandtime), MAX(transactionid), COUNT(*) FROM {table}"
                ((first, latest, key, rows),) = real.ask(connection, f"{of_step} WHERE transactionid > {last_id}")
                if rows:
                    assert first > last, f"{step} begins in {table} at {first}, after a row of {last}"
                    ends[table] = key, latest
                    seen.append(step)

    steps = "l.i0, l.x, l.i1, l.i2, qr100, {step: l.i1, name: l.i3}, qp100"
    real.run(real.HandOn(at_end=look), build, workspace, monkeypatch, steps=steps, rows=5_000)
    assert seen == [step for step in ("l.i0", "l.i1", "l.i2", "qr100", "l.i3", "qp100") for _ in range(2)]


@pytest.mark.long
@pytest.mark.timing
@pytest.mark.measurement("M18")
def test_m18_what_a_querier_does_is_in_its_service_times_or_recorded_as_unrecorded(
    build: Build, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where purge is held up, so that the query for the smallest key is slow."""
    seconds = 4
    steps = "[l.i0, l.x, {step: l.i1, rows: 150000, rows_per_commit: 1000}, qr100, qp100]"
    more = "long_transaction: [l.i1, qr100, qp100]"
    run_dir, _ = made(build, workspace, tmp_path, monkeypatch, steps, more, seconds)
    bound = {step["step"]: step["client_bound"] for step in rows(run_dir, "steps")}
    for step in ("qr100", "qp100"):
        queriers = [row for row in rows(run_dir, "workers") if (row["step"], row["role"]) == (step, "querier")]
        if bound[step] is not None and "querier" in bound[step]:
            continue
        other = {row["worker"]: row["unrecorded_s"] / (row["end_s"] - row["start_s"]) for row in queriers}
        assert all(share < 0.05 for share in other.values()), other
        assert (max(other.values()) > 0) == (step == "qp100")
        accounted = sorted(
            row["service_sum_us"] / 1e6 + other[row["worker"]]
            for row in rows(run_dir, "ops")
            if row["step"] == step and row["worker"] in other and 0 < row["second"] < seconds - 1
        )
        # Of the best quarter of the seconds: in others, another process may have had the core. The rest is the client's
        # own work, up to a tenth of what a point query takes. The query for the smallest key took most of the time.
        assert accounted[-len(accounted) // 4] >= 0.85, (step, accounted)
