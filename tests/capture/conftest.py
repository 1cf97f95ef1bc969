from collections.abc import Iterator
from pathlib import Path

import pytest

from ibench_lib.servers.build import Build
from tests.capture.scenes import Booted


@pytest.fixture
def booted(build: Build, tmp_path: Path) -> Iterator[Booted]:
    server = Booted(build, tmp_path)
    try:
        yield server
    finally:
        server.box.close()
