"""Fixtures for the tests of this folder."""

import pytest

from ibench_lib.configs.meaning import KnownOptions
from tests.run.snapshot.settings import DEFAULTS, NAMES


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ibench_lib.run.snapshot.key.known_options", lambda _build: KnownOptions(NAMES, DEFAULTS))
