import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ibench_lib.errors import BuildNotFound, NameRefused, ServerStartError
from ibench_lib.paths import Workspace
from ibench_lib.servers import registry
from ibench_lib.servers.build import Build
from ibench_lib.servers.find import find_build, labels
from tests.servers.builds import unpack


def test_system_is_the_machines_own_server_before_the_distributions_unpacked_one(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], workspace: Workspace, tmp_path: Path
) -> None:
    with pytest.raises(BuildNotFound) as caught:
        find_build("system", workspace)
    assert "ibench servers install" in (caught.value.hint or "")
    assert labels(workspace) == []

    unpack(workspace, fake_server, "mysql-8.4.1", "8.4.1")
    with pytest.raises(BuildNotFound):
        find_build("system", workspace)  # one build among others, chosen by nobody

    unpack(workspace, fake_server, "mariadb-10.11", "10.11.19-MariaDB", source="apt")
    build = find_build("system", workspace)
    assert (build.label, build.version, build.source) == ("system", "10.11.19-MariaDB", "apt")
    assert labels(workspace) == ["mariadb-10.11", "mysql-8.4.1"]

    bare_machine.setenv("PATH", str(fake_server(tmp_path / "own" / "bin" / "mysqld", "9.7.0").parent))
    assert find_build("system", workspace).version == "9.7.0"
    assert labels(workspace) == ["system", "mariadb-10.11", "mysql-8.4.1"]


def test_a_build_that_another_project_has_unpacked_can_be_named(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], tmp_path: Path
) -> None:
    other = Workspace(tmp_path / "other")
    unpack(other, fake_server, "mysql-8.4.1", "8.4.1")
    bare_machine.setenv("IBENCH_BASEDIR", str(other.build_dir("mysql-8.4.1")))
    build, there = find_build("system", Workspace(tmp_path / "this")), find_build("mysql-8.4.1", other)
    assert isinstance(build, Build) and isinstance(there, Build)
    assert build.command == there.command
    assert build.environment == there.environment


def test_an_unknown_label_names_the_builds_there_are_and_the_near_one(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], workspace: Workspace
) -> None:
    unpack(workspace, fake_server, "mysql-8.4.1", "8.4.1")
    with pytest.raises(BuildNotFound, match=r"mysql-8\.4\.2; available are system, mysql-8\.4\.1") as caught:
        find_build("mysql-8.4.2", workspace)
    assert "did you mean mysql-8.4.1?" in (caught.value.hint or "")
    assert caught.value.exit_code == 2
    with pytest.raises(BuildNotFound, match=r"no server build is called mariadb-11\.4\.5") as caught:
        find_build("mariadb-11.4.5", workspace)
    assert caught.value.hint == "install it: ibench servers install mariadb-11.4.5"
    with pytest.raises(NameRefused):
        find_build("../mysql-8.4.1", workspace)


def test_a_broken_build_is_named_when_it_is_asked_for_and_hides_no_other(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], workspace: Workspace
) -> None:
    unpack(workspace, fake_server, "good", "8.4.1")
    unpack(workspace, fake_server, "gone", "8.4.1")
    shutil.rmtree(workspace.build_dir("gone") / "usr")
    assert labels(workspace) == ["gone", "good"]
    with pytest.raises(ServerStartError, match="build gone"):
        find_build("gone", workspace)
    (workspace.build_dir("gone") / registry.DESCRIPTION).write_text('{"basedir": 1')
    with pytest.raises(BuildNotFound, match="build gone") as caught:
        find_build("gone", workspace)
    assert "ibench servers remove gone" in (caught.value.hint or "")
    assert find_build("good", workspace).version == "8.4.1"
    registry.remove("gone", workspace)
    assert [entry.name for entry in workspace.builds.iterdir()] == ["good"]
