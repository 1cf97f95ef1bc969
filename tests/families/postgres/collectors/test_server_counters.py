"""What a real server counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibench_lib.families.postgres.collectors.server_counters import _FIGURES, ServerCounters, _first_sum, _io_numbers
from ibench_lib.server_figures import FIGURES
from ibench_lib.servers.sandbox import Sandbox
from tests.capture.scenes import Sink, clock, scene
from tests.families.postgres.boxes import connected
from tests.waiting import until


@pytest.mark.slow
def test_rows_and_log_are_counted_and_what_it_lacks_is_null_with_a_reason(shared_box: Sandbox, tmp_path: Path) -> None:
    sink = Sink()
    watched = scene(
        tmp_path, shared_box.address.arguments(), family="postgres", database="postgres", pid=shared_box.pid
    )
    collector = ServerCounters(watched, sink)
    collector.open()
    collector.sample(0, clock(watched))
    connection = connected(shared_box)
    connection.query("CREATE TABLE counted AS SELECT generate_series(1, 5000) a")
    connection.query("DELETE FROM counted WHERE a <= 1000")
    connection.close()
    first = sink["server_samples"][0]

    def counted() -> bool:
        collector.sample(len(sink["server_samples"]), clock(watched))
        return bool(sink["server_samples"][-1]["rows_deleted"] - first["rows_deleted"] >= 1000)

    until(counted, "the statistics have the rows")
    last = sink["server_samples"][-1]
    assert last["rows_inserted"] - first["rows_inserted"] >= 5000
    assert last["redo_lsn_bytes"] - first["redo_lsn_bytes"] > 100_000
    assert last["pages"] * 8192 == 24 << 20
    names = {row["name"] for row in sink["server_counters"]}
    assert {"tables.dead_rows", "pg_stat_database.xact_commit", "pg_stat_wal.wal_bytes", "now.vacuum_workers"} <= names
    assert any(name.startswith("pg_stat_bgwriter.") for name in names)
    (columns,) = [columns for table, columns in collector.counters(clock(watched), starts=True)]
    assert columns["rows_deleted"] >= last["rows_deleted"]
    assert {"now.wal_files", "now.wal_files_bytes", "now.checkpoints_under_way", "now.vacuums_under_way"} <= names
    for figure in FIGURES:
        assert (last[figure.column] is None) == (f"server_samples.{figure.column}" in collector.null_reasons)
    collector.close()


@pytest.mark.slow
def test_pages_and_fsyncs_of_the_log_are_counted_where_the_version_counts_them(
    shared_box: Sandbox, tmp_path: Path
) -> None:
    sink = Sink()
    watched = scene(tmp_path, shared_box.address.arguments(), family="postgres", database="postgres")
    collector = ServerCounters(watched, sink)
    collector.sample(0, clock(watched))
    connection = connected(shared_box)

    def counted() -> bool:
        connection.query("DROP TABLE IF EXISTS pages")
        connection.query("CREATE TABLE pages AS SELECT generate_series(1, 5000) a")
        connection.query("CHECKPOINT")
        collector.sample(len(sink["server_samples"]), clock(watched))
        first, last = sink["server_samples"][0], sink["server_samples"][-1]
        return bool(last["pages_written"] > first["pages_written"] and last["redo_fsyncs"] >= first["redo_fsyncs"])

    until(counted, "the checkpoint has written pages")
    connection.close()
    collector.close()


def test_columns_that_have_moved_are_found_where_they_are() -> None:
    before_17 = {f"pg_stat_bgwriter.buffers_{name}": 10**n for n, name in enumerate(["checkpoint", "clean", "backend"])}
    since_18 = {"pg_stat_bgwriter.buffers_clean": 5, "sums.pages_written": 11, "sums.redo_fsyncs": 100}
    figures = [
        {column: _first_sum(values, _FIGURES[column]) for column in ("pages_written", "redo_fsyncs")}
        for values in ({**before_17, "pg_stat_wal.wal_sync": 7}, since_18, {})
    ]
    assert figures[0] == {"pages_written": 111, "redo_fsyncs": 7}
    assert figures[1] == {"pages_written": 11, "redo_fsyncs": 100}
    assert figures[2] == {"pages_written": None, "redo_fsyncs": None}


def test_a_kind_of_process_that_has_done_no_io_has_no_values() -> None:
    row = {"backend_type": "client backend", "object": "relation", "context": "normal", "op_bytes": 8192, "reads": 0}
    assert _io_numbers(row) == {} and _io_numbers({**row, "reads": None}) == {}
    assert _io_numbers({**row, "hits": 3}) == {
        "pg_stat_io.client_backend.relation.normal.reads": 0,
        "pg_stat_io.client_backend.relation.normal.hits": 3,
    }


@pytest.mark.slow
def test_who_may_not_list_the_log_has_all_else(shared_box: Sandbox, tmp_path: Path) -> None:
    connection = connected(shared_box)
    connection.query("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN PASSWORD 'guest'")
    connection.close()
    sink = Sink()
    address = {**shared_box.address.arguments(), "user": "guest", "password": "guest"}
    watched = scene(tmp_path, address, family="postgres", database="postgres")
    collector = ServerCounters(watched, sink)
    collector.sample(0, clock(watched))
    collector.sample(1, clock(watched))
    assert len(sink["server_samples"]) == 2
    assert "pg_ls_waldir" in collector.null_reasons["server_counters.now.wal_files"]
    collector.close()


def test_a_server_that_does_not_answer_is_a_missed_sample(tmp_path: Path) -> None:
    watched = scene(tmp_path, family="postgres")
    collector = ServerCounters(watched, Sink())
    with pytest.raises(RuntimeError, match="no connection"):
        collector.sample(0, clock(watched))
    collector.close()
