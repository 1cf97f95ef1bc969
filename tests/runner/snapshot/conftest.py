"""Fixtures for the tests of this folder."""

import pytest

from ibench_lib.configs.meaning import KnownOptions
from tests.runner.snapshot.settings import DEFAULTS, NAMES


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ibench_lib.runner.snapshot.key.known_options", lambda _build: KnownOptions(NAMES, DEFAULTS))
