"""Builds in the workspace."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ibench_lib.errors import BuildNotFound, NameRefused
from ibench_lib.paths import Workspace
from ibench_lib.servers import on_this_machine, registry
from ibench_lib.servers.build import Build
from ibench_lib.servers.find import find_build, labels
from ibench_lib.servers.registry import ROOT
from tests.servers.builds import unpack


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
    with pytest.raises(BuildNotFound, match="already exists"):
        on_this_machine.register("ps-8.0.33", basedir, workspace)
    with pytest.raises(BuildNotFound, match="has no mariadbd or mysqld"):
        on_this_machine.register("empty", tmp_path, workspace)
    with pytest.raises(NameRefused):
        on_this_machine.register("../x", basedir, workspace)
    registry.remove("ps-8.0.33", workspace)
    assert labels(workspace) == [] and binary.is_file()
    with pytest.raises(BuildNotFound, match=r"no build ps-8\.0\.33"):
        registry.remove("ps-8.0.33", workspace)
