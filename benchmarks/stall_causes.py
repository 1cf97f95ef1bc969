"""Whether dips are attributed to their causes: each cause is forced on a real server, and the labels are counted.

    python -m benchmarks.stall_causes                                 on the system's server; writes the page
    python -m benchmarks.stall_causes --build mysql-9.7 --into stall_causes_mysql    on another build, its own section
    python -m benchmarks.stall_causes --build postgres-15 --into stall_causes_postgres    and of another family
    python -m benchmarks.stall_causes --each 2 --healthy 2 --print    a look at it
    python -m benchmarks.stall_causes --keep DIR --only lock          only measures, and keeps the runs: a part
    python -m benchmarks.stall_causes --keep DIR --again              the page, from runs that were kept

A run of the Insert Benchmark, or of another workload, goes as fast as it can. Six seconds or more pass, then something
happens for three or more: the server or its clients are stopped, others take the CPUs, a lock is held, the file system
is frozen (benchmarks/injections.py; on PostgreSQL also what postgres_injections.py has).
`ibench stalls` does not know of that. A dip that overlaps what was done is right if it has that cause. On MySQL,
injections with an even number are for fitting the thresholds of the rules, those with an odd number for judging them.
Steps in which nothing is done, reads and writes, in memory and not, show how often a healthy step is blamed.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import injections, postgres_injections
from benchmarks.injections import BETWEEN_S, CGROUPS, SLOW_FSYNC_C, CaptureTarget, Forced
from benchmarks.performance_page import write_section
from ibench_lib.base.wording import count
from ibench_lib.capture import session
from ibench_lib.capture.collector import Collector
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.paths import Workspace, workspace
from ibench_lib.runner.cell import run_cell
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import plan_cell
from ibench_lib.runner.worker_state import WorkerState
from ibench_lib.servers.build import Build, release_of
from ibench_lib.servers.find import find_build
from ibench_lib.servers.flavours.flavour import flavour_of
from ibench_lib.store import reader
from ibench_lib.workloads.workload import Step

NAME = "stall_causes"
FORCED = injections.FORCED | postgres_injections.FORCED
FIRST_S = 6.0
CLIENTS = 2
HEALTHY_S = 8
NO_DIP = "no dip"
A_RUN = 25
"""Healthy steps in one run."""

EXPERIMENT = """
title: forced stalls
builds: [{build}]
configs_folder: configs
configs: [{{name: forced, fragments: [forced]}}]
setups: [{{name: forced, {setup}}}]
scale: 1
workload: {{clients: {clients}, {workload}}}
"""


@dataclass(frozen=True)
class Load:
    """What the server does meanwhile: the step in which something is done, and lines of the experiment.

    `rows` in a line is how many a client inserts, `seconds` how long the step lasts, `steps` what the run does.
    """

    step: str
    setup: str
    workload: str


LOADS = {
    "insert_benchmark": Load(
        "l.i1",
        "l_i0_rows: 200000, l_i1_rows: {rows}, l_i2_rows: 1000, query_seconds: 8",
        "benchmark: insert_benchmark, steps: [{steps}], count_rows: false",
    ),
    "queries": Load(
        "qr100",
        "l_i0_rows: 200000, l_i1_rows: 1000, l_i2_rows: 1000, query_seconds: {seconds}",
        "benchmark: insert_benchmark, steps: [{steps}], count_rows: false",
    ),
    "tpcc": Load(
        "run",
        "warehouses: 2, terminals: 8, ramp_up: 1.0, seconds: {seconds}",
        "benchmark: tpcc, checks: cheap",
    ),
    "linkbench": Load(
        "t8",
        "nodes: 20000, warm_up: 1.0, seconds: {seconds}",
        "benchmark: linkbench, requesters: [8], control: false, degree_tail: scaled, checked_ids: 0",
    ),
}

TITLES = {
    "insert_benchmark": "Insert Benchmark",
    "queries": "queries of the Insert Benchmark",
    "tpcc": "TPC-C",
    "linkbench": "LinkBench",
}

# By family: the file's name, its text, and what it has if nothing else needs other lines.
OPTIONS = {
    "mysql": (
        "forced.cnf",
        "[mysqld]\nskip_log_bin\ninnodb_buffer_pool_size={pool}\n{lines}",
        "innodb_flush_log_at_trx_commit=2\n",
    ),
    # Nothing checkpoints or vacuums by itself meanwhile.
    "postgres": (
        "forced.postgres.conf",
        "shared_buffers = {pool}B\nmax_wal_size = 8GB\ncheckpoint_timeout = 1h\nautovacuum = off\n{lines}",
        "synchronous_commit = off\n",
    ),
}
DISK_BYTES = 8 << 30


class Injector(Observer):
    """Does something again and again while the step runs; `done` are (from, to) in seconds of the step."""

    def __init__(self, scene: CaptureTarget, forced: Forced | None, each: int, step: str) -> None:
        self.scene, self.forced, self.left, self.step = scene, forced, each, step
        self.done: list[tuple[float, float]] = []
        self._thread: threading.Thread | None = None
        self._step_s = 0.0
        self._failed: list[BaseException] = []

    def step_progress(self, step: Step, workers: list[WorkerState], elapsed_s: float) -> None:
        if self._failed:
            raise self._failed[0]
        if step.name != self.step or self.forced is None or not self.left:
            return
        busy = self._thread is not None and self._thread.is_alive()
        due_s = self.done[-1][1] + self.forced.between_s if self.done else FIRST_S
        if busy or elapsed_s < due_s:
            return
        self.scene.client_pids = [state.process.pid for state in workers if state.process.pid]
        self.left -= 1
        self._thread = threading.Thread(target=self._act, args=(elapsed_s, time.monotonic()), daemon=True)
        self._thread.start()

    def _act(self, elapsed_s: float, now_s: float) -> None:
        assert self.forced is not None
        try:
            with self.forced.inject(self.scene):
                begun_s = time.monotonic()
                time.sleep(self.forced.lasts_s)
            self.done.append((elapsed_s + begun_s - now_s, elapsed_s + time.monotonic() - now_s))
        except BaseException as error:  # raised again where the runner sees it
            self._failed.append(error)


def every_s(forced: Forced | None) -> float:
    """From the start of an injection to that of the next one."""
    return forced.between_s + forced.ready_s + forced.lasts_s if forced else BETWEEN_S + Forced.lasts_s


def watching(scene: CaptureTarget) -> type[Collector]:
    """A collector that only looks where the server is."""

    class Where(Collector):
        name = "where"
        tables = ()

        def sample(self, tick: int, now_s: Callable[[], float]) -> None:
            scene.address = dict(self.scene.address)
            scene.server_pid = self.scene.server_pid() or 0
            scene.tables = self.scene.tables

    return Where


@contextlib.contextmanager
def disk(place: Workspace) -> Iterator[Path]:
    """A file system of its own for data directories, on a loop device. Needs root."""
    image = place.root / "disk.img"
    with open(image, "wb") as file:
        file.truncate(DISK_BYTES)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    place.sandboxes.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(place.sandboxes)], check=True)
    try:
        yield place.sandboxes
    finally:
        subprocess.run(["umount", str(place.sandboxes)], check=True)
        image.unlink()


def slow_fsync(place: Workspace, build: Build) -> tuple[Build, Path]:
    """The build with a library between it and fsync, and the file that makes fsync slow while it is there."""
    switch, library = place.root / "slow", place.root / "slow_fsync.so"
    source = place.root / "slow_fsync.c"
    source.write_text(SLOW_FSYNC_C.replace("SWITCH", str(switch)))
    subprocess.run(["gcc", "-shared", "-fPIC", "-O", "-o", str(library), str(source), "-ldl"], check=True)
    return replace(build, environment={**build.environment, "LD_PRELOAD": str(library)}), switch


def for_family(build: Build) -> dict[str, Forced]:
    """What can be forced on servers of a build's family."""
    family = flavour_of(build).family
    return {name: forced for name, forced in FORCED.items() if forced.family in (None, family)}


def missing(forced: Forced, build: Build, load: str) -> str | None:
    """Why something cannot be forced here."""
    lacks = {
        "insert_benchmark": load != "insert_benchmark",
        "mysql": build.flavour != "mysql" or release_of(build.version) < (8, 0, 30),
        "gcc": shutil.which("gcc") is None,
        "root": os.geteuid() != 0 or not Path("/dev/loop-control").exists() or not (CGROUPS / "blkio").is_dir(),
        "cpu groups": os.geteuid() != 0 or not (CGROUPS / "cpu").is_dir(),
        "root user": os.geteuid() != 0,
        "swap": len(Path("/proc/swaps").read_text().splitlines()) < 2,
    }
    needed = sorted(need for need in forced.needs if lacks[need])
    return f"needs {', '.join(needed)}" if needed else None


def run(
    place: Workspace, build: Build, forced: Forced | None, each: int, pool: str, load: Load, speed: int
) -> tuple[str, list[tuple[float, float]]]:
    """One run with so many injections, or healthy steps. Returns its id and when something was done."""
    seconds = FIRST_S + each * every_s(forced) + (forced.first_s if forced else 0.0)
    steps = ["l.i0", "l.x", load.step] if forced else ["l.i0", "l.x", *healthy(each)]
    known = {
        "rows": int((seconds if forced else HEALTHY_S) * rows_per_s(forced, speed) / CLIENTS),
        "seconds": seconds,
        "steps": ", ".join(steps),
    }
    fragments = place.root / "configs"
    fragments.mkdir(exist_ok=True)
    name, text, lines = OPTIONS[flavour_of(build).family]
    (fragments / name).write_text(text.format(pool=pool, lines=lines + (forced.my_cnf if forced else "")))
    path = place.root / "forced.yaml"
    setup, workload = load.setup.format_map(known), load.workload.format_map(known)
    path.write_text(EXPERIMENT.format(build=build.label, clients=CLIENTS, setup=setup, workload=workload))
    loaded = load_experiment(path)
    scene = CaptureTarget()
    with contextlib.ExitStack() as stack:
        if forced and "root" in forced.needs:
            scene.disk = stack.enter_context(disk(place))
        if forced and "gcc" in forced.needs:
            build, scene.fsync_switch = slow_fsync(place, build)
        injector = Injector(scene, forced, each, load.step)
        collectors = session.collectors

        def with_where(family: str | None = None) -> dict[str, type[Collector]]:
            return {**collectors(family), "where": watching(scene)}

        session.collectors = with_where
        stack.callback(setattr, session, "collectors", collectors)
        manifest = run_cell(loaded, plan_cell(loaded, loaded.cells()[0], build), place, injector)
    return manifest.run_id, injector.done


def rows_per_s(forced: Forced | None, speed: int = 100) -> int:
    """More than a server does here: the step must not end before the last injection. And not much more."""
    return (23_000 if forced and "commit=1" in forced.my_cnf else 30_000) * speed // 100


def healthy(steps: int) -> list[str]:
    """Writes and reads in turn."""
    kinds = ("l.i1", "qr100", "qp100", "qr500")
    return [f"{{step: {kinds[each % 4]}, name: healthy{each}}}" for each in range(steps)]


def labels(
    place: Workspace, run_id: str, step: str, done: list[tuple[float, float]], cause: str
) -> list[tuple[str, str]]:
    """For each injection the label and confidence of the dip that overlaps it most; ('no dip', '') without one.

    Where it is not `cause`, the evidence for that is printed.
    """
    lake = reader.lake(place)
    dips = reader.question(lake, "dips", runs=[run_id], steps=[step]).to_dicts()
    evidence = reader.question(lake, "dip_evidence", runs=[run_id], steps=[step])
    found = []
    for begin, end in done:
        near = [dip for dip in dips if dip["from_s"] < end + 1.5 and dip["to_s"] > begin - 0.5]
        near.sort(key=lambda dip: min(dip["to_s"], end) - max(dip["from_s"], begin))
        best = near[-1] if near else None
        found.append((best["cause"] or "unexplained", best["confidence"] or "") if best else (NO_DIP, ""))
        if best:
            candidates = [(one["cause"], one["points"]) for one in best["candidates"][:3]]
            print(f"    {begin:.1f} to {end:.1f}: {found[-1]} {best['from_s']}-{best['to_s']} {candidates}", flush=True)
        if best and best["cause"] != cause:
            for rule in evidence.filter(cause=cause, dip=best["dip"]).to_dicts():
                print("       ", {key: rule[key] for key in ("points", "measure", "value", "out_mean", "holds")})
    return found


def judging(found: dict[str, list[tuple[str, str]]], *, fitted: bool) -> dict[str, list[tuple[str, str]]]:
    """The answers that judge: all, or the half by which no threshold was chosen."""
    return {name: answers[1::2] if fitted else answers for name, answers in found.items()}


def matrix(judged: dict[str, list[tuple[str, str]]]) -> list[str]:
    """A Markdown table: what was done by what was said."""
    said = sorted({label for answers in judged.values() for label, _ in answers} - {NO_DIP})
    lines = [
        f"| forced | {' | '.join(said)} | right | of these with high confidence | no dip |",
        "|---" * (len(said) + 4) + "|",
    ]
    for name, answers in judged.items():
        cause = FORCED[name].cause
        counts = Counter(label for label, _ in answers)
        high = sum(label == cause and sure == "high" for label, sure in answers)
        cells = " | ".join(str(counts[label] or "") for label in said)
        right = f"{counts[cause]} of {len(answers) - counts[NO_DIP]}"
        lines.append(f"| {name} | {cells} | {right} | {high} | {counts[NO_DIP] or ''} |")
    return lines


def judge(place: Workspace) -> tuple[dict[str, list[tuple[str, str]]], int, list[str], set[str]]:
    """Labels of the injections that the folder's runs have, healthy steps, which of them are blamed, and versions."""
    found: dict[str, list[tuple[str, str]]] = {}
    steps, blamed, versions = 0, [], set()
    for path in sorted((place.root / "injections").glob("*.json")):
        told = json.loads(path.read_text())
        lake = reader.lake(place)
        (version,) = reader.sql(lake, f"SELECT server_version FROM runs WHERE run_id = '{path.stem}'")["server_version"]
        versions.add(version)
        if told["forced"]:
            print(told["forced"], flush=True)
            labelled = labels(place, path.stem, told["step"], told["done"], FORCED[told["forced"]].cause)
            found[told["forced"]] = found.get(told["forced"], []) + labelled
            continue
        names = reader.sql(lake, f"SELECT step FROM steps WHERE run_id = '{path.stem}' AND step LIKE 'healthy%'")[
            "step"
        ]
        dips = reader.question(lake, "dips", runs=[path.stem], steps=names.to_list())
        sure = dips.filter(dips["confidence"] == "high")
        steps += len(names)
        blamed += [f"{dip['step']} with {told['pool']}: {dip['cause']} at {dip['from_s']} s" for dip in sure.to_dicts()]
        print(
            f"{len(names)} healthy steps, {len(dips)} dips:", Counter(dips["label"]).most_common(), blamed, flush=True
        )
    return found, steps, blamed, versions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="system")
    parser.add_argument("--each", type=int, default=20, help="injections of each cause")
    parser.add_argument("--healthy", type=int, default=100, help="steps in which nothing is done")
    parser.add_argument("--only", default=",".join(FORCED), help="what to force: names from benchmarks/injections.py")
    parser.add_argument("--workload", choices=LOADS, default="insert_benchmark")
    parser.add_argument("--pool", default="1G")
    parser.add_argument(
        "--speed",
        type=int,
        default=100,
        help="percent: how fast this machine is, so that steps do not last longer than needed",
    )
    parser.add_argument("--into", default=NAME, help="the section of docs/benchmarks/stall_causes.md")
    parser.add_argument("--keep", type=Path, help="a folder that keeps the runs, to look into and to judge again")
    parser.add_argument("--again", action="store_true", help="run nothing: judge what --keep has")
    parser.add_argument("--print", action="store_true", help="print only")
    chosen = parser.parse_args()
    build = find_build(chosen.build, workspace())
    if not isinstance(build, Build):
        parser.error(f"build {chosen.build} runs on another host, where nothing can be forced")
    with tempfile.TemporaryDirectory(prefix="stall-causes-") as folder:
        os.chmod(folder, 0o711)  # a server that does not run as root has to reach its files
        place = Workspace(chosen.keep or Path(folder))
        (place.root / "injections").mkdir(parents=True, exist_ok=True)
        if not chosen.again:
            measure(place, build, chosen)
        if chosen.keep and not chosen.again:
            return  # a part of the whole
        mine = for_family(build)
        left_out = {name: why for name, forced in mine.items() if (why := missing(forced, build, chosen.workload))}
        found, steps, blamed, versions = judge(place)
        each = max(map(len, found.values()), default=0)
        where = f"{TITLES[chosen.workload]} on {', '.join(sorted(versions))}"
        text = report(where, each, found, left_out, steps, blamed, mine, fitted=flavour_of(build).family == "mysql")
    print(text)
    if not chosen.print:
        write_section(chosen.into, text, by=NAME)


def measure(place: Workspace, build: Build, chosen: argparse.Namespace) -> None:
    """The runs that were asked for, each with a file that says when something was done."""
    runs: list[tuple[Forced | None, int, str]] = []
    for name in chosen.only.split(",") if chosen.only else []:
        if name in for_family(build) and not missing(FORCED[name], build, chosen.workload):
            runs.append((FORCED[name], chosen.each, chosen.pool))
    load = LOADS[chosen.workload]
    for number, pool in zip(range(0, chosen.healthy, A_RUN), itertools.cycle(("1G", "64M")), strict=False):
        runs.append((None, min(A_RUN, chosen.healthy - number), pool))
    for forced, each, pool in runs:
        run_id, done = run(place, build, forced, each, pool, load, chosen.speed)
        told = {"forced": forced.name if forced else None, "pool": pool, "step": load.step, "done": done}
        (place.root / "injections" / f"{run_id}.json").write_text(json.dumps(told))


def report(
    where: str,
    each: int,
    found: dict[str, list[tuple[str, str]]],
    left_out: dict[str, str],
    healthy_steps: int,
    blamed: list[str],
    known: Iterable[str] = FORCED,
    *,
    fitted: bool = True,
) -> str:
    """The section of the page.

    `known` is what can be forced on such a server; `fitted`: whether thresholds were chosen on servers of its family.
    """
    answers_of = judging(found, fitted=fitted)
    judged = [
        (FORCED[name].cause, label) for name, answers in answers_of.items() for label, _ in answers if label != NO_DIP
    ]
    right = sum(cause == label for cause, label in judged)
    sides = ("client_pause", "server_stopped")
    swapped = sum(cause != label and cause in sides and label in sides for cause, label in judged)
    are = "is" if len(judged) == 1 else "are"
    lasted = " or ".join(f"{seconds:g} s" for seconds in sorted({FORCED[name].lasts_s for name in found}))
    lines = [
        f"# Causes of dips{f', only {next(iter(found))}' if len(found) == 1 else ''}, {where}",
        "",
        f"Measured with `python -m benchmarks.{NAME}`: each cause was forced up to {each} times, for",
        f"{lasted}, in a step that goes as fast as it can. A row of the table",
        "is what was done, a column what `ibench stalls` says.",
        "The thresholds of the rules were chosen with every other injection; the table has the others."
        if fitted
        else "The thresholds of the rules were chosen without any of these injections; the table has all.",
        "Where the rate did not fall enough to be a dip, there is nothing to attribute to a cause: *no dip*",
        "counts these.",
        "",
        *matrix(answers_of),
        "",
        f"{right:,} of {count(len(judged), 'label')} {are} right. A stopped server was mistaken for paused clients, or",
        f"the reverse, {count(swapped, 'time')}.",
    ]
    if healthy_steps:
        steps_blamed = len({blame.split(":")[0] for blame in blamed})
        lines += [
            "",
            f"In {healthy_steps} steps in which nothing was done, {steps_blamed} had a dip with a cause of high"
            f" confidence{':' if blamed else '.'}",
            *([""] if blamed else []),
            *(f"- {blame}" for blame in blamed),
        ]
    absent = [name for name in known if name not in found and name not in left_out]
    if absent:
        lines += ["", *textwrap.wrap(f"Not measured in this round: {', '.join(absent)}.", 110)]
    if left_out:
        lines += ["", "Not forced: " + "; ".join(f"{name} ({why})" for name, why in left_out.items()) + "."]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
