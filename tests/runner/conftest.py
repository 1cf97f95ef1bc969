"""Fixtures for the tests of this folder."""

import pytest

from tests.fakes.sweep import use_fake_builds


@pytest.fixture
def fake_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    use_fake_builds(monkeypatch.setattr)
