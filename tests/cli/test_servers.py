"""`ibench servers`: what is no server is refused."""

from pathlib import Path

from ibench_lib.paths import Workspace
from tests.cli.tiny import write
from tests.command import ibench, refused


def test_a_binary_that_is_no_server(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mysqld").symlink_to("/bin/false")
    result = ibench(workspace, "run", str(write(workspace)), IBENCH_BASEDIR=str(tmp_path))
    refused(result, "prints no server version")
