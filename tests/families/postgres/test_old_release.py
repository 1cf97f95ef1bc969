"""A real PostgreSQL 9.6, if it is installed: who listens is known, rows are counted, and what it lacks has a reason."""

from __future__ import annotations

import threading
from pathlib import Path

import psutil
import pytest

from ibench_lib.client.driver import ConnectionLost, StatementError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.families.postgres.collectors.server_counters import ServerCounters
from ibench_lib.families.postgres.collectors.thread_states import ThreadStates
from ibench_lib.families.postgres.driver import Connection
from ibench_lib.paths import Workspace
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.server_figures import FIGURES
from ibench_lib.servers.build import Build
from tests.capture.scenes import Sink, clock, scene
from tests.families.postgres import test_linkbench, test_sysbench, test_tpcc
from tests.families.postgres.boxes import connected, sandbox
from tests.families.postgres.runs import SMALL, experiment, register, table
from tests.families.postgres.test_bad_input import shared_memory, still_there
from tests.waiting import until

pytestmark = pytest.mark.slow


def test_a_sandbox_is_reached_by_those_who_know_its_password_and_its_process(
    old_postgres: Build, open_path: Path
) -> None:
    box = sandbox(old_postgres, open_path)
    with box as address:
        process = psutil.Process(box.process.pid)  # type: ignore[union-attr]
        listener = {"process": process.pid, "user": process.uids().effective}
        told = address.arguments()
        assert told["listener"] == listener
        assert [each for each in process.net_connections("inet") if each.status == psutil.CONN_LISTEN] == []
        with pytest.raises(StatementError, match="28P01"):
            Connection({**told, "password": "wrong"}, None, 10.0)
        with pytest.raises(ConnectionLost, match=f"not our server: process {process.pid} of user"):
            Connection({**told, "listener": {**listener, "process": process.pid + 1}}, None, 10.0)
        with pytest.raises(StatementError, match="proves nothing of itself"):
            Connection({**told, "listener": None}, None, 10.0)
        memory = shared_memory(process.pid, box.datadir)
        process.kill()
    assert still_there(memory) == set() and not box.directory.exists()


@pytest.mark.parametrize("protocol", ["text", "prepared"])
def test_all_steps_of_the_insert_benchmark_run_and_count_what_was_acknowledged(
    old_postgres: Build, open_path: Path, protocol: str
) -> None:
    workspace = Workspace(open_path)
    register(old_postgres, workspace)
    path = experiment(open_path, steps="l.i0, l.x, l.i1, l.i2, qr100, qp100", protocol=protocol, seconds=1)
    (manifest,) = run_experiment(load_experiment(path), workspace, Observer()).made
    assert manifest.status == "complete", manifest.error
    assert [(verdict.held, verdict.made) for verdict in manifest.verdicts] == [(1, 1)] * 6
    assert [action.action for action in manifest.settle] == ["VACUUM (ANALYZE) pi1", "CHECKPOINT"]
    assert "server_counters.waiting" in manifest.null_reasons
    done = table(workspace, "ops")
    assert sum(row["rows"] for row in done if row["operation"] == "insert") >= 6500
    assert {row["probe"] for row in table(workspace, "probes")} == {"get_min"}, "it says nothing of planning"
    assert all(row["bytes"] for row in table(workspace, "sizes") if row["what"] in ("redo", "table_data", "database"))
    assert "checkpointer" in {row["name"] for row in table(workspace, "thread_samples")}


def test_what_it_lists_is_captured_and_the_rest_is_null_with_a_reason(
    old_postgres: Build, open_path: Path, tmp_path: Path
) -> None:
    counted, states = Sink(), Sink()
    box = sandbox(old_postgres, open_path)
    with box as address:
        watched = scene(tmp_path, address.arguments(), family="postgres", database="postgres")
        counters, threads = ServerCounters(watched, counted), ThreadStates(watched, states)
        counters.sample(0, clock(watched))
        threads.sample(0, clock(watched))
        assert [(row["state"], row["connections"]) for row in states["thread_states"]] == [("", 0)]
        holder, waiter = connected(box), connected(box)
        holder.query("CREATE TABLE held AS SELECT generate_series(1, 5000) a")
        holder.query("BEGIN; LOCK TABLE held")
        thread = threading.Thread(target=waiter.query, args=["DELETE FROM held"])
        thread.start()

        def waits() -> bool:
            states.rows.clear()
            threads.sample(1, clock(watched))
            return [(row["state"], row["connections"]) for row in states["thread_states"]] == [("Lock: relation", 1)]

        until(waits, "one waits for the table")
        counters.sample(1, clock(watched))  # while a transaction is open
        holder.query("COMMIT")
        thread.join(60)
        waiter.close()  # it reports what it has counted in the last half second at its end only

        def deleted() -> bool:
            counters.sample(len(counted["server_samples"]), clock(watched))
            return bool(counted["server_samples"][-1]["rows_deleted"] >= 5000)

        until(deleted, "the statistics have the rows")
        for each in (counters, threads, holder):
            each.close()
    names = {row["name"] for row in counted["server_counters"]}
    assert {"tables.dead_rows", "now.vacuum_workers", "now.wal_files_bytes", "now.oldest_transaction_s"} <= names
    assert not names & {"now.checkpoints_under_way", "waiting.checkpointer"}
    assert {"server_counters.now.checkpoints_under_way", "server_counters.waiting"} <= counters.null_reasons.keys()
    last = counted["server_samples"][-1]
    assert last["redo_lsn_bytes"] > last["checkpoint_age_bytes"] > 0 and last["pages_written"] is not None
    for figure in FIGURES:
        assert (last[figure.column] is None) == (f"server_samples.{figure.column}" in counters.null_reasons)


@pytest.mark.long
@pytest.mark.usefixtures("sysbench")
@pytest.mark.parametrize(
    ("options", "text"),
    [("larger", test_tpcc.TEXT), ("small", test_linkbench.TEXT), ("small", test_sysbench.TEXT)],
    ids=["tpcc", "linkbench", "sysbench"],
)
def test_other_benchmarks_pass_their_checks(old_postgres: Build, open_path: Path, options: str, text: str) -> None:
    workspace = Workspace(open_path)
    register(old_postgres, workspace)
    (open_path / "own").mkdir()
    (open_path / "own" / f"{options}.postgres.conf").write_text({"larger": test_tpcc.LARGER, "small": SMALL}[options])
    (open_path / "pg.yaml").write_text(text)
    (manifest,) = run_experiment(load_experiment(open_path / "pg.yaml"), workspace, Observer()).made
    assert manifest.status == "complete", manifest.error
    checks = table(workspace, "checks")
    assert checks and all(row["found"] == row["expected"] for row in checks)
