"""Fixtures for the tests of this folder."""

import psutil
import pytest

from tests.fakes.sweep import use_fake_builds
from tests.runner.cells import OTHERS


@pytest.fixture
def fake_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    use_fake_builds(monkeypatch.setattr)


@pytest.fixture(autouse=True)
def others() -> None:
    """Notes the processes that are no test's of this folder."""
    OTHERS.clear()
    OTHERS.update(child.pid for child in psutil.Process().children(recursive=True))
