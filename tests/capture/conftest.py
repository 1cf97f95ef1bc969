from collections.abc import Iterator
from pathlib import Path

import pytest

from ibench_lib.families.mysql.connection import connect, rows
from ibench_lib.servers.build import Build
from tests.capture.scenes import Booted


@pytest.fixture
def booted(build: Build, tmp_path: Path) -> Iterator[Booted]:
    """A server of the test's own, to be killed, stopped, or seen from its beginning."""
    server = Booted(build, tmp_path)
    try:
        yield server
    finally:
        server.box.close()


@pytest.fixture(scope="session")
def one_server(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Booted]:
    server = Booted(build, tmp_path_factory.mktemp("one-server"))
    try:
        yield server
    finally:
        server.box.close()


@pytest.fixture
def running(one_server: Booted) -> Iterator[Booted]:
    """A server that many tests use, one after another. What a test made in it is removed."""
    yield one_server
    with connect(one_server.address.arguments()) as connection:
        rows(connection, "DROP DATABASE IF EXISTS d")
        for user in ("low", "boss"):
            rows(connection, f"DROP USER IF EXISTS {user}@localhost")
