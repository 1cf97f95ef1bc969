"""How long posts take to build, how large they are, and what memory that takes.

    python -m benchmarks.post_speed --lakes <folder>            measure, write docs/benchmarks/post_speed.md
    python -m benchmarks.post_speed --lakes <folder> --quick    one round, a fiftieth of the lake, print only

Every post of papermill_params/ of which the workspace's lake has runs is built, alone and then all with `ibench posts`.
The whole Insert Benchmark post is built from a lake of the size of the first published comparison, which is made below
the folder when it is not there (`benchmarks.lake_scale` makes the same). Posts go to folders of their own. Each post is
built twice: first with nothing in the user's cache, then again with the answers that were kept.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import timeit
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
from ruamel.yaml import YAML

from benchmarks.lake_scale import lake_of
from benchmarks.performance_page import write_section
from benchmarks.scale_lake import EXPERIMENT, Size
from ibench_lib.paths import Workspace, workspace
from ibench_lib.publish.plotly_js import library
from ibench_lib.publish.post_file import CheckedPost, check_posts
from ibench_lib.publish.skipped import without_run
from ibench_lib.store import reader

ROUNDS = 3
TARGET_ONE_S, TARGET_ALL_S, TARGET_SCALE_S = 4, 40, 15
TARGET_BYTES, TARGET_MEMORY = 5e6, 3e9
POINTS = 500
"""With more, the page of 15 dbms and 8 clients would have over 10 MB."""
SLOWEST = 6


@dataclass(frozen=True)
class Built:
    """One build: wall seconds, bytes of the page, peak memory (bytes) of the kernel and of the process that builds.

    `before_s` of these seconds pass until the first cell of code begins, `after_s` after the last one.
    """

    seconds: float
    before_s: float
    after_s: float
    page_bytes: int
    kernel_bytes: int
    builder_bytes: int
    notebook: dict[str, Any]


class Peaks:
    """Peak memory of a process and of what it starts."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self.by_role: dict[str, int] = {"kernel": 0, "builder": 0}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._stop.wait(0.1):
            try:
                tree = [self._process, *self._process.children(recursive=True)]
            except psutil.Error:
                return
            for process in tree:
                try:
                    role = "kernel" if "ibench_lib.publish.kernel_process" in process.cmdline() else "builder"
                    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
                    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
                except (psutil.Error, OSError, IndexError):
                    continue
                self.by_role[role] = max(self.by_role[role], peak)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


def linked(place: Workspace, target: Path) -> Workspace:
    """A workspace with the runs of another and the notebooks of this one, and posts of its own."""
    (target / "data").mkdir(parents=True)
    for name in ("runs", "sample"):
        if (place.data / name).exists():
            (target / "data" / name).symlink_to(place.data / name)
    (target / "notebooks").symlink_to(workspace().notebooks)
    return Workspace(target)


def command(*words: str, home: Path, cache: str) -> subprocess.Popen[bytes]:
    call = "from ibench_lib.cli.main import main; main()"
    environment = {**os.environ, "IBENCH_HOME": str(home), "XDG_CACHE_HOME": cache}
    return subprocess.Popen([sys.executable, "-c", call, *words], env=environment, stdout=subprocess.DEVNULL)


Builds = list[tuple[Built, Built]]
"""Of each round, the first build of a post and the second one."""


def build_twice(params: Path, slug: str, place: Workspace) -> tuple[Built, Built]:
    with tempfile.TemporaryDirectory() as cache:
        return build(params, slug, place, cache), build(params, slug, place, cache)


def build(params: Path, slug: str, place: Workspace, cache: str) -> Built:
    begun, start = datetime.now(UTC), time.perf_counter()
    process = command("post", str(params), home=place.root, cache=cache)
    peaks = Peaks(process.pid)
    code = process.wait()
    seconds = time.perf_counter() - start
    peaks.stop()
    if code != 0:
        sys.exit(f"{params}: exit code {code}")
    directory = place.post_dir(slug)
    notebook = json.loads((directory / "post.ipynb").read_text(encoding="utf-8"))
    size = (directory / "index.html").stat().st_size
    moments = [
        datetime.fromisoformat(cell["metadata"]["papermill"][moment]).replace(tzinfo=UTC)
        for cell in notebook["cells"]
        if cell["cell_type"] == "code" and cell["metadata"].get("papermill", {}).get("end_time")
        for moment in ("start_time", "end_time")
    ]
    before = (min(moments) - begun).total_seconds()
    after = seconds - (max(moments) - begun).total_seconds()
    return Built(seconds, before, after, size, peaks.by_role["kernel"], peaks.by_role["builder"], notebook)


def build_all_twice(posts: Sequence[CheckedPost], place: Workspace) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as cache:
        return build_all(posts, place, cache), build_all(posts, place, cache)


def build_all(posts: Sequence[CheckedPost], place: Workspace, cache: str) -> float:
    start = time.perf_counter()
    code = command("posts", *(str(post.path) for post in posts), home=place.root, cache=cache).wait()
    if code != 0:
        sys.exit(f"ibench posts: exit code {code}")
    return time.perf_counter() - start


def scale_params(folder: Path) -> Path:
    """The whole post of the synthetic lake."""
    source = workspace().root / "papermill_params" / "insert_benchmark" / "demo.yml"
    values = YAML(typ="safe", pure=True).load(source.read_text(encoding="utf-8"))
    values = {**values, "slug": "scale", "notes": {}}
    values["parameters"] = {**values["parameters"], "experiment": EXPERIMENT, "points": POINTS}
    path = folder / "scale.yml"
    with open(path, "w", encoding="utf-8") as file:
        YAML(typ="safe", pure=True).dump(values, file)
    return path


def cell_seconds(notebook: dict[str, Any]) -> list[tuple[float, str]]:
    """(seconds, id) of each cell, the slowest first."""
    found = [(cell["metadata"].get("papermill", {}).get("duration") or 0.0, cell["id"]) for cell in notebook["cells"]]
    return sorted(found, reverse=True)


def loop_s() -> float:
    """Seconds of ten million rounds of an empty loop, the least of five: how fast this host runs Python."""
    return min(timeit.repeat("for _ in range(10_000_000): pass", number=1, repeat=5))


def spread(values: Sequence[float], digits: int = 1) -> str:
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def reached(first: bool, again: bool) -> str:
    """Whether the first build and the next one kept to their targets, in a word."""
    return {(True, True): "yes", (False, True): "again"}.get((first, again), "no")


def within(builds: Sequence[Built], target_s: float) -> bool:
    """Whether builds of a post kept to all targets: their median time, the largest page and the most memory."""
    return (
        statistics.median(built.seconds for built in builds) <= target_s
        and max(built.page_bytes for built in builds) <= TARGET_BYTES
        and max(built.kernel_bytes + built.builder_bytes for built in builds) <= TARGET_MEMORY
    )


def report(
    one: dict[str, Builds], together: Sequence[tuple[float, float]], scale: Builds, size: Size, points: int = POINTS
) -> str:
    """The section of docs/benchmarks/post_speed.md."""
    plotly = len(library({"scatter", "heatmap"}).packed)
    lines = [
        "# What a post costs",
        "",
        f"Measured with `python -m benchmarks.post_speed`: {ROUNDS} rounds on {psutil.cpu_count()} shared cores, "
        "each command from its start to its end.",
        f"Ten million rounds of an empty loop in Python take {loop_s():.2f} s there.",
        f"Figures are the median (min to max). MB means 10^6 bytes; plotly.js is {plotly / 1e6:.1f} MB of a page with "
        "charts that zoom.",
        "",
        "Each post is built first with an empty cache, and then again, as after a change of its words: the second "
        "build reads the",
        "answers that the first one kept. `again` in the last column: only the second build reaches the targets.",
        "",
        "| post | first, s | again, s | target, s | page, MB | kernel, GB | builder, GB | reached |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for slug, found in [*one.items(), (f"the synthetic lake of {size.rows:,} rows of `ops`", scale)]:
        phases = [[pair[n] for pair in found] for n in (0, 1)]
        target = TARGET_SCALE_S if found is scale else TARGET_ONE_S
        every = [each for pair in found for each in pair]
        size_bytes = max(each.page_bytes for each in every)
        kernel, builder = max(each.kernel_bytes for each in every), max(each.builder_bytes for each in every)
        times = " | ".join(spread([built.seconds for built in phase]) for phase in phases)
        yes = reached(*(within(phase, target) for phase in phases))
        lines.append(
            f"| {slug} | {times} | {target} | {size_bytes / 1e6:.1f} | {kernel / 1e9:.2f} | {builder / 1e9:.2f} "
            f"| {yes} |"
        )
    first, again = ([pair[n] for pair in together] for n in (0, 1))
    lines += [
        f"| these {len(one)} together with `ibench posts` | {spread(first)} | {spread(again)} | {TARGET_ALL_S} "
        f"| - | - | - | {reached(*(statistics.median(phase) <= TARGET_ALL_S for phase in (first, again)))} |",
        "",
        "Of the first builds:",
        "",
        "| post | s until the first cell | s in cells | s after the last cell |",
        "|---|---|---|---|",
        *(_parts(slug, [pair[0] for pair in found]) for slug, found in one.items()),
        "",
        "Until the first cell, the command starts, and then the kernel and the process that builds the post, side by "
        "side. While",
        "cells run, what writes the page is imported, and charts of earlier cells are made for it; two threads ask the "
        "next",
        "questions. Posts that are built together also share answers about the same runs.",
        "",
        f"The targets also include at most {TARGET_BYTES / 1e6:.0f} MB per page and "
        f"{TARGET_MEMORY / 1e9:.0f} GB of memory. "
        f"Lines of charts have up to {points:,} points.",
        "",
        "Time per cell of the largest post (last round, first build):",
        "",
        "| cell | s |",
        "|---|---|",
    ]
    last = scale[-1][0]
    cells = cell_seconds(last.notebook)
    lines += [f"| {name} | {seconds:.1f} |" for seconds, name in cells[:SLOWEST]]
    others = sum(seconds for seconds, _ in cells[SLOWEST:])
    rest = last.seconds - sum(seconds for seconds, _ in cells)
    lines += [
        f"| the other {len(cells) - SLOWEST} cells | {others:.1f} |",
        f"| starting Python and the kernel, writing the page | {rest:.1f} |",
    ]
    return "\n".join(lines) + "\n"


def _parts(slug: str, found: Sequence[Built]) -> str:
    """Where the time of one post goes: medians of its rounds."""
    cells = [each.seconds - each.before_s - each.after_s for each in found]
    parts = ([each.before_s for each in found], cells, [each.after_s for each in found])
    return f"| {slug} | {' | '.join(f'{statistics.median(part):.1f}' for part in parts)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lakes", type=Path, required=True, help="folder for the synthetic lake: 2 GB")
    parser.add_argument("--quick", action="store_true", help="one round, a fiftieth of the lake, print only")
    arguments = parser.parse_args()
    rounds = 1 if arguments.quick else ROUNDS
    size = Size(scale=0.02 if arguments.quick else 1.0)
    large = lake_of(arguments.lakes, size)
    every = check_posts([workspace().root / "papermill_params"], workspace())
    skipped = without_run(every, workspace())
    posts = [post for post in every if post.spec.slug not in skipped]
    with tempfile.TemporaryDirectory() as name:
        place = linked(workspace(), Path(name) / "own")
        notebooks = large.root / "notebooks"
        if not notebooks.exists():
            notebooks.symlink_to(workspace().notebooks)
        for lake in (place, large):  # files are compared with their checksums once, which is no cost of a post
            reader.lake(lake).close()
        params = scale_params(Path(name))
        one: dict[str, Builds] = {post.spec.slug: [] for post in posts}
        together: list[tuple[float, float]] = []
        scale: Builds = []
        for number in range(rounds):
            for post in posts:
                found = build_twice(post.path, post.spec.slug, place)
                one[post.spec.slug].append(found)
                print(number, post.spec.slug, *(round(each.seconds, 1) for each in found), flush=True)
            together.append(build_all_twice(posts, place))
            print(number, "all", *(round(seconds, 1) for seconds in together[-1]), flush=True)
            scale.append(build_twice(params, "scale", large))
            print(number, "scale", *(round(each.seconds, 1) for each in scale[-1]), flush=True)
    text = report(one, together, scale, size)
    print(text)
    if not arguments.quick:
        write_section("post_speed", text)


if __name__ == "__main__":
    main()
