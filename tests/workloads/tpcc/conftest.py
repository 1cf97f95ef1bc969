from collections.abc import Iterator

import pytest

from ibench_lib.servers.build import Build
from tests.workloads.tpcc.warehouse import DATABASE, Warehouse, opened, options, setup


@pytest.fixture(scope="session")
def warehouse(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """One loaded warehouse for all tests, one after another: each leaves it consistent, with its ledger."""
    box = opened(build, tmp_path_factory.mktemp("warehouse"))
    with box as address:
        made = Warehouse(box, address)
        made.rows = made.fill(DATABASE, options(clients=1), setup())
        made.sums = made.checksums()
        made.index(options(clients=1), setup())
        yield made
