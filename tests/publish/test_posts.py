"""Several posts at once: checked before anything runs, built side by side, and one that fails stops no other."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
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
from ibench_lib.publish.post_file import CheckedPost, check_posts
from ibench_lib.publish.posts import build_posts
from tests.publish.posting import ROOT, TINY, tiny_post
from tests.synthetic import Run, write_runs


class Seen:
    """A PostsObserver that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def post_begins(self, post: CheckedPost) -> None:
        self.events.append(("begins", post.spec.slug))

    def post_progress(self, post: CheckedPost, cell: int, of: int) -> None:
        self.events.append(("cell", post.spec.slug, cell, of))

    def post_ends(self, post: CheckedPost, result: Path | IbenchError) -> None:
        self.events.append(("ends", post.spec.slug))


def test_two_are_built_side_by_side_and_one_that_fails_or_dies_stops_no_other(workspace: Workspace) -> None:
    # Each waits for the other's file: one after another, the first would fail.
    meet = (
        "import pathlib, time\nhome = pathlib.Path.home()\n(home / word).touch()\n"
        "other = home / {'a': 'b', 'b': 'a'}[word]\n"
        "time.sleep(0.01 * next(n for n in range(3000) if other.exists() or time.sleep(0.01)))\nprint('met')"
    )
    params = [tiny_post(workspace, slug, meet) for slug in ("a", "b")]
    params.append(tiny_post(workspace, "failing", "raise ValueError('no')"))
    params.append(tiny_post(workspace, "dying", "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"))
    params.append(tiny_post(workspace, "last"))
    seen = Seen()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(workspace.root))
        results = build_posts(check_posts(params, workspace), workspace, seen, jobs=2)
    assert list(results) == ["a", "b", "failing", "dying", "last"]
    for slug in ("a", "b", "last"):
        assert results[slug] == workspace.post_dir(slug) / "index.html"
    assert "met" in (workspace.post_dir("a") / "index.html").read_text()
    failing, dying = results["failing"], results["dying"]
    assert isinstance(failing, PostFailed) and failing.what == "post failing: cell 3 raised ValueError: no"
    assert isinstance(dying, PostFailed) and "its process ended with exit code -9" in dying.what
    assert seen.events[:2] == [("begins", "a"), ("begins", "b")]
    assert [event for event in seen.events if event[:2] == ("cell", "last")][-1] == ("cell", "last", 4, 4)
    assert sorted(event[1] for event in seen.events if event[0] == "ends") == sorted(results)


def test_all_files_are_checked_before_the_first_kernel_starts(workspace: Workspace) -> None:
    tiny_post(workspace, "good")
    tiny_post(workspace, "bad", parameters={"wrod": "x"})
    tiny_post(workspace, "worse", title="")
    with pytest.raises(ParameterError) as caught:
        check_posts([workspace.root / "papermill_params"], workspace)
    assert caught.value.what == "3 problems in 3 post files"
    assert caught.value.hint == "no post was built"
    assert caught.value.detail is not None
    for line in (
        "bad.yml: parameters: 'wrod' is no parameter",
        "bad.yml: parameters: 'word' of",
        "worse.yml:6: title:",
    ):
        assert line in caught.value.detail, caught.value.detail
    assert not workspace.posts.exists()


def test_no_more_are_built_at_once_than_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(16))
    for available, jobs in ((10**12, posts.MOST_JOBS), (2 * posts.POST_BYTES + 1, 2), (10**6, 1)):
        monkeypatch.setattr(psutil, "virtual_memory", lambda free=available: SimpleNamespace(available=free))
        assert posts.jobs_here() == jobs


def test_two_posts_with_one_slug_are_refused_before_anything_runs(workspace: Workspace) -> None:
    first, second = tiny_post(workspace, "one"), tiny_post(workspace, "two")
    second.write_text(second.read_text().replace("slug: two", "slug: one"))
    with pytest.raises(ParameterError, match=r"one\.yml and .*two\.yml have the same slug: one"):
        check_posts([first.parent], workspace)
    assert [post.path for post in check_posts([first, first, first.parent / "one.yml"], workspace)] == [first]


def test_a_folder_without_a_post_is_a_mistake(workspace: Workspace) -> None:
    workspace.notebooks.mkdir(parents=True)
    with pytest.raises(ParameterError, match="it contains no post"):
        check_posts([workspace.notebooks], workspace)


def command(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, *words: str) -> SimpleNamespace:
    monkeypatch.setenv("IBENCH_HOME", str(workspace.root))
    done = subprocess.run(
        [sys.executable, "-c", "from ibench_lib.cli.main import main; main()", *words],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr)


def test_the_command_says_a_line_a_post_and_ends_with_what_failed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_post(workspace, "good")
    tiny_post(workspace, "bad", "1 / 0")
    params = workspace.root / "papermill_params"
    done = command(workspace, monkeypatch, "posts", str(params))
    assert done.code == 1
    assert done.out.startswith(f"post: {workspace.post_dir('good') / 'index.html'} (")
    assert "building bad" in done.err and "building good" in done.err
    ending = done.err.strip().splitlines()[-4:]
    assert ending[0] == "post bad: cell 3 raised ZeroDivisionError: division by zero"
    assert ending[1].strip().startswith("data/posts/bad.failed.ipynb shows how far it got")
    assert ending[2] == "ibench: 1 of 2 posts failed"
    alone = command(workspace, monkeypatch, "post", str(params / "good.yml"))
    assert (alone.code, alone.out, alone.err) == (0, f"post: {workspace.post_dir('good') / 'index.html'}\n", "")
    failed = command(workspace, monkeypatch, "post", str(params / "bad.yml"))
    assert failed.code == 1
    assert "ibench: post bad: cell 3 raised ZeroDivisionError: division by zero" in failed.err
    site = command(workspace, monkeypatch, "site")
    assert site.code == 0
    assert site.out == f"site: {workspace.posts / 'index.html'} (1 posts)\n"
    assert "not listed: bad.failed.ipynb: the latest build of bad failed" in site.err


def test_a_post_without_a_run_is_skipped_unless_it_is_asked_for_alone(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Run(experiment="there")
    write_runs(workspace, there)
    asking = json.loads(TINY)
    asking["cells"][0]["source"] = "experiment = ''\nruns = []"
    asking["cells"][-1]["source"] = (
        "import ibench_lib as ib\nprint(ib.choose(ib.lake(), experiment, runs=runs).nothing('Some.'))"
    )
    for slug, experiment, runs in (
        ("demo", "demo", []),
        ("glob", "oth*", []),
        ("gone", "", ["20261121T100000Z-there-cached-gone-r1"]),
        ("known", "the*", []),
        ("pinned", "", [there.run_id]),
    ):
        tiny_post(workspace, slug, parameters={"experiment": experiment, "runs": runs})
        (workspace.notebooks / f"{slug}-notebook.ipynb").write_text(json.dumps(asking))
    params = workspace.root / "papermill_params"
    done = command(workspace, monkeypatch, "posts", str(params))
    assert done.code == 0, done.err
    assert [line for line in done.err.splitlines() if line.startswith("skipped")] == [
        "skipped demo: the lake has no run of experiment demo yet (make some with: make demo)",
        "skipped glob: no run of experiment oth* in the lake yet",
        "skipped gone: the lake has none of the runs that it names",
    ]
    assert sorted(path.name for path in workspace.posts.iterdir()) == ["known", "pinned"]
    alone = command(workspace, monkeypatch, "post", str(params / "demo.yml"))
    assert alone.code == 0, alone.err
    assert "There is no run yet." in (workspace.post_dir("demo") / "index.html").read_text()


def test_a_mistake_in_a_file_is_a_usage_error(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_post(workspace, "bad", parameters={})
    monkeypatch.setenv("IBENCH_HOME", str(workspace.root))
    result = CliRunner().invoke(app, ["posts", str(workspace.root / "papermill_params")])
    assert isinstance(result.exception, ParameterError)
    assert result.exception.exit_code == 2


def test_ctrl_c_ends_every_builder_and_leaves_no_half_post(workspace: Workspace) -> None:
    for slug in ("one", "two"):
        tiny_post(workspace, slug, "import time\ntime.sleep(600)")
    # Where these tests run in the background Ctrl-C may be ignored, and what is ignored is inherited.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    program = f"{heed}from ibench_lib.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "posts", "papermill_params", "-j", "2"],
        cwd=workspace.root, env={**os.environ, "IBENCH_HOME": str(workspace.root), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    watchdog = threading.Timer(120, process.kill)
    watchdog.start()
    try:
        me = psutil.Process(process.pid)
        while len(kernels := [child for child in me.children(recursive=True) if is_kernel(child)]) < 2:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    finally:
        watchdog.cancel()
    assert process.returncode == 130
    assert "interrupted" in err
    assert psutil.wait_procs(kernels, timeout=10)[1] == []
    assert [path.name for path in workspace.posts.iterdir() if path.name.startswith(".") or path.is_dir()] == []


def is_kernel(process: psutil.Process) -> bool:
    try:
        return "ipykernel_launcher" in process.cmdline()
    except psutil.Error:
        return False


def test_what_takes_seconds_to_import_is_left_out_only_while_it_lasts() -> None:
    program = (
        "import sys\nfrom ibench_lib.publish.lean_imports import lean_imports\n"
        "with lean_imports():\n    import nbformat\n    nbformat.validate(nbformat.v4.new_notebook())\n"
        "assert 'rfc3987_syntax' not in sys.modules\nimport rfc3987_syntax"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
