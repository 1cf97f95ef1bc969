"""What a run asks of its build, here or elsewhere; how runs use it is in test_cell.py and servers/test_remote.py."""

from pathlib import Path

import pytest

from ibench_lib.configs.resolve import ServerConfig
from ibench_lib.errors import RunFailed
from ibench_lib.paths import Workspace
from ibench_lib.runner.server import ask, has_died, mask_for, open_server
from ibench_lib.servers.build import Build
from ibench_lib.servers.flavours.flavour import flavour_of
from ibench_lib.servers.remote import Access, Remote
from ibench_lib.servers.server import AnyBuild, Server

HERE = Build("here", "mariadb", "10.11.19-MariaDB", Path("/opt/db"), ("/opt/db/bin/mariadbd",), "test")
CLEAR = Remote("far", "mysql", "8.0.36", Access("db.lab", 3306, "bench", password_variable="SECRET"))
SECURE = Remote("far", "mysql", "8.0.36", Access("db.lab", 3306, "bench", "SECRET", certificate="/ca.pem"))
NOTHING = ServerConfig(())


def opened(build: AnyBuild, workspace: Workspace) -> Server:
    run_dir = workspace.run_dir("20261121T120000Z-e-s-b.c-r1")
    return open_server(build, NOTHING, workspace, run_dir, transport="tcp", engine="innodb")


def test_only_a_server_on_this_host_has_a_local_side(workspace: Workspace) -> None:
    here, far = opened(HERE, workspace), opened(CLEAR, workspace)
    assert (here.build, far.build) == (HERE, CLEAR)
    assert far.local is None and here.local is not None
    assert here.local.datadir.parent == here.local.directory == workspace.sandbox_dir("20261121T120000Z-e-s-b.c-r1")
    assert here.local.pid() is None and here.local.copy_s is None
    assert (here.owned, far.owned) == ([], [])
    assert not far.disk_is_full() and far.log_tail() == "" and far.known_options() is None


def test_a_killed_server_may_take_a_moment_to_be_seen_as_dead() -> None:
    seen = iter([True, True, False])
    assert has_died(lambda: next(seen))


def test_files_of_a_run_name_neither_a_basedir_nor_a_remote_host(workspace: Workspace) -> None:
    run_id = "20261121T120000Z-e-s-b.c-r1"
    assert "<basedir>" in mask_for(HERE, workspace, run_id, workspace.root, {}).places.values()
    elsewhere = mask_for(HERE, workspace, run_id, workspace.root, {"data": Path("/fast"), "redo": Path("/slow")})
    said = f"/slow/ibench-{run_id}/redo/x and /fast/ibench-{run_id}/data/datadir/y"
    assert elsewhere.text(said) == "<redo>/x and <datadir>/y"
    far = mask_for(CLEAR, workspace, run_id, workspace.root, {})
    assert "<basedir>" not in far.places.values() and {"db.lab", "bench"} <= far.names.keys()


@pytest.mark.parametrize("variables", [{}, {"version": "8.0.36"}, {"version_comment": "x"}])
def test_a_server_that_does_not_report_its_version_is_one_line(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    monkeypatch.setattr(type(flavour_of(CLEAR)), "variables", lambda *_: variables)
    with pytest.raises(RunFailed, match=r"far does not report its variable version"):
        ask(opened(CLEAR, workspace), {})
