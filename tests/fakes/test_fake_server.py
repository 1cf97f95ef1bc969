"""The fake server answers real clients as a server does, and when its script says."""

from __future__ import annotations

import time

import pymysql
import pytest

from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.wire import COM_STMT_EXECUTE, ConnectionLost, StatementError
from tests.fakes.counter import Counter, Stall
from tests.fakes.server import FakeServer, Script
from tests.waiting import PATIENCE_S

MS = 1_000_000


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("deprecate_eof", [False, True])
def test_clients_log_in_ask_and_leave(tcp: bool, deprecate_eof: bool) -> None:
    with FakeServer(Script(rows=3, tcp=tcp, deprecate_eof=deprecate_eof)) as server:
        with pymysql.connect(**server.address) as connection, connection.cursor() as cursor:
            assert cursor.execute("SELECT v FROM t") == 3
            assert cursor.fetchall() == ((7,),) * 3
            assert cursor.execute("DELETE FROM t") == 3
            connection.ping(reconnect=False)
        fast = Connection(server.address, "t", timeout_s=PATIENCE_S)
        assert fast.query("SELECT v FROM t") == 3
        assert fast.scalar("SELECT v FROM t") == 7
        statement = fast.prepare("SELECT v FROM t WHERE v >= ?")
        command = COM_STMT_EXECUTE + statement + b"\0" + (1).to_bytes(4, "little") + b"\0\x01\x08\0" + bytes(8)
        assert fast.execute(command) == 3
        fast.close()
        report = server.report()
    assert (report["connections"], report["statements"]) == (2, 5)
    assert report["texts"][:2] == ["SELECT v FROM t", "DELETE FROM t"]


def test_the_script_goes_wrong_where_it_says() -> None:
    with FakeServer(Script(faults={2: "error 1205", 4: "killed 1927"})) as server:
        connection = Connection(server.address, None, timeout_s=PATIENCE_S)
        assert connection.query("DELETE FROM t") == 1
        with pytest.raises(StatementError, match="1205"):
            connection.query("DELETE FROM t")
        assert connection.query("DELETE FROM t") == 1
        with pytest.raises(StatementError, match="1927"):
            connection.query("DELETE FROM t")
        with pytest.raises(ConnectionLost):
            connection.query("DELETE FROM t")


@pytest.mark.timing
def test_statements_take_their_time_and_never_less() -> None:
    with FakeServer(Script(service_ms=5.0)) as server:
        connection = Connection(server.address, None, timeout_s=PATIENCE_S)
        took = []
        for _ in range(50):
            time.sleep(0.005)  # or it would count as having waited
            begin = time.monotonic()
            connection.query("DELETE FROM t")
            took.append((time.monotonic() - begin) * 1e3)
    # A busy machine makes statements take longer, but hardly all of them.
    assert 5.0 <= min(took) < 6.0


def test_a_counter_serves_one_after_another_and_stops_while_it_is_stalled() -> None:
    counter = Counter(MS, Stall(100 * MS, 30 * MS, 50 * MS), epoch_ns=0)
    assert counter.answer_at(10 * MS) == 11 * MS
    assert counter.answer_at(10 * MS) == 12 * MS, "it waits for the one before"
    assert counter.answer_at(12 * MS + 400_000) == 13 * MS, "a quick client's next statement counts as waiting"
    assert counter.answer_at(14 * MS) == 15 * MS
    assert counter.answer_at(29 * MS + 600_000) == 50 * MS + 600_000, "the rest of the work comes after the stall"
    assert counter.answer_at(140 * MS) == 151 * MS, "an arrival in the next stall waits for its end"
