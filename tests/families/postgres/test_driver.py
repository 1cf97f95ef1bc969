"""The driver on a real server: text and prepared do the same, errors have their SQLSTATE, a lost server is lost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from datetime import datetime

import numpy as np
import pytest

from ibench_lib.client.driver import DEADLOCK, ConnectionLost, StatementError, connect, each
from ibench_lib.families.postgres.driver import Connection
from ibench_lib.servers.sandbox import Sandbox
from tests.families.postgres.boxes import connected

pytestmark = pytest.mark.slow


@pytest.fixture
def connection(shared_box: Sandbox) -> Iterator[Connection]:
    found = connected(shared_box)
    found.query("DROP TABLE IF EXISTS t")
    found.query("CREATE TABLE t (d timestamp, a int, b int, s varchar(20), PRIMARY KEY (a))")
    yield found
    found.close()


def test_a_flavour_names_it(shared_box: Sandbox) -> None:
    found = connect("ibench_lib.families.postgres.driver", shared_box.address.arguments(), None, 5.0)
    assert found.family == "postgres" and found.scalar("SELECT NULL") is None
    with pytest.raises(StatementError, match="no row in answer"):
        found.text("SELECT 1 WHERE false")
    found.close()


def test_prepared_rows_are_those_of_the_text(connection: Connection) -> None:
    strings = [b"aa\0\0", b"aaaaa\0\0"]
    insert = connection.prepared_rows("INSERT INTO t (d,a,b,s) VALUES ", 10, 2, strings)
    random = np.random.default_rng(3)
    letters = np.zeros((40, 9), dtype=np.uint8)
    letters[:, -2:] = random.integers(65, 90, (40, 2))
    numbers, sizes = np.arange(40), random.integers(0, 2, 40)
    commands = insert.commands(datetime(2023, 1, 1, 0, 0, 9), [numbers, numbers * 2], sizes, letters)
    assert [connection.execute(command) for command in commands] == [10] * 4
    rows = connection.fetch(connection.command(b"SELECT d, a, b, s FROM t ORDER BY a"))
    for n, (moment, a, b, s) in enumerate(rows):
        text = strings[sizes[n]][:-2] + letters[n, -2:].tobytes()
        assert (moment, a, b, s) == (b"2023-01-01 00:00:09", b"%d" % n, b"%d" % (2 * n), text)


def test_prepared_queries_find_what_texts_find(connection: Connection) -> None:
    connection.query("INSERT INTO t SELECT now(), n, n * n, n::text FROM generate_series(1, 50) n")
    text = "SELECT a, s FROM t WHERE a >= %d AND b < %i ORDER BY a LIMIT 3"
    values = np.array([[5, 400], [1, 2], [60, 9]])
    for one, other in zip(
        each(connection.prepared(text), values), each(connection.command(text.encode()), values), strict=True
    ):
        assert connection.fetch(one) == connection.fetch(other)
        assert connection.execute(one) == connection.execute(other)
    named = connection.prepared("DELETE FROM t WHERE s = '%b' AND b = %b")
    assert connection.execute(named % (b"7", b"49")) == 1
    assert connection.execute_several(connection.command(b"DELETE FROM t WHERE a < 3; DELETE FROM t WHERE a < 5")) == 4


def test_a_deadlock_may_be_repeated_and_the_connection_goes_on(shared_box: Sandbox, connection: Connection) -> None:
    other = connected(shared_box)
    connection.query("INSERT INTO t (a) VALUES (1), (2)")
    for each_one, key in ((connection, 1), (other, 2)):
        each_one.query("SET deadlock_timeout = '10ms'")
        each_one.query("BEGIN")
        each_one.query(f"UPDATE t SET b = 1 WHERE a = {key}")
    outcomes: list[StatementError] = []

    def cross(one: Connection, key: int) -> None:
        try:
            one.query(f"UPDATE t SET b = 2 WHERE a = {key}")
        except StatementError as error:
            outcomes.append(error)
        one.execute(one.rollback)

    threads = [threading.Thread(target=cross, args=pair) for pair in ((connection, 2), (other, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [(error.code, error.retry_reason) for error in outcomes] == [("40P01", DEADLOCK)]
    with pytest.raises(StatementError, match="23505"):
        connection.query("INSERT INTO t (a) VALUES (1)")
    assert connection.scalar("SELECT count(*) FROM t") == 2
    other.close()


def test_an_ended_or_silent_backend_is_lost(shared_box: Sandbox, connection: Connection) -> None:
    other = connected(shared_box)
    connection.query(f"SELECT pg_terminate_backend({other.id})")
    with pytest.raises(ConnectionLost, match=r"57P01|closed the connection|broke"):
        other.query("SELECT 1")
    silent = Connection(shared_box.address.arguments(), None, 0.2)
    assert silent.id is not None
    os.kill(silent.id, signal.SIGSTOP)
    try:
        with pytest.raises(ConnectionLost, match=r"silent for 0\.2 s"):
            silent.query("SELECT 1")
    finally:
        os.kill(silent.id, signal.SIGCONT)
    silent.close()
