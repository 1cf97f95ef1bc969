"""The commands that import an archive are those of its post."""

from pathlib import Path

from tests.places import ROOT
from tools.archives import ARCHIVES, commands


def test_the_commands_name_what_the_post_shows() -> None:
    archive = ARCHIVES["nov25"]
    logs, table, post = commands(archive, Path("arc"))
    text = (ROOT / archive.post).read_text(encoding="utf-8")
    assert f"experiment: {archive.experiment}*" in text and post.endswith(archive.post)
    assert f"--experiment {archive.experiment} " in logs and f"--experiment {archive.experiment}_published " in table
    assert f"{archive.folder}/{archive.table} " in table and "--setup 50m " in logs and "--setup 50m " in table
