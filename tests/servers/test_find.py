import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ibench_lib.errors import BuildNotFound, NameRefused, ServerStartError
from ibench_lib.paths import Workspace
from ibench_lib.servers import registry
from ibench_lib.servers.find import all_builds, find_build
from ibench_lib.servers.registry import ROOT


def unpack(workspace: Workspace, fake_server: Callable[..., Path], label: str, version: str) -> None:
    """What an adapter does: unpack, describe, adopt."""
    with registry.arriving(workspace) as root:
        fake_server(root / "usr" / "sbin" / "mysqld", version)
        registry.describe(
            root,
            basedir=f"{ROOT}/usr",
            command=[f"{ROOT}/usr/sbin/mysqld"],
            source="test",
            environment={"LD_LIBRARY_PATH": f"{ROOT}/lib:{ROOT}/usr/lib"},
        )
        assert registry.labels(workspace) == [] or label not in registry.labels(workspace)
        registry.adopt(root, label, workspace)
    assert not root.exists()


def test_system_is_the_machines_own_server_before_an_unpacked_one(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], workspace: Workspace, tmp_path: Path
) -> None:
    with pytest.raises(BuildNotFound) as caught:
        find_build("system", workspace)
    assert "ibench servers install" in (caught.value.hint or "")
    assert all_builds(workspace) == []

    unpack(workspace, fake_server, "mysql-8.4.1", "8.4.1")
    build = find_build("system", workspace)
    assert (build.label, build.version, build.source) == ("system", "8.4.1", "test")
    assert [build.label for build in all_builds(workspace)] == ["mysql-8.4.1"]

    bare_machine.setenv("PATH", str(fake_server(tmp_path / "own" / "bin" / "mysqld", "9.7.0").parent))
    assert find_build("system", workspace).version == "9.7.0"
    assert [(build.label, build.version) for build in all_builds(workspace)] == [
        ("system", "9.7.0"),
        ("mysql-8.4.1", "8.4.1"),
    ]


def test_an_unpacked_build_is_found_where_the_project_has_been_moved_to(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], tmp_path: Path
) -> None:
    old, new = Workspace(tmp_path / "old"), Workspace(tmp_path / "new")
    unpack(old, fake_server, "mysql-8.4.1", "8.4.1")
    old.root.rename(new.root)
    build = find_build("mysql-8.4.1", new)
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
    build = find_build("system", Workspace(tmp_path / "this"))
    assert build.command == find_build("mysql-8.4.1", other).command
    assert build.environment == find_build("mysql-8.4.1", other).environment


def test_an_unknown_label_names_the_builds_there_are_and_the_near_one(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], workspace: Workspace
) -> None:
    unpack(workspace, fake_server, "mysql-8.4.1", "8.4.1")
    with pytest.raises(BuildNotFound, match=r"mysql-8\.4\.2; there is system, mysql-8\.4\.1") as caught:
        find_build("mysql-8.4.2", workspace)
    assert "did you mean mysql-8.4.1?" in (caught.value.hint or "")
    assert caught.value.exit_code == 2
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
    assert all_builds(workspace) == []
    with pytest.raises(BuildNotFound):
        find_build("system", workspace)


def test_a_broken_unpacked_build_is_named_and_never_left_out(
    bare_machine: pytest.MonkeyPatch, fake_server: Callable[..., Path], workspace: Workspace
) -> None:
    unpack(workspace, fake_server, "good", "8.4.1")
    unpack(workspace, fake_server, "gone", "8.4.1")
    shutil.rmtree(workspace.build_dir("gone") / "usr")
    with pytest.raises(ServerStartError, match="build gone"):
        all_builds(workspace)
    (workspace.build_dir("gone") / registry.DESCRIPTION).write_text('{"basedir": 1')
    with pytest.raises(BuildNotFound, match="build gone"):
        find_build("gone", workspace)
    assert find_build("good", workspace).version == "8.4.1"
