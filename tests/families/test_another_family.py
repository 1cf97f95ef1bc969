"""A family of servers is one folder: another program, wire, option file, collector, figure and cause of dips."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.command import PROGRAM
from tests.fakes.linedb import entry_point
from tests.fakes.linedb.flavours.linedb import PYTHON, install
from tests.places import ROOT

EXPERIMENT = """
title: a run on a server of another family
builds: [line]
configs_folder: own
configs: [{name: busy, fragments: [quiet, busy]}]
setups: [{name: tiny, l_i0_rows: 4000, l_i1_rows: 1000, l_i2_rows: 1000, query_seconds: 18}]
workload: {benchmark: insert_benchmark, clients: 1, steps: [l.i0, l.x, qr100], settle: none}
"""

pytestmark = pytest.mark.skipif(not os.access(PYTHON, os.X_OK), reason="the server needs the machine's own Python")


class Installed:
    """A project in a folder that every user may enter, in which a package adds the family by its entry point."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "project"
        self.home.mkdir()
        install(folder / "linedb-7.2")
        self.basedir = folder / "linedb-7.2"
        path = os.pathsep.join([str(entry_point(folder)), str(ROOT)])
        self.environment = {**os.environ, "PYTHONPATH": path, "IBENCH_HOME": str(self.home), "COLUMNS": "200"}

    def ibench(self, *arguments: str, fails: bool = False, **environment: str) -> str:
        """What the command prints."""
        result = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments],
            cwd=self.home, env={**self.environment, **environment}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        said = result.stdout + result.stderr
        assert (result.returncode != 0) == fails, said
        assert "Traceback" not in said, said
        return said


@pytest.fixture
def installed(open_path: Path) -> Installed:
    return Installed(open_path)


@pytest.mark.slow
def test_its_configurations_are_shown_and_compared_in_its_own_syntax(installed: Installed) -> None:
    installed.ibench("servers", "add", "line", str(installed.basedir))
    assert "linedb" in installed.ibench("servers", "list")
    shown = installed.ibench("config", "show", "line", "quiet")
    assert "cache_kb: 8m ; quiet.linedb.line:1" in shown and "[" not in shown.splitlines()[-2]
    own = installed.home / "own"
    own.mkdir()
    (own / "same.linedb.line").write_text("cache_kb: 8000\n")
    (own / "wrong.linedb.line").write_text("cash_kb: 1\n")
    folder = ("--folder", str(own))
    differing = installed.ibench("config", "diff", "quiet", "quiet+same", "--build", "line", *folder)
    assert "cache_kb" not in differing, "8m is 8000"
    said = installed.ibench("config", "show", "line", "quiet+wrong", *folder, fails=True)
    assert "cash_kb is unknown to linedb 7.2; did you mean cache_kb?" in said


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a reason to become another user")
def test_a_server_that_refuses_root_is_another_users_or_says_in_one_line_why_not(installed: Installed) -> None:
    refused = subprocess.run([installed.basedir / "bin" / "linedbd", "--make", "/tmp"], capture_output=True, text=True)
    assert refused.returncode == 1 and "refuses to run as root" in refused.stderr
    said = installed.ibench(
        "servers", "add", "line", str(installed.basedir), fails=True, IBENCH_SERVER_USER="no-such-user"
    )
    assert "the server refuses to run as root, and there is no user no-such-user" in said
    (installed.home / "data").mkdir(mode=0o700, exist_ok=True)
    (installed.home / "data").chmod(0o700)
    said = installed.ibench("servers", "add", "line", str(installed.basedir), fails=True)
    assert "user nobody cannot enter" in said and "chmod o+x" in said
    (installed.home / "data").chmod(0o755)
    installed.ibench("servers", "add", "line", str(installed.basedir))


@pytest.mark.long
def test_it_runs_from_its_option_file_to_a_page_with_its_own_cause_of_dips(installed: Installed) -> None:
    (installed.home / "own").mkdir()
    (installed.home / "own" / "busy.linedb.line").write_text("compact_every_s: 7\ncompact_s: 2\n")
    (installed.home / "another.yaml").write_text(EXPERIMENT)
    installed.ibench("servers", "add", "line", str(installed.basedir))
    installed.ibench("run", "another.yaml")
    left = [each for each in psutil.process_iter(["cmdline"]) if str(installed.basedir) in str(each.info["cmdline"])]
    assert left == [], "no server is left"
    (run,) = (installed.home / "data" / "runs").iterdir()
    grew = installed.ibench("sql", f"SELECT max(debris) > 0 AS grew FROM questions.linedb_debris(['{run.name}'])")
    assert "true" in grew.lower(), grew
    dips = installed.ibench("sql", f"SELECT cause, words FROM questions.dips(['{run.name}'], [])")
    assert "LineDB compacted its file" in dips, dips
    collectors = installed.ibench("sql", "SELECT collector FROM collectors WHERE samples > 0")
    assert "line_figures" in collectors and "innodb_status" not in collectors
    page = installed.ibench("post", "--experiment", "another")
    (html,) = (installed.home / "data" / "posts").glob("*/index.html")
    assert "LineDB compacted its file" in html.read_text(), page
