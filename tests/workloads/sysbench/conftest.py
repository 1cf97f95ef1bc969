"""What the tests of sysbench share."""

from collections.abc import Iterator

import pytest

from ibench_lib.client.mysql.connection import Connection
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from tests.waiting import PATIENCE_S
from tests.workloads.sysbench.place import Place


@pytest.fixture(scope="module")
def place(sysbench: str, build: Build, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("sysbench")
    (folder / "my.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=64M\nskip_log_bin\n")
    box = Sandbox(build, folder / "box", folder / "my.cnf", folder / "log")
    with box as address:
        connection = Connection(address.arguments(), None, PATIENCE_S)
        connection.query("CREATE DATABASE b")
        connection.query("USE b")
        place = Place(box, address.arguments(), connection)
        driven, rows = place.drive(0)
        assert (driven.error, driven.seconds.ops, rows) == (None, 1000, [])
        assert [connection.scalar(f"SELECT COUNT(*) FROM sbtest{number}") for number in (1, 2)] == [500, 500]
        yield place
        connection.close()
