"""Several posts at once, built by processes that each build one after the other, and die with this one."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ibench_lib import errors
from ibench_lib.base.later import later
from ibench_lib.base.memory_kills import killed_since, memory_kills
from ibench_lib.base.python_process import python_module, python_path
from ibench_lib.base.tether import tethered
from ibench_lib.base.wording import ending
from ibench_lib.errors import IbenchError, Interrupted, PostFailed
from ibench_lib.paths import Workspace

if TYPE_CHECKING:
    import psutil
else:
    psutil = later("psutil")

MOST_JOBS = 4
POST_BYTES = 3_000_000_000
"""Memory that building one post may take: docs/benchmarks/post_speed.md shows what the largest post takes."""

_LOOK_S = 0.2
"""Ctrl-C is noticed this often: once polars is imported, a signal no longer interrupts waiting for a thread."""

_END_S = 20.0
"""How long a builder may take to clean up when it is told to stop."""


@dataclass(frozen=True)
class PostToBuild:
    """A post's file, and what to call the post: its slug, where somebody has read the file."""

    path: Path
    name: str


class PostsObserver(Protocol):
    """Receives every event, one call at a time."""

    def post_begins(self, post: PostToBuild) -> None:
        """The post is being built now."""

    def post_progress(self, post: PostToBuild, cell: int, of: int) -> None:
        """A cell of its notebook begins, the first of `of` being 1."""

    def post_ends(self, post: PostToBuild, result: Path | IbenchError) -> None:
        """It is built, and `result` is its page; or it has failed, and `result` is why."""


@dataclass
class _Builders:
    """The processes under way."""

    running: set[subprocess.Popen[str]]
    stopped: bool = False


def jobs_here() -> int:
    """How many posts to build at once: a kernel keeps a CPU busy, and the longest post takes much memory."""
    cpus = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return max(1, min(cpus, psutil.virtual_memory().available // POST_BYTES, MOST_JOBS))


@contextmanager
def started_builders(workspace: Workspace, jobs: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes for `build_posts`, which get ready while it is found out what to build. They end with the context."""
    builders = [_start(workspace) for _ in range(jobs)]
    try:
        yield list(builders)
    finally:
        _end([builder for builder in builders if builder.poll() is None])


def build_posts(
    posts: Sequence[PostToBuild],
    workspace: Workspace,
    observer: PostsObserver,
    jobs: int | None = None,
    ready: Sequence[subprocess.Popen[str]] = (),
) -> dict[str, Path | IbenchError]:
    """Build posts, `jobs` at a time. One that fails does not stop the others, nor does one whose file cannot be used.

    `ready` are builders that were started before (`started_builders`).

    Returns
    -------
    For each name its page, or why there is none.

    Raises
    ------
    Interrupted : Ctrl-C; every builder has ended.
    """
    lock, builders, waiting, idle = threading.Lock(), _Builders(set()), deque(posts), list(ready)
    results: dict[str, Path | IbenchError] = {}

    def build(post: PostToBuild, builder: subprocess.Popen[str]) -> Path | IbenchError | None:
        """Let a builder build a post: its page, or why there is none. None if the builder ended without saying so."""
        for message in _messages(builder, post):
            if "cell" in message:
                with lock:
                    observer.post_progress(post, *message["cell"])
            elif "page" in message:
                return Path(message["page"])
            elif "error" in message:
                return _error(**message["error"])
        return None

    def build_some() -> None:
        """Build waiting posts, one after the other, until there is none. A builder that died is replaced."""
        builder: subprocess.Popen[str] | None = None
        while True:
            with lock:
                if builders.stopped or not waiting:
                    break
                post = waiting.popleft()
                observer.post_begins(post)
                kills = memory_kills()
                if builder is None:
                    builder = idle.pop() if idle else _start(workspace)
                    builders.running.add(builder)
            result = build(post, builder)
            died = None if result is not None else ending(builder.wait())
            with lock:
                if died is not None:
                    builders.running.discard(builder)
                    builder = None
                result = result or PostFailed(f"post {post.name}: its process {died} and without a message")
                if isinstance(result, PostFailed) and (memory_killed := killed_since(kills)):
                    hint = "give posts more memory, or build fewer at a time (--jobs); the previous page is kept"
                    result = PostFailed(f"{result.what}; {memory_killed}", hint=hint, detail=result.detail)
                results[post.name] = result
                if not builders.stopped:
                    observer.post_ends(post, result)
        if builder is not None:
            builder.communicate()  # closes its input, which ends it

    lanes = min(jobs or jobs_here(), len(posts))
    with ThreadPoolExecutor(max(lanes, 1)) as threads:
        try:
            left: set[Future[None]] = {threads.submit(build_some) for _ in range(lanes)}
            while left:
                done, left = wait(left, _LOOK_S)
                for each in done:
                    each.result()
        except BaseException as error:
            with lock:
                builders.stopped = True
                running = list(builders.running)
            _end(running)
            if isinstance(error, KeyboardInterrupt):
                raise Interrupted("interrupted", hint="finished posts are kept; the others are unchanged") from None
            raise
    return {post.name: results[post.name] for post in posts}


def _start(workspace: Workspace) -> subprocess.Popen[str]:
    command = python_module("ibench_lib.publish.post_process", str(workspace.root))
    return subprocess.Popen(
        tethered(command),
        env={**os.environ, "PYTHONPATH": python_path()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Ctrl-C is for this process, which then ends the others.
        start_new_session=True,
    )


def _messages(builder: subprocess.Popen[str], post: PostToBuild) -> Iterator[dict[str, Any]]:
    """What a builder says of a post: one JSON object a line. Other lines are libraries' chatter."""
    assert builder.stdin is not None and builder.stdout is not None
    with contextlib.suppress(BrokenPipeError):  # it is dead, and says nothing either
        builder.stdin.write(json.dumps(str(post.path.resolve())) + "\n")
        builder.stdin.flush()
    for line in builder.stdout:
        with contextlib.suppress(ValueError):
            message = json.loads(line)
            if isinstance(message, dict):
                yield message


def _end(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()


def _error(kind: str, what: str, hint: str | None, detail: str | None) -> IbenchError:
    """The error that ended a builder, as it was raised there."""
    made: IbenchError = getattr(errors, kind, PostFailed)(what, hint=hint, detail=detail)
    return made
