"""A connection whose server falls silent, while PyMySQL asks."""

import pytest

from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.wire import ConnectionLost
from tests.fakes.server import FakeServer, Script
from tests.waiting import PATIENCE_S


@pytest.mark.parametrize("asked", ["scalar", "text", "query"])
@pytest.mark.fault("F10")
def test_a_silent_server_is_a_lost_connection_whatever_is_asked(asked: str) -> None:
    with FakeServer(Script(service_ms=PATIENCE_S * 1e3)) as server:
        connection = Connection(server.address, None, timeout_s=2.0)
        with pytest.raises(ConnectionLost):
            getattr(connection, asked)("SELECT v FROM t")
        connection.close()


def test_the_wire_goes_on_after_pymysql_has_asked() -> None:
    with FakeServer(Script(rows=3)) as server:
        connection = Connection(server.address, None, timeout_s=PATIENCE_S)
        for _ in range(3):
            assert connection.query("SELECT v FROM t") == 3
            assert connection.scalar("SELECT v FROM t") == 7
        connection.close()
