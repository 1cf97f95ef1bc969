from collections.abc import Callable
from pathlib import Path

import pytest

FakeServer = Callable[..., Path]


@pytest.fixture
def fake_server() -> FakeServer:
    """Writes a program that answers `--version` like a server of the family does."""

    def write(path: Path, version: str = "8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)") -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "$0  Ver {version}"\n')
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No server on PATH, none in the system's folders, none named."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("IBENCH_BASEDIR", raising=False)
    monkeypatch.setattr("ibench_lib.servers.on_this_machine._SYSTEM_FOLDERS", ())
    return monkeypatch
