import functools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ibench_lib.base import debian

FakeServer = Callable[..., Path]


@pytest.fixture(scope="session", autouse=True)
def apt_is_asked_once() -> Iterator[None]:
    """Each answer of its takes a second of CPU."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("candidate_version", "_debian_archive"):
            patch.setattr(debian, name, functools.cache(getattr(debian, name)))
        yield


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


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PATH for clients of one's own, before the machine's."""
    folder = tmp_path / "clients"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder
