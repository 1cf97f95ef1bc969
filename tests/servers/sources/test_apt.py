"""MariaDB without root: really downloaded, unpacked and started."""

import json
from pathlib import Path

import pymysql
import pytest

from ibench_lib.base import debian
from ibench_lib.errors import IbenchError
from ibench_lib.paths import Workspace
from ibench_lib.servers import registry
from ibench_lib.servers.find import find_build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.servers.sources.apt import install_mariadb, unpacked_build

needs_apt = pytest.mark.skipif(not debian.has_apt(), reason="not Debian or Ubuntu")


@pytest.mark.registries
@needs_apt
def test_mariadb_unpacked_without_root_starts_and_is_not_fetched_twice(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "privilege", lambda: None)
    build = install_mariadb(workspace)
    root = workspace.build_dir(build.label)
    assert build.label == "mariadb-" + ".".join(map(str, build.release[:2]))
    described = json.loads((root / registry.DESCRIPTION).read_text())
    assert {name.split("_")[0] for name in described["files"]} >= {"mariadb-server-core", "mariadb-client-core"}
    assert all(len(digest) == 64 for digest in described["files"].values())
    assert build.command == (f"{root}/usr/sbin/mariadbd",)
    assert [entry.name for entry in workspace.builds.iterdir()] == [build.label]
    assert find_build(build.label, workspace) == build

    my_cnf = tmp_path / "my.cnf"
    my_cnf.write_text("[mysqld]\ninnodb_buffer_pool_size=24M\n")
    with (
        Sandbox(build, tmp_path / "sandbox", my_cnf, tmp_path / "server.log") as address,
        pymysql.connect(unix_socket=address.socket, user=address.user, password=address.password) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT version(), @@basedir")
        version, basedir = cursor.fetchone() or ("", "")
    assert (version, Path(basedir)) == (build.version, root / "usr")

    monkeypatch.setattr(debian, "unpack", None)  # calling it now would raise
    assert install_mariadb(workspace) == unpacked_build(workspace) == build


@pytest.mark.slow
@needs_apt
@pytest.mark.long
def test_a_download_that_fails_leaves_nothing(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "privilege", lambda: None)
    monkeypatch.setattr("ibench_lib.servers.sources.apt.PACKAGES", ("no-such-package-anywhere",))
    with pytest.raises(IbenchError, match="no-such-package-anywhere") as caught:
        install_mariadb(workspace)
    assert "no-such-package-anywhere" in (caught.value.detail or "")
    assert list(workspace.builds.iterdir()) == []


def test_a_machine_without_apt_is_told_what_to_do(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ibench_lib.base.debian._PATH", "/nonexistent")
    with pytest.raises(IbenchError) as caught:
        install_mariadb(workspace)
    assert "IBENCH_BASEDIR" in (caught.value.hint or "")
