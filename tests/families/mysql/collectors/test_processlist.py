"""The process list."""

import threading
from pathlib import Path

import pymysql

from ibench_lib.families.mysql.collectors.processlist import Processlist
from ibench_lib.families.mysql.connection import rows
from tests.capture.scenes import Booted, Sink, clock, scene
from tests.waiting import until


def test_the_process_list_has_the_others_and_their_statements_cut(running: Booted, tmp_path: Path) -> None:
    address = running.address.arguments()
    sink, watched = Sink(), scene(tmp_path, address)
    collector = Processlist(watched, sink)
    long = "SELECT SLEEP(2), '" + "x" * 3000 + "'"
    other = pymysql.connect(**address)
    busy = threading.Thread(target=lambda: rows(other, long))

    def working() -> list[str]:
        sink.rows.clear()
        collector.sample(20, clock(watched))
        queries = [row["info"] for row in sink["processlist"] if row["command"] == "Query"]
        # A new connection may still be at work on a statement of its client library.
        return [info for info in queries if info.startswith("SELECT SLEEP")]

    busy.start()
    until(working, "the statement is at work")
    busy.join()
    assert [row["info"] for row in sink["processlist"] if row["command"] == "Query"] == [long[:1000]]
    assert collector._link.id() not in {row["id"] for row in sink["processlist"]}
    assert "processlist" not in collector.null_reasons
    collector.close()
    other.close()
