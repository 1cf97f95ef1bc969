"""The report of SHOW ENGINE INNODB STATUS."""

from pathlib import Path

from ibench_lib.capture import secrets
from ibench_lib.families.mysql.collectors.innodb_status import InnodbStatus
from tests.capture.scenes import Booted, Sink, clock, scene


def test_a_report_loses_such_a_statement_to_its_last_line_and_nothing_else() -> None:
    text = "A\n---TRANSACTION 1\nSET PASSWORD\n= 'secret'\n---TRANSACTION 2\nSELECT 1\n-----\nEND"
    expected = f"A\n---TRANSACTION 1\n{secrets.NOT_KEPT}\n---TRANSACTION 2\nSELECT 1\n-----\nEND"
    assert secrets.report(text) == expected
    assert secrets.report("A\nB") == "A\nB"


def test_the_status_of_innodb_is_kept_as_it_is(running: Booted, tmp_path: Path) -> None:
    sink, watched = Sink(), scene(tmp_path, running.address.arguments())
    collector = InnodbStatus(watched, sink)
    collector.open()
    collector.sample(30, clock(watched))
    collector.close()
    (row,) = sink["innodb_status"]
    assert row["tick"] == 30 and "\nLOG\n" in row["text"] and "END OF INNODB MONITOR OUTPUT" in row["text"]
