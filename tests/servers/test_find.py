import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ibench_lib.errors import BuildNotFound, NameRefused, ServerStartError
from ibench_lib.paths import Workspace
from ibench_lib.servers import on_this_machine, registry
from ibench_lib.servers.build import Build
from ibench_lib.servers.find import find_build, labels
from ibench_lib.servers.registry import ROOT


def unpack(
    workspace: Workspace, fake_server: Callable[..., Path], label: str, version: str, source: str = "test"
) -> None:
    """What a source of builds does: unpack, describe, adopt."""
    with registry.arriving(workspace) as root:
        fake_server(root / "usr" / "sbin" / "mysqld", version)
        registry.describe(
            root,
            basedir=f"{ROOT}/usr",
            command=[f"{ROOT}/usr/sbin/mysqld"],
            source=source,
            environment={"LD_LIBRARY_PATH": f"{ROOT}/lib:{ROOT}/usr/lib"},
        )
        assert registry.labels(workspace) == [] or label not in registry.labels(workspace)
        registry.adopt(root, label, workspace)
    assert not root.exists()


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


def test_an_unpacked_build_is_found_where_the_project_has_been_moved_to(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], tmp_path: Path
) -> None:
    old, new = Workspace(tmp_path / "old"), Workspace(tmp_path / "new")
    unpack(old, fake_server, "mysql-8.4.1", "8.4.1")
    old.root.rename(new.root)
    build = find_build("mysql-8.4.1", new)
    assert isinstance(build, Build)
    root = new.build_dir("mysql-8.4.1")
    assert build.basedir == root / "usr"
    assert build.command == (str(root / "usr/sbin/mysqld"),)
    assert build.environment == {"LD_LIBRARY_PATH": f"{root}/lib:{root}/usr/lib"}


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
    with pytest.raises(BuildNotFound, match=r"mysql-8\.4\.2; there is system, mysql-8\.4\.1") as caught:
        find_build("mysql-8.4.2", workspace)
    assert "did you mean mysql-8.4.1?" in (caught.value.hint or "")
    assert caught.value.exit_code == 2
    with pytest.raises(BuildNotFound, match=r"no server build is called mariadb-11\.4\.5") as caught:
        find_build("mariadb-11.4.5", workspace)
    assert caught.value.hint == "install it: ibench servers install mariadb-11.4.5"
    with pytest.raises(NameRefused):
        find_build("../mysql-8.4.1", workspace)


def test_what_has_not_wholly_arrived_is_no_build(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], workspace: Workspace
) -> None:
    arriving = registry.arriving(workspace)
    root = arriving.__enter__()  # and never left: the process was killed
    fake_server(root / "usr" / "sbin" / "mysqld")
    registry.describe(root, basedir=ROOT, command=[f"{ROOT}/usr/sbin/mysqld"], source="test", environment={})
    (workspace.builds / "something-else").mkdir()
    assert labels(workspace) == []
    with pytest.raises(BuildNotFound):
        find_build("system", workspace)


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


def test_a_basedir_of_the_users_own_is_registered_and_never_deleted(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], workspace: Workspace, tmp_path: Path
) -> None:
    basedir = tmp_path / "percona"
    binary = fake_server(basedir / "bin" / "mysqld", "8.0.33-25 for Linux on x86_64 (Percona Server (GPL), Release 25)")
    (basedir / "share" / "english").mkdir(parents=True)
    (basedir / "share" / "english" / "errmsg.sys").touch()
    build = on_this_machine.register("ps-8.0.33", basedir, workspace)
    assert find_build("ps-8.0.33", workspace) == build
    assert (build.flavour, build.version, build.basedir) == ("percona", "8.0.33-25", basedir)
    assert build.options == (f"--lc-messages-dir={basedir}/share",)
    with pytest.raises(BuildNotFound, match="there already"):
        on_this_machine.register("ps-8.0.33", basedir, workspace)
    with pytest.raises(BuildNotFound, match="has no mariadbd or mysqld"):
        on_this_machine.register("empty", tmp_path, workspace)
    with pytest.raises(NameRefused):
        on_this_machine.register("../x", basedir, workspace)
    registry.remove("ps-8.0.33", workspace)
    assert labels(workspace) == [] and binary.is_file()
    with pytest.raises(BuildNotFound, match=r"no build ps-8\.0\.33"):
        registry.remove("ps-8.0.33", workspace)
