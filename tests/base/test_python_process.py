"""Every Python process of ours starts without the current folder on its path: a file in it is never our module."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from ibench_lib.base.python_process import python_module, python_path
from ibench_lib.client.process import WorkerProcess
from ibench_lib.client.spec import Spec
from ibench_lib.paths import SOURCE_ROOT, Workspace
from ibench_lib.publish.posts import PostToBuild, build_posts
from ibench_lib.runner.hosts import worker as remote_worker
from tests.places import ROOT
from tests.publish.posting import tiny_post
from tests.publish.test_posts import Seen
from tests.waiting import until

LIBRARY = ROOT / "ibench_lib"

STARTS = {"base/python_process.py", "base/tether.py", "workloads/command/client.py"}
"""The modules that may name this Python as a program: by `-P`, by `-I`, which is stricter, and in a command that is the
experiment's own, where `{python}` is written out."""

SHADOWS = ("json", "secrets", "html", "numpy", "pathlib", "pymysql", "polars", "ipykernel", "ibench_lib")


def names_a_python(source: str) -> list[int]:
    """The lines of a module that could start a Python: sys.executable, `-m`, a program's name, a pool."""
    lines = []
    tree = ast.parse(source)
    printed = {part for text in ast.walk(tree) if isinstance(text, ast.JoinedStr) for part in ast.walk(text)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("executable", "_base_executable"):
            lines += [node.lineno] * (node not in printed)
        elif isinstance(node, ast.List | ast.Tuple):
            words = {word.value for word in node.elts if isinstance(word, ast.Constant)}
            lines += [node.lineno] * bool(words & {"-m", "python", "python3", "jupyter", "ipython"})
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            lines += [node.lineno] * any("multiprocessing" in name or "ProcessPool" in name for name in modules)
    return lines


def test_the_search_knows_each_way_to_start_one() -> None:
    for source in (
        "run([sys.executable, '-I', 'x'])",
        "run(['/usr/bin/x', '-m', 'y'])",
        "run(['python3', 'x'])",
        "import multiprocessing",
        "from concurrent.futures import ProcessPoolExecutor",
        "from multiprocessing import Pool",
    ):
        assert names_a_python(source), source
    assert not names_a_python("import os\nrun(['nice', '-n', '5'])\nprint(f'{sys.executable}')")


def test_no_other_module_starts_a_python() -> None:
    found = {
        path.relative_to(LIBRARY).as_posix(): lines
        for path in sorted(LIBRARY.rglob("*.py"))
        if (lines := names_a_python(path.read_text(encoding="utf-8")))
    }
    assert found.keys() >= STARTS
    assert found.keys() == STARTS, "use python_module of base/python_process.py"
    assert '"-I"' in (LIBRARY / "base/tether.py").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current folder that has modules under the names of others'; a test fails if one of them ran."""
    here = tmp_path / "came"
    here.mkdir()
    for name in SHADOWS:
        (here / f"{name}.py").write_text(f"open({str(here / 'ran')!r}, 'a').write({name!r} + ' ')\nraise ImportError\n")
    monkeypatch.chdir(here)
    monkeypatch.setenv("PYTHONPATH", os.pathsep + str(tmp_path))  # an empty entry is the current folder
    yield here
    ran = here / "ran"
    assert not ran.exists(), ran.read_text()


def test_such_a_folder_is_seen_by_a_python_that_is_started_otherwise(folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "ibench_lib.client.worker"], stderr=subprocess.DEVNULL, check=False)
    (folder / "ran").unlink()


def test_modules_are_found_without_the_current_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert python_path() == os.pathsep.join([str(SOURCE_ROOT), str(folder.parent)])
    (folder.parent / "given.py").write_text("import sys, json\nprint(json.dumps(sys.path))")
    done = subprocess.run(
        python_module("given"), env={**os.environ, "PYTHONPATH": python_path()}, capture_output=True, check=True
    )
    assert not {"", str(folder)} & set(json.loads(done.stdout))


def test_a_client_runs_no_file_of_the_current_folder(folder: Path) -> None:
    spec = Spec(
        module="ibench_lib.workloads.insert_benchmark.client", role="querier", client=1, number=1, operations=("x",),
        statements=1, seconds=None, tick_ns=None, timeout_s=1.0, seed=1,
    )  # fmt: skip
    nowhere = {"unix_socket": str(folder / "none.sock"), "user": "u", "password": ""}
    client = WorkerProcess("client 1 querier", spec, "ibench_lib.client.mysql.connection", nowhere, "ib")
    try:
        (said,) = until(lambda: client.receive()[0], "the client has said that there is no server")
        assert said["kind"] == "failed" and "No such file" in said["error"]
    finally:
        client.kill()


def test_a_cell_of_another_host_runs_no_file_of_the_current_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("distributed.get_worker", lambda: SimpleNamespace(id="here"))
    answer = remote_worker.ask("ibench_lib.runner.hosts.cell_process", json.dumps({"code": "other"}), None)
    assert "error" not in answer and answer["code"] != "other", answer


@pytest.mark.slow
def test_a_post_and_its_kernel_run_no_file_of_the_current_folder(folder: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "home")
    workspace.root.mkdir()
    told = tiny_post(workspace, "one", "import sys\nprint('kernel', '' in sys.path)")
    results = build_posts([PostToBuild(told, "one")], workspace, Seen(), jobs=1)
    assert results["one"] == workspace.post_dir("one") / "index.html", results
    assert "kernel False" in (workspace.post_dir("one") / "index.html").read_text()
