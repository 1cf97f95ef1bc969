"""What a real server counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibench_lib.families.postgres.collectors.server_counters import ServerCounters
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
    for figure in FIGURES:
        assert (last[figure.column] is None) == (f"server_samples.{figure.column}" in collector.null_reasons)
    collector.close()


def test_a_server_that_does_not_answer_is_a_missed_sample(tmp_path: Path) -> None:
    watched = scene(tmp_path, family="postgres")
    collector = ServerCounters(watched, Sink())
    with pytest.raises(RuntimeError, match="no connection"):
        collector.sample(0, clock(watched))
    collector.close()
