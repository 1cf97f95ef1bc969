"""docs/tutorial.md works as written: its files and commands, on the real server, with smaller sizes."""

import os
import re
import shlex
import subprocess
import sys

import pytest

from ibench_lib import paths
from ibench_lib.paths import Workspace
from ibench_lib.servers.build import Build
from tests.places import ROOT
from tests.shared import give_views

pytestmark = pytest.mark.lake

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"Save this as `([^`]+)`[^`]*(?:`[^`\n]+`[^`]*)*?```\w+\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def test_the_tutorial_gives_every_file_and_command() -> None:
    assert list(FILES) == ["mine/configs/durable.cnf", "mine/durable.yaml", "mine/durable-post.yml"]
    called = [" ".join(re.findall(r"[a-z]+", command.removeprefix(".venv/bin/ibench"))[:2]) for command in COMMANDS]
    assert called == ["config show", "config diff", "experiment check", "run mine", "post mine"]


@pytest.mark.long
def test_the_tutorial_leads_to_a_comparison(build: Build, workspace: Workspace) -> None:
    (workspace.root / "notebooks").symlink_to(ROOT / "notebooks")
    # The commands are processes of their own: what all tests share, they find there.
    give_views(workspace).builds.mkdir()
    (workspace.builds / ".datadirs").symlink_to(paths.workspace().datadirs)
    for name, text in FILES.items():
        path = workspace.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    experiment = workspace.root / "mine" / "durable.yaml"
    text = experiment.read_text(encoding="utf-8")
    for whole, small in (("scale: 0.002 ", "scale: 0.0001 "), ("repeats: 3\n", ""), ("clients: 2\n", "clients: 1\n")):
        assert whole in text
        text = text.replace(whole, small)
    experiment.write_text(text)
    said = {command: _run(command, workspace) for command in COMMANDS}
    show, diff, check, run, post = said.values()
    assert re.search(r"innodb_flush_log_at_trx_commit *= *1\b.*durable\.cnf", show)
    assert re.search(r"innodb_flush_log_at_trx_commit +2 +1\b", diff)
    assert "2 cells" in check
    assert "2 new runs, " in run
    page = workspace.posts / "durable" / "index.html"
    assert str(page) in post
    html = page.read_text(encoding="utf-8")
    for section in re.findall(r'[Ss]ections? "([^"]+)"|"([A-Z][a-z ]+)"', PAGE):
        assert "".join(section) in html, f"the page has no section {''.join(section)}"
    assert "innodb_flush_log_at_trx_commit" in html and "A is system.base (1 run); B is system.durable" in html


def _run(command: str, workspace: Workspace) -> str:
    words = shlex.split(command)
    assert words[0] == ".venv/bin/ibench"
    result = subprocess.run(
        [sys.executable, "-c", "from ibench_lib.cli.main import main; main()", *words[1:]],
        cwd=workspace.root,
        env={**os.environ, "IBENCH_HOME": str(workspace.root), "COLUMNS": "200", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout
