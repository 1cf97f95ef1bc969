"""Kills at random moments: commands on tiny experiments of every workload, one process killed each time.

    python -m benchmarks.soak FOLDER --kills 300     kill until there are so many in FOLDER; SIGTERM ends it in between
    python -m benchmarks.soak FOLDER --report        print what was found; with --write, into docs/trust.md
    python -m benchmarks.soak FOLDER --only mysql97  run only these experiments (several, parted by commas)

FOLDER holds the lakes, and events.jsonl: one line for each event with its seed, so that the next call goes on. An event
starts a command, waits for a random time, kills one of its processes with SIGKILL, and checks what `Aftermath` says.
Commands are forked from this process, which has imported what they need: a random moment is one of their work.
"""

from __future__ import annotations

import argparse
import atexit
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.performance_page import write_section
from ibench_lib.base.wording import count
from ibench_lib.cli.main import main as ibench
from ibench_lib.errors import IbenchError
from ibench_lib.paths import SOURCE_ROOT, Workspace
from ibench_lib.store import lock
from ibench_lib.store.journal import FOLDER as JOURNAL
from ibench_lib.store.journal import read_journal
from ibench_lib.store.manifest import Manifest, read_manifest
from ibench_lib.store.sealing import table_of
from ibench_lib.store.verify import verify

PAGE = SOURCE_ROOT / "docs" / "trust.md"
SEED = 20_261_124
PATIENCE_S = 300.0
OLD_S = 300.0
"""What a killed process leaves in $TMPDIR may stay for so long: younger folders are not swept."""
MANY_RUNS = 30
CELLS = 3
KILLS = 3
"""So many at most while one command runs an experiment: the last one may be of a later cell."""
_SUBREAPER = 36

_COMMON = (
    "title: soak\nbuilds: [{build}]\nconfigs: [{{name: tiny, fragments: [tiny]}}]\nconfigs_folder: own\nrepeats: 3\n"
)
INSERTS = (
    _COMMON + "setups: [{{name: tiny, l_i0_rows: 20000, l_i1_rows: 4000, l_i2_rows: 100, query_seconds: 1}}]\n"
    "workload: {{benchmark: insert_benchmark, clients: 2, steps: [l.i0, l.x, {{step: l.i1, rate: 1000}}, qr100]}}\n"
)
TPCC = (
    _COMMON + "setups: [{{name: s, warehouses: 1, terminals: 4, ramp_up: 1.0, seconds: 2.0}}]\n"
    "workload: {{benchmark: tpcc, clients: 2, checks: cheap}}\n"
)
LINKS = (
    _COMMON + "setups: [{{name: s, nodes: 2000, warm_up: 1.0, seconds: 1.0}}]\nsnapshot_after: load\n"
    "workload: {{benchmark: linkbench, clients: 2, requesters: [1, 2], degree_tail: scaled, partitions: 2}}\n"
)
EXPERIMENTS = {
    "inserts": INSERTS.format(build="system"),
    "tpcc": TPCC.format(build="system"),
    "links": LINKS.format(build="system"),
    "mysql97": INSERTS.format(build="mysql-9.7"),
    "mysql56": INSERTS.format(build="mysql-5.6.24"),
}
POST = "notebook: {notebook}\nslug: {name}\ntitle: soak\nauthor: soak\nparameters: {{experiment: {name}}}\n"
NOTEBOOKS = {"inserts": "insert_benchmark", "tpcc": "tpcc", "links": "linkbench"}
TINY = (
    "[mysqld]\ninnodb_buffer_pool_size=64M\nloose_innodb_log_file_size=32M\nskip_log_bin\n"
    "innodb_flush_log_at_trx_commit=0\n"
)

Rows = dict[tuple[Any, ...], tuple[int, int]]


def roles(command: psutil.Process, name: str) -> dict[str, list[psutil.Process]]:
    """The living processes of a command, by what they are. `name` is what its own process is called."""
    found: dict[str, list[psutil.Process]] = defaultdict(list)
    with suppress(psutil.Error):
        if command.status() != psutil.STATUS_ZOMBIE:
            found[name].append(command)
        for process in command.children(recursive=True):
            with suppress(psutil.Error):
                line = " ".join(process.cmdline())
                if line:
                    found[_role(line)].append(process)
    return dict(found)


_ROLES = {
    "client.worker": "client",
    "cell_process": "cell process",
    "post_process": "post process",
    "ipykernel": "kernel",
    "--bootstrap": "server that initialises",
    "--initialize": "server that initialises",
    "--skip-networking": "server",
    "--verbose": "check of options",
    "tether": "starting process",
}


def _role(line: str) -> str:
    return next((role for part, role in _ROLES.items() if part in line), "other")


@dataclass
class Command:
    """One command to be killed. `home` is its workspace, `then` must succeed after it, `check` finds problems."""

    arguments: list[str]
    home: Path
    then: list[str] | None = None
    check: Callable[[], list[str]] | None = None


@dataclass
class Event:
    """What one kill was, and what was wrong after it."""

    number: int
    what: str
    victim: str = ""
    moment: str = ""
    killed: bool = False
    after_s: float = 0.0
    began_s: float = 0.0
    took_s: float = 0.0
    problems: list[str] = field(default_factory=list)
    code: str = ""
    at: str = ""


class Soak:
    """The lakes in a folder and the events so far; `only` are experiments, to run these and nothing else."""

    def __init__(self, folder: Path, only: Sequence[str] = ()) -> None:
        self.folder, self.only = folder.resolve(), only
        self.log = self.folder / "events.jsonl"
        self.home, self.other = self.folder / "home", self.folder / "other"
        self.store, self.tmp, self.shared = self.folder / "store", self.folder / "tmp", self.folder / "shared"
        for home in (self.home, self.other):
            (home / "own").mkdir(parents=True, exist_ok=True)
            (home / "data" / "builds" / ".datadirs").mkdir(parents=True, exist_ok=True)
            (home / "own" / "tiny.cnf").write_text(TINY)
            for name, text in EXPERIMENTS.items():
                (home / f"{name}.yaml").write_text(text)
            for name, notebook in NOTEBOOKS.items():
                (home / f"{name}.yml").write_text(POST.format(notebook=notebook, name=name))
            for build in (SOURCE_ROOT / "data" / "builds").glob("mysql-*"):
                if not (home / "data" / "builds" / build.name).exists():
                    shutil.copytree(
                        build, home / "data" / "builds" / build.name, symlinks=True, copy_function=_link_or_copy
                    )
        for folder in (self.store, self.tmp):
            folder.mkdir(exist_ok=True)
        self.events = [Event(**json.loads(line)) for line in self._lines()]
        self.more: list[Event] = []
        """The second and third kill of the event under way."""
        self.stopped = False

    def _lines(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    @property
    def kills(self) -> int:
        return sum(event.killed for event in self.events)

    def durations_s(self, what: str) -> tuple[float, float]:
        """How long that command takes of late until its run begins, and then; 0 of one that was not played yet.

        On a host so slow that each was killed before it could end, how long these have lived stands for it.
        """
        played = [event for event in self.events if event.what == what and event.took_s > 1]
        ended = ([event for event in played if not event.killed] or played)[-3:]
        began = [event.began_s for event in ended]
        number = max(1, len(ended))
        return sum(began) / number, sum(event.took_s - event.began_s for event in ended) / number

    def next(self) -> Event:
        """One event, whose seed is its number."""
        number = self.events[-1].number + 1 if self.events else 1
        random = Random(f"{SEED} {number}")
        what = self._choose(random)
        event = Event(number, what, code=_code(), at=f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}")
        try:
            with in_time_limit():
                self._play(event, random)
        except Exception:
            event.problems.append("soak: " + traceback.format_exc(limit=-3))
        _end_all(psutil.Process().children(recursive=True))
        with open(self.log, "a", encoding="utf-8") as file:
            for each in (event, *self.more):
                self.events.append(each)
                file.write(json.dumps(each.__dict__) + "\n")
        self.more = []
        return event

    def _choose(self, random: Random) -> str:
        made = len(_runs(self.home))
        if made > MANY_RUNS:
            return "remove"
        if self.only:
            return f"run {random.choice(self.only)}"
        weights = {f"run {name}": 4 for name in EXPERIMENTS} | {"run links": 6, "run tpcc": 5, "run inserts": 6}
        weights |= {"sql": 4, "summary": 3, "recover": 3, "dask": 24, "dask store": 12}
        if any(run.status == "complete" for run in _runs(self.home).values()):
            weights |= {"post": 4, "posts": 4, "push": 6, "push zip": 5, "pull": 8, "remove": 3, "verify": 4}
        return random.choices(list(weights), list(weights.values()))[0]

    def _play(self, event: Event, random: Random) -> None:
        what, _, of = event.what.partition(" ")
        command = getattr(self, f"_{what}")(of, random)
        aside: list[int] = []
        if what == "dask":
            aside = self._lab()
            command.arguments += ["--scheduler", self.address]
        before_s, then_s = self.durations_s(event.what)
        in_run = what in ("run", "dask") and random.random() < 0.8  # else most kills would meet what precedes a run
        name = "runner" if what in ("run", "dask") else f"ibench {command.arguments[0]}"
        before = {home: seen(home) for home in (self.home, self.other)}
        out = self.folder / "out.txt"
        pid = self._fork(command.arguments, command.home, out)
        process = psutil.Process(pid)
        begun = time.monotonic()
        event.after_s = random.uniform(0, then_s if in_run else before_s + then_s) if then_s else PATIENCE_S
        zero, kill, self.more = None if in_run else begun, event, []
        known = _names(self.folder)
        for _ in range(KILLS if what in ("run", "dask") else 1):
            while not _ended(pid) and (zero is None or time.monotonic() - zero < kill.after_s):
                time.sleep(0.01)
                if _names(self.folder) - known:
                    event.began_s = event.began_s or time.monotonic() - begun
                    zero, known = time.monotonic() if zero is None else zero, _names(self.folder)
            if _ended(pid):
                break
            before = {home: rows | seen(home) for home, rows in before.items()}
            self._kill(kill, process, name, aside, random)
            if kill is not event:
                self.more.append(kill)
            if kill.victim == name or not kill.killed:
                break
            # The command goes on, with the next cell: one of its processes is killed there.
            kill, zero = Event(event.number, event.what, code=event.code, at=event.at), None
            kill.after_s = random.uniform(0, then_s / CELLS if then_s else 1.0)
        code = _wait(pid)
        event.took_s = time.monotonic() - begun
        said = out.read_text(errors="replace")
        if code is None:
            event.problems.append(f"{event.what}: no end within {PATIENCE_S:g} s after the kill: {said[-300:]}")
        if "Traceback" in said:
            event.problems.append(f"{event.what}: traceback: {said[-1200:]}")
        of_command = name in (event.victim, *(kill.victim for kill in self.more))
        if code == 0 and event.killed and not of_command and event.victim in ("kernel", "post process"):
            event.problems.append(f"exit code 0 although its {event.victim} was killed")
        if not event.killed and code != 0:
            event.problems.append(f"{event.what}: exit {code} without a kill: {said[-600:]}")
        for each in aside:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGTERM)
        event.problems += _left(of_command or bool(aside))
        event.problems += self._aftermath(command, before, clean=what == "run" and not event.killed and not self.more)

    def _kill(self, event: Event, process: psutil.Process, name: str, aside: list[int], random: Random) -> None:
        found = roles(process, name)
        for number, each in enumerate(aside):
            for role, processes in roles(psutil.Process(each), "worker" if number else "scheduler").items():
                found.setdefault(role, []).extend(processes)
        if not found:
            return
        others = sorted(set(found) - {name})
        event.victim = name if not others or random.random() < (0.1 if aside else 0.4) else random.choice(others)
        event.moment = moment(self.folder) if event.what.split()[0] in ("run", "dask", "recover") else ""
        try:
            random.choice(found[event.victim]).kill()
            event.killed = True
        except psutil.NoSuchProcess:
            event.victim = ""

    def _aftermath(self, command: Command, before: dict[Path, dict[str, Rows]], *, clean: bool) -> list[str]:
        problems: list[str] = []
        homes = {self.home, command.home, *(self.folder.glob("worker?") if "--scheduler" in command.arguments else ())}
        for home in sorted(homes):
            code, said = self._ask(["runs", "recover"], home)
            if code != 0 or "Traceback" in said:
                problems.append(f"recover in {home.name}: exit {code}: {said[-1000:]}")
            gone = command.arguments[:2] == ["runs", "remove"]
            problems += self._forked(partial(checks, home, before.get(home, {}), gone=gone))
        if command.then is not None:
            code, said = self._ask(command.then, command.home)
            if code != 0 or "Traceback" in said:
                problems.append(f"`ibench {' '.join(command.then)}` after it: exit {code}: {said[-1000:]}")
        if command.check is not None:
            problems += self._forked(command.check)
        if clean:
            problems += [f"a snapshot is left: {path}" for path in (self.home / "data" / "snapshots").glob("*")]
        now = time.time()
        for path in self.tmp.iterdir():
            with suppress(FileNotFoundError):
                if now - path.lstat().st_mtime > OLD_S and path.name != "dask-scratch-space":
                    problems.append(f"left in $TMPDIR: {path.name}: {_below(path)}")
                    _remove(path)
        return problems

    def _ask(self, arguments: list[str], home: Path) -> tuple[int | None, str]:
        out = self.folder / "answer.txt"
        code = _wait(self._fork(arguments, home, out))
        return code, out.read_text(errors="replace")

    def _forked(self, check: Callable[[], list[str]]) -> list[str]:
        """What a check finds in a process of its own: this one must not start threads."""
        out = self.folder / "checked.json"
        pid = os.fork()
        if pid == 0:
            try:
                out.write_text(json.dumps(check()))
            except BaseException:
                out.write_text(json.dumps(["soak: a check failed: " + traceback.format_exc(limit=-4)]))
            os._exit(0)
        _wait(pid)
        found: list[str] = json.loads(out.read_text())
        return found

    def _fork(self, arguments: list[str], home: Path, out: Path, program: Callable[[], Any] = ibench) -> int:
        pid = os.fork()
        if pid:
            return pid
        code = 70
        try:
            os.setsid()
            target = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(target, 1)
            os.dup2(target, 2)
            os.environ |= {"IBENCH_HOME": str(home), "TMPDIR": str(self.tmp), "COLUMNS": "200"}
            os.environ["PYTHONPATH"] = str(SOURCE_ROOT)
            tempfile.tempdir = None
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            os.chdir(home)
            sys.argv = ["ibench", *arguments]
            program()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            with suppress(Exception):
                sys.stdout.flush()
                atexit._run_exitfuncs()
            os._exit(code)

    # ------------------------------------------------------------------------- commands

    def _run(self, of: str, random: Random) -> Command:
        every = [run_id for run_id, run in _runs(self.home).items() if run.experiment.name == of]
        again = ["--again"] if every and random.random() < 0.9 else []
        return Command(["run", f"{of}.yaml", *again], self.home)

    def _dask(self, of: str, random: Random) -> Command:
        """With `store`, a new one: no cell may be there twice."""
        if of:
            _remove(self.shared)
            self.shared.mkdir()
            return Command(["run", "inserts.yaml", "--store", str(self.shared)], self.home, check=self._twice)
        again = ["--again"] if random.random() < 0.9 else []
        return Command(["run", "inserts.yaml", *again], self.home)

    def _twice(self) -> list[str]:
        """Cells that have two complete runs in the store of the workers, and runs there that are not good."""
        runs = [read_manifest(path.parent) for path in self.shared.glob("*/manifest.json")]
        made = Counter(run.cell.fingerprint for run in runs if run.status == "complete")
        wrong = [
            f"{run.run_id} in the store: {problem}" for run in runs for problem in verify(self.shared / run.run_id)
        ]
        return wrong + [f"cell {cell} is in the store {number} times" for cell, number in made.items() if number > 1]

    def _lab(self) -> list[int]:
        """The processes of a scheduler and of two workers."""
        from distributed.cli import dask_scheduler

        file = self.folder / "scheduler.json"
        file.unlink(missing_ok=True)
        options = ["--no-dashboard", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)]
        pids = [self._fork(options, self.home, self.folder / "scheduler.txt", dask_scheduler.main)]
        while not (file.is_file() and file.read_text().endswith("}")):
            time.sleep(0.05)
        self.address = str(json.loads(file.read_text())["address"])
        for name in ("worker1", "worker2"):
            home = self.folder / name
            (home / "data" / "builds").mkdir(parents=True, exist_ok=True)
            with suppress(FileExistsError):
                os.symlink(self.home / "data" / "builds" / ".datadirs", home / "data" / "builds" / ".datadirs")
            pids.append(self._fork(["worker", self.address, "--name", name], home, self.folder / f"{name}.txt"))
        return pids

    def _post(self, _of: str, random: Random) -> Command:
        name = random.choice(self._shown())
        pages = {page: page.read_bytes() for page in (self.home / "data" / "posts").glob("*.html")}
        return Command(["post", f"{name}.yml"], self.home, check=lambda: _pages(self.home, pages))

    def _shown(self) -> list[str]:
        """Experiments that have a complete run, and a post."""
        with_runs = {run.experiment.name for run in _runs(self.home).values() if run.status == "complete"}
        return sorted(with_runs & set(NOTEBOOKS)) or ["inserts"]

    def _posts(self, _of: str, _random: Random) -> Command:
        pages = {page: page.read_bytes() for page in (self.home / "data" / "posts").glob("*.html")}
        files = [f"{name}.yml" for name in self._shown()]
        return Command(["posts", *files, "-j", "2"], self.home, check=lambda: _pages(self.home, pages))

    def _push(self, of: str, _random: Random) -> Command:
        target = self.folder / "runs.zip" if of == "zip" else self.store
        _remove(target)
        then = ["runs", "push", str(target)]

        def check() -> list[str]:
            left = list(self.folder.glob(".ibench-*"))
            for path in left:
                _remove(path)  # it is a finding once
            return [f"left by push: {path.name}" for path in left]

        # A zip file is written once: if it is there, all of it is.
        return Command(then, self.home, None if of == "zip" else then, check if of == "zip" else None)

    def _pull(self, _of: str, _random: Random) -> Command:
        if not any(self.store.glob("*/manifest.json")):
            self._ask(["runs", "push", str(self.store)], self.home)
        _remove(self.other / "data" / "runs")
        then = ["runs", "pull", str(self.store)]

        def check() -> list[str]:
            pushed = sorted(path.parent.name for path in self.store.glob("*/manifest.json"))
            pulled = sorted(_runs(self.other))
            return [] if pushed == pulled else [f"pulled {pulled}, but the store has {pushed}"]

        return Command(then, self.other, then, check)

    def _sql(self, _of: str, _random: Random) -> Command:
        query = "SELECT run_id, step, sum(ops) FROM ops GROUP BY ALL ORDER BY ALL"
        return Command(["sql", query], self.home, ["sql", query])

    def _summary(self, _of: str, random: Random) -> Command:
        of = random.choice(self._shown())
        complete = any(run.experiment.name == of and run.status == "complete" for run in _runs(self.home).values())
        return Command(["summary", of] if complete else ["runs"], self.home)

    def _verify(self, _of: str, _random: Random) -> Command:
        return Command(["runs", "verify"], self.home, ["runs", "verify"])

    def _recover(self, _of: str, random: Random) -> Command:
        """`runs recover` of a runner that was killed just before."""
        pid = self._fork(["run", "inserts.yaml", "--again"], self.home, self.folder / "out.txt")
        time.sleep(random.uniform(2, 3 + self.durations_s("run inserts")[1]))
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        _wait(pid)
        _left(True)
        return Command(["runs", "recover"], self.home, ["runs", "recover"])

    def _remove(self, _of: str, random: Random) -> Command:
        every = sorted(_runs(self.home))
        gone = random.sample(every, max(1, len(every) // 2))
        return Command(["runs", "remove", "--yes", *gone], self.home)


def checks(home: Path, before: dict[str, Rows], *, gone: bool) -> list[str]:
    """What is wrong with a workspace after a kill and `runs recover`."""
    place, problems = Workspace(home), []
    for folder in (place.sandboxes, place.runs):
        hidden = folder == place.runs
        for path in folder.glob(".*" if hidden else "*"):
            problems.append(f"left in {folder.name}: {path.name}")
            _remove(path)  # it is a finding once
    found = {path.name: path for path in place.runs.glob("*") if not path.name.startswith(".")}
    complete: Counter[tuple[str, str]] = Counter()
    for run_id, run_dir in found.items():
        try:
            problems += [f"{run_id}: {problem}" for problem in verify(run_dir)]
            manifest = read_manifest(run_dir)
        except IbenchError as error:
            problems.append(f"{run_id}: {error.what}")
            continue
        if manifest.status == "complete":
            complete[manifest.experiment.name, run_id] += 1
            problems += [f"{run_id}: wrongly complete: {why}" for why in not_complete(run_dir, manifest)]
        elif not manifest.error:
            problems.append(f"{run_id}: {manifest.status} without a reason")
    after = seen(home)
    for run_id, rows in before.items():
        if run_id not in found:
            if rows and not gone:
                problems.append(f"{run_id}: it is gone")
            continue
        lost = {key: row for key, row in rows.items() if after[run_id].get(key) != row}
        if lost:
            problems.append(
                f"{run_id}: {len(lost)} seconds that were readable are not there: {next(iter(lost.items()))}"
            )
    return problems


def not_complete(run_dir: Path, manifest: Manifest) -> list[str]:
    """Why a run that says it is complete is not."""
    steps = pq.read_table(run_dir / "steps.parquet").to_pylist()
    planned = {str(step["name"]) for step in manifest.workload["resolved_steps"]} - set(manifest.steps_loaded)
    done = {str(row["step"]) for row in steps if row["status"] == "complete"}
    wrong = [f"step {name} is not complete" for name in sorted(planned - done)]
    wrong += [f"step {row['step']} is {row['status']}" for row in steps if row["status"] != "complete"]
    wrong += [f"a check of {verdict.step} failed" for verdict in manifest.verdicts if verdict.failed]
    workers = pq.read_table(run_dir / "workers.parquet").to_pylist()
    wrong += [f"worker {row['worker']} of {row['step']}" for row in workers if row["status"] != "complete"]
    return wrong


def seen(home: Path) -> dict[str, Rows]:
    """Of each run, the seconds that a reader can see: (step, worker, operation, second) -> operations and rows."""
    found: dict[str, Rows] = {}
    for run_dir in (home / "data" / "runs").glob("*"):
        if run_dir.name.startswith("."):
            continue
        for _ in range(3):  # a step may be sealed while this looks
            try:
                found[run_dir.name] = _seconds(run_dir)
                break
            except (OSError, IbenchError, pa.ArrowException):
                found.setdefault(run_dir.name, {})
    return found


_SECONDS = ("step_id", "worker", "operation", "second", "ops", "rows")


def _seconds(run_dir: Path) -> Rows:
    manifest = read_manifest(run_dir)
    tables = [pq.read_table(run_dir / name) for name in manifest.files if table_of(name) == "ops"]
    if lock.is_open(run_dir):
        tables += read_journal(run_dir / JOURNAL, after=manifest.sealed_generation).batches.get("ops", [])
    rows: Rows = {}
    for table in tables:
        columns = [table.column(name).to_pylist() for name in _SECONDS]
        rows |= {key: (ops, of) for *key_, ops, of in zip(*columns, strict=True) if (key := tuple(key_))}
    return rows


def moment(folder: Path) -> str:
    """What the newest run under way was doing: before its steps, in one of them, or being sealed."""
    for run_dir in sorted(folder.glob("*/data/runs/[!.]*"), key=lambda path: path.name, reverse=True):
        try:
            if not (lock.is_open(run_dir) and lock.is_held(run_dir)):
                continue
            manifest = read_manifest(run_dir)
            tables = [pq.read_table(run_dir / name) for name in manifest.files if table_of(name) == "steps"]
            tables += read_journal(run_dir / JOURNAL, after=manifest.sealed_generation).batches.get("steps", [])
            states = {row["step"]: row["status"] for table in tables for row in table.to_pylist()}
        except (OSError, IbenchError, pa.ArrowException):
            return "before its first step"
        under_way = [step for step, status in states.items() if status == "running"]
        if under_way:
            return f"in {under_way[-1]}"
        planned = [str(step["name"]) for step in manifest.workload.get("resolved_steps", [])]
        if not states:
            return "before its first step"
        return "sealing" if states.keys() >= set(planned) - set(manifest.steps_loaded) else "between steps"
    return "outside of a run"


def report(events: list[Event]) -> str:
    """Counts of kills by command and process, and by what a run was doing; and what was found."""
    killed = [event for event in events if event.killed]
    found = sum(bool(event.problems) for event in events)
    head = ["command", "kills", *_SHOWN, "another process"]
    lines = [
        f"{count(len(killed), 'kill')} in {count(len({event.number for event in events}), 'command')}; "
        f"{count(found, 'command')} {'was' if found == 1 else 'were'} followed by a finding.",
        "",
        f"| {' | '.join(head)} |",
        f"|---|{'---:|' * (len(head) - 1)}",
    ]
    for what in [*sorted({event.what for event in killed}), "all"]:
        victims = Counter(_shown(event.victim) for event in killed if what in (event.what, "all"))
        counts = [victims.total(), *(victims[name] for name in (*_SHOWN, "another process"))]
        lines.append(f"| {_TITLES.get(what, what)} | {' | '.join(map(str, counts))} |")
    moments = Counter(event.moment for event in killed if event.moment)
    lines += ["", "| moment of a run | kills |", "|---|---:|"]
    lines += [f"| {name} | {number} |" for name, number in sorted(moments.items())]
    return "\n".join(lines)


_SHOWN = ("the command itself", "server", "client", "worker", "scheduler")
_TITLES = {
    "dask": "run on two workers",
    "dask store": "run on two workers, with --store",
    "run inserts": "run, Insert Benchmark",
    "run links": "run, LinkBench with a snapshot",
    "run mysql56": "run, Insert Benchmark, MySQL 5.6",
    "run mysql97": "run, Insert Benchmark, MySQL 9.7",
    "run tpcc": "run, TPC-C",
    "push zip": "push to a .zip file",
}


def _shown(victim: str) -> str:
    if victim == "runner" or victim.startswith("ibench "):
        return _SHOWN[0]
    return victim if victim in _SHOWN else "another process"


@contextmanager
def in_time_limit(limit_s: float = 4 * PATIENCE_S) -> Iterator[None]:
    """Ends an event that hangs, with TimeoutError."""

    def over(*_: Any) -> None:
        raise TimeoutError(f"the event took more than {limit_s:g} s")

    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _runs(home: Path) -> dict[str, Manifest]:
    found = {}
    for path in (home / "data" / "runs").glob("[!.]*"):
        with suppress(IbenchError, OSError):
            found[path.name] = read_manifest(path)
    return found


def _names(folder: Path) -> set[str]:
    """Of the runs in all homes of a soak, those of workers included."""
    return {path.name for path in folder.glob("*/data/runs/[!.]*")}


def _pages(home: Path, before: dict[Path, bytes]) -> list[str]:
    """What is wrong with the pages after a post was killed: one that is gone, or half of one."""
    wrong = [f"page {page.name} is gone" for page in before if not page.exists()]
    for page in (home / "data" / "posts").glob("*.html"):
        content = page.read_bytes()
        if content != before.get(page) and not content.rstrip().endswith(b"</html>"):
            wrong.append(f"page {page.name} is not whole")
    return wrong


def _left(killed: bool) -> list[str]:
    """Processes that live on, after a patient wait, by their command lines."""
    deadline = time.monotonic() + (60 if killed else 30)
    while (alive := _alive()) and time.monotonic() < deadline:
        time.sleep(0.05)
    lines = []
    for process in alive:
        with suppress(psutil.Error):
            lines.append(f"a process is left: {' '.join(process.cmdline())[:300]}")
    _end_all(alive)
    return lines


def _alive() -> list[psutil.Process]:
    """All descendants that live. Those that have ended, and whose parent was killed, are reaped here."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def _end_all(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.kill()
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _ended(pid: int) -> bool:
    """Whether our child has ended; it can still be waited for."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _wait(pid: int) -> int | None:
    """Its exit code, negative for a signal; None if it had to be killed because it did not end."""
    deadline = time.monotonic() + PATIENCE_S
    while not _ended(pid):
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
        time.sleep(0.02)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _below(path: Path) -> list[str]:
    return sorted(str(each.relative_to(path)) for each in path.rglob("*"))[:5] if path.is_dir() else []


def _next(time_of_day: str) -> datetime:
    """When it is so late the next time, such as 06:30, UTC. An event may take longer than that minute."""
    now, at = datetime.now(UTC), datetime.strptime(time_of_day, "%H:%M")
    moment = now.replace(hour=at.hour, minute=at.minute, second=0, microsecond=0)
    return moment if moment > now else moment + timedelta(days=1)


def _code() -> str:
    command = ["git", "-C", str(SOURCE_ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _experiments(text: str) -> tuple[str, ...]:
    """The experiments that an argument names; ValueError, which argparse reports, for another name."""
    names = tuple(text.split(","))
    if unknown := set(names) - set(EXPERIMENTS):
        raise ValueError(unknown)
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--until", help="a time of the day, UTC, such as 06:30: begin no event after it")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", type=_experiments, default=(), metavar="EXPERIMENT,...", help=", ".join(EXPERIMENTS))
    arguments = parser.parse_args()
    if not arguments.report:
        arguments.folder.mkdir(parents=True, exist_ok=True)
    soak = Soak(arguments.folder, arguments.only)
    if arguments.report:
        print(report(soak.events))
        if arguments.write:
            write_section(" ".join(("soak", *soak.only)), report(soak.events), PAGE, by="soak")
        return
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)  # orphans of what is killed become ours, and are found

    def stop(*_: Any) -> None:
        soak.stopped = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    until = _next(arguments.until) if arguments.until else None
    broken = 0  # events in a row that this program could not play
    while soak.kills < arguments.kills and not soak.stopped and broken < 3:
        if until is not None and datetime.now(UTC) >= until:
            break
        event = soak.next()
        more = [each for each in soak.events[-KILLS:] if each.number == event.number and each is not event]
        found = "".join(f"\n    {problem}" for problem in event.problems)
        said = f"{event.number} ({soak.kills}) {event.what}: {event.victim} {event.moment} {event.took_s:.1f} s"
        print(said + found, *(f"    {kill.victim} {kill.moment}" for kill in more), sep="\n", flush=True)
        broken = broken + 1 if any(problem.startswith("soak:") for problem in event.problems) else 0


if __name__ == "__main__":
    main()
