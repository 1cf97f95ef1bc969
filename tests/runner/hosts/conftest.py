"""Fixtures for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner.hosts.lab import Lab


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of one for all tests: its workers are another's each time."""
    lab = Lab(tmp_path_factory.mktemp("scheduler") / "lab")
    yield lab.address
    lab.close()


@pytest.fixture
def lab(tmp_path: Path, scheduler: str) -> Iterator[Lab]:
    lab = Lab(tmp_path / "lab", scheduler)
    yield lab
    lab.close()
