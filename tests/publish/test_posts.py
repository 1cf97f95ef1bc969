"""Several posts at once: checked before anything runs, built side by side, and one that fails stops no other."""

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner

from ibench_lib.cli.main import app
from ibench_lib.errors import IbenchError, ParameterError, PostFailed
from ibench_lib.paths import Workspace
from ibench_lib.publish import posts
from ibench_lib.publish.posts import PostToBuild, build_posts, started_builders
from tests.command import ibench
from tests.faults import survivors
from tests.places import ROOT
from tests.publish.posting import tiny_post
from tests.waiting import until

pytestmark = pytest.mark.slow


class Seen:
    """A PostsObserver that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def post_begins(self, post: PostToBuild) -> None:
        self.events.append(("begins", post.name))

    def post_progress(self, post: PostToBuild, cell: int, of: int) -> None:
        self.events.append(("cell", post.name, cell, of))

    def post_ends(self, post: PostToBuild, result: Path | IbenchError) -> None:
        self.events.append(("ends", post.name))


@pytest.mark.long
def test_two_are_built_side_by_side_and_one_that_fails_or_dies_stops_no_other(workspace: Workspace) -> None:
    # Each waits for the other's file: if one were built after the other, the first would fail.
    meet = (
        "import pathlib, time\nhome = pathlib.Path.home()\n(home / word).touch()\n"
        "other = home / {'a': 'b', 'b': 'a'}[word]\n"
        "met = next(True for _ in range(10_000) if other.exists() or time.sleep(0.01))\nprint('met')"
    )
    params = [tiny_post(workspace, slug, meet) for slug in ("a", "b")]
    params.append(tiny_post(workspace, "failing", "raise ValueError('no')"))
    params.append(tiny_post(workspace, "dying", "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"))
    params.append(tiny_post(workspace, "last"))
    seen = Seen()
    named = [PostToBuild(path, path.stem) for path in params]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(workspace.root))
        results = build_posts(named, workspace, seen, jobs=2)
    assert list(results) == ["a", "b", "failing", "dying", "last"]
    for slug in ("a", "b", "last"):
        assert results[slug] == workspace.post_dir(slug) / "index.html"
    assert "met" in (workspace.post_dir("a") / "index.html").read_text()
    failing, dying = results["failing"], results["dying"]
    assert isinstance(failing, PostFailed) and failing.what == "post failing: cell 3 raised ValueError: no"
    assert isinstance(dying, PostFailed) and "its process was killed by SIGKILL" in dying.what
    assert seen.events[:2] == [("begins", "a"), ("begins", "b")]
    assert [event for event in seen.events if event[:2] == ("cell", "last")][-1] == ("cell", "last", 4, 4)
    assert sorted(event[1] for event in seen.events if event[0] == "ends") == sorted(results)


@pytest.mark.long
def test_one_builder_builds_several_each_in_a_kernel_of_its_own(workspace: Workspace) -> None:
    source = (
        "import builtins, os\nprint(f'by {os.getppid()} in {os.getpid()},', hasattr(builtins, 'left'))\n"
        "builtins.left = 1"
    )
    params = [tiny_post(workspace, slug, source) for slug in ("first", "second")]
    params.insert(1, tiny_post(workspace, "failing", "1 / 0"))
    results = build_posts([PostToBuild(path, path.stem) for path in params], workspace, Seen(), jobs=1)
    assert isinstance(results["failing"], PostFailed)
    pages = [(workspace.post_dir(slug) / "index.html").read_text() for slug in ("first", "second")]
    (builder, kernel), (same, other) = [re.findall(r"by (\d+) in (\d+), False", page)[0] for page in pages]
    assert builder == same and kernel != other


def test_a_builder_that_was_started_ahead_builds_a_post_and_an_idle_one_ends(workspace: Workspace) -> None:
    params = tiny_post(workspace, "one", "import os\nprint(f'by {os.getppid()},')")
    with started_builders(workspace, 2) as ready:
        results = build_posts([PostToBuild(params, "one")], workspace, Seen(), jobs=1, ready=ready)
        assert sum(builder.poll() is None for builder in ready) == 1
        kernels = [child for builder in ready if builder.poll() is None for child in until_it_has_a_kernel(builder)]
    assert isinstance(results["one"], Path), results["one"]
    found = re.search(r"by (\d+),", results["one"].read_text())
    assert found and int(found[1]) in [builder.pid for builder in ready]
    assert all(builder.poll() is not None for builder in ready) and survivors(kernels) == []


def until_it_has_a_kernel(builder: subprocess.Popen[str]) -> list[psutil.Process]:
    """The kernels of a builder that waits for its first post."""
    process = psutil.Process(builder.pid)
    return until(lambda: list(filter(is_kernel, process.children())), "an idle builder starts a kernel")


def test_no_more_are_built_at_once_than_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(16))
    for available, jobs in ((10**12, posts.MOST_JOBS), (2 * posts.POST_BYTES + 1, 2), (10**6, 1)):
        monkeypatch.setattr(psutil, "virtual_memory", lambda free=available: SimpleNamespace(available=free))
        assert posts.jobs_here() == jobs


@pytest.mark.long
def test_the_command_says_a_line_a_post_and_ends_with_what_failed(workspace: Workspace) -> None:
    tiny_post(workspace, "good")
    tiny_post(workspace, "bad", "1 / 0")
    params = workspace.root / "papermill_params"
    done = ibench(workspace, "posts", str(params))
    assert done.returncode == 1
    assert done.stdout.startswith(f"post: {workspace.post_dir('good') / 'index.html'} (")
    assert "building bad" in done.stderr and "building good" in done.stderr
    ending = done.stderr.strip().splitlines()[-4:]
    assert ending[0] == "post bad: cell 3 raised ZeroDivisionError: division by zero"
    assert ending[1].strip().startswith("data/posts/bad.failed.ipynb shows how far it got")
    assert ending[2] == "ibench: 1 of 2 posts failed"
    alone = ibench(workspace, "post", str(params / "good.yml"))
    assert (alone.returncode, alone.stdout, alone.stderr) == (
        0,
        f"post: {workspace.post_dir('good') / 'index.html'}\n",
        "",
    )
    failed = ibench(workspace, "post", str(params / "bad.yml"))
    assert failed.returncode == 1
    assert "ibench: post bad: cell 3 raised ZeroDivisionError: division by zero" in failed.stderr
    site = ibench(workspace, "site")
    assert site.returncode == 0
    assert site.stdout == f"site: {workspace.posts / 'index.html'} (1 post)\n"
    assert "not listed: bad.failed.ipynb: the latest build of bad failed" in site.stderr


def test_a_mistake_in_a_file_is_a_usage_error(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_post(workspace, "bad", parameters={"wrod": "x"})
    monkeypatch.setenv("IBENCH_HOME", str(workspace.root))
    result = CliRunner().invoke(app, ["posts", str(workspace.root / "papermill_params")])
    assert isinstance(result.exception, ParameterError)
    assert result.exception.exit_code == 2


@pytest.mark.long
def test_ctrl_c_ends_every_builder_and_leaves_no_half_post(workspace: Workspace) -> None:
    for slug in ("one", "two"):
        here = str(workspace.root / f"{slug} runs")
        tiny_post(workspace, slug, f"import time\nopen({here!r}, 'w').close()\ntime.sleep(600)")
    # Where these tests run in the background Ctrl-C may be ignored, and what is ignored is inherited.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    program = f"{heed}from ibench_lib.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "posts", "papermill_params", "-j", "2"],
        cwd=workspace.root, env={**os.environ, "IBENCH_HOME": str(workspace.root), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    watchdog = threading.Timer(300, process.kill)
    watchdog.start()
    try:
        me = psutil.Process(process.pid)

        def two_kernels() -> list[psutil.Process]:
            assert process.poll() is None, process.communicate()
            if len(list(workspace.root.glob("* runs"))) < 2:
                return []
            return [child for child in me.children(recursive=True) if is_kernel(child)]

        kernels = until(two_kernels, "two kernels run their notebooks")
        assert len(kernels) >= 2, "there may be spare ones"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    finally:
        watchdog.cancel()
    assert process.returncode == 130
    assert "interrupted" in err
    assert survivors(kernels) == []
    assert [path.name for path in workspace.posts.iterdir() if path.name.startswith(".") or path.is_dir()] == []


def is_kernel(process: psutil.Process) -> bool:
    try:
        return "ibench_lib.publish.kernel_process" in process.cmdline()
    except psutil.Error:
        return False
