"""A lab on one machine: network namespaces for a runner, two load hosts, a remote server by TLS, and an object store.

    python -m benchmarks.lab FOLDER            all faults, with a partition of 60 s (root, Linux, iproute2, moto)
    python -m benchmarks.lab FOLDER --quiet    no faults
    python -m benchmarks.lab FOLDER --write    all faults; what came of it goes into docs/trust.md

A matrix of cells runs on the load hosts, as Dask workers, and their runs go to the store. Meanwhile processes are
killed, wires are cut and connected again, and a disk is filled. Then the lab's own checks say what is lost, twice or
unnamed.
Wires are veth pairs to a bridge in a namespace of its own: nothing of it touches the machine's network.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psutil

from benchmarks.performance_page import write_section
from benchmarks.soak import PAGE, not_complete
from ibench_lib.base.tether import tethered
from ibench_lib.base.wording import count
from ibench_lib.paths import SOURCE_ROOT, Workspace, workspace
from ibench_lib.runner.ledger import Ledger
from ibench_lib.runner.plan import manifests
from ibench_lib.servers.certificate import make_certificate
from ibench_lib.servers.find import find_system
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.store.verify import verify

HOSTS = ("runner", "one", "two", "server", "store")
_PORTS = {"server": 3306, "store": 5000, "runner": 8786}
_PROGRAM = "from ibench_lib.cli.main import main; main()"
_PATIENCE_S = 300.0
_DISK = "600m"
_SOME_BYTES = 30_000
"""So much has gone to the store, or come from it, when it is lost: more than what is asked before, less than a run."""
_SILENCE_S = 12
"""After so long Dask gives a silent peer up, in a trial with a short partition; it is the least that it allows."""

EXPERIMENT = """\
title: a lab
builds: [far, system]
configs:
  - {{name: a, fragments: [tiny]}}
  - {{name: b, fragments: [tiny, more]}}
configs_folder: own
setups: [{{name: tiny, l_i0_rows: 4000, l_i1_rows: 4000, l_i2_rows: 100, query_seconds: 1}}]
repeats: {repeats}
order: interleaved
workload:
  benchmark: insert_benchmark
  clients: 2
  transport: tls
  statement_timeout_s: 20
  steps: [l.i0, l.x, {{step: l.i1, rate: 1000}}, qr100]
"""
_TINY = (
    "[mysqld]\ninnodb_buffer_pool_size=32M\nloose_innodb_log_file_size=8M\nskip_log_bin\n"
    "innodb_data_file_path=ibdata1:10M:autoextend\ninnodb_flush_log_at_trx_commit=0\n"
)


class Network:
    """Hosts as namespaces with an address each, joined by a bridge. Use as a context: nothing is left at the end.

    Raises
    ------
    OSError : this user, kernel or machine cannot make namespaces.
    """

    def __init__(self) -> None:
        self._prefix = f"ib{os.getpid()}-"
        self.processes: dict[str, list[subprocess.Popen[bytes]]] = {host: [] for host in HOSTS}

    def __enter__(self) -> Self:
        try:
            net = self.space("net")
            _ip("netns", "add", net)
            _ip("-n", net, "link", "add", "bridge", "type", "bridge")
            _ip("-n", net, "link", "set", "bridge", "up")
            for host in HOSTS:
                space = self.space(host)
                _ip("netns", "add", space)
                _ip("-n", space, "link", "add", "wire", "type", "veth", "peer", "name", host, "netns", net)
                _ip("-n", space, "address", "add", f"{self.address(host)}/24", "dev", "wire")
                for wire in ("lo", "wire"):
                    _ip("-n", space, "link", "set", wire, "up")
                _ip("-n", net, "link", "set", host, "master", "bridge", "up")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End what runs there, and remove the namespaces."""
        every = [process for processes in self.processes.values() for process in processes]
        for process in reversed(every):
            process.terminate()
        for process in reversed(every):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for host in ("net", *HOSTS):
            space = self.space(host)
            listed = subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True, check=False)
            for pid in listed.stdout.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            if Path("/run/netns", space).exists():
                _ip("netns", "delete", space)

    def space(self, host: str) -> str:
        return self._prefix + host

    def address(self, host: str) -> str:
        return f"10.77.0.{HOSTS.index(host) + 1}"

    def start(self, host: str, command: list[str], log: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        """A process on a host, whose output goes to the end of `log`. It dies with this one."""
        with open(log, "ab") as out:
            process = subprocess.Popen(
                tethered(["ip", "netns", "exec", self.space(host), *command]),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=log.parent,
                env={**os.environ, **environment},
            )
        self.processes[host].append(process)
        return process

    def cut(self, host: str) -> None:
        """Take its link down: it reaches nobody, and nobody is told."""
        _ip("-n", self.space("net"), "link", "set", host, "down")

    def reconnect(self, host: str) -> None:
        _ip("-n", self.space("net"), "link", "set", host, "up")

    def sent(self, host: str) -> tuple[int, int]:
        """Bytes that the bridge has sent to a host, and received from it."""
        (link,) = json.loads(_ip("-n", self.space("net"), "-s", "-j", "link", "show", "dev", host))
        return link["stats64"]["tx"]["bytes"], link["stats64"]["rx"]["bytes"]

    def narrow(self, host: str, rate: str) -> None:
        """Let its wire carry no more than `rate`, such as 20mbit, in each direction."""
        for space, device in ((self.space("net"), host), (self.space(host), "wire")):
            _run("tc", "-n", space, "qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst", "32kb",
                 "latency", "400ms")  # fmt: skip


@dataclass
class Fault:
    """What was done, at which moment of the experiment (seconds since the first command)."""

    what: str
    at_s: float


@dataclass
class Outcome:
    """What came of it: exit codes of `ibench run`, faults, runs by status, and problems (none is good)."""

    codes: list[int] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    attempts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    took_s: float = 0.0


class _Over(Exception):
    """All cells are done: there is nothing more to disturb."""


class Lab:
    """The hosts of a network with what runs on them, in a folder."""

    def __init__(self, folder: Path, network: Network, *, repeats: int, partition_s: float) -> None:
        self.folder, self.network, self.partition_s = folder, network, partition_s
        self.cells = 4 * repeats
        self.outcome = Outcome()
        self._begun_s = time.monotonic()
        self._mounted: list[Path] = []
        self._over = threading.Event()
        """All cells are done: no more faults."""
        for name in (*HOSTS, "logs"):
            (folder / name).mkdir(parents=True)
        own = folder / "runner" / "own"
        own.mkdir()
        (own / "tiny.cnf").write_text(_TINY)
        (own / "more.cnf").write_text("[mysqld]\ninnodb_purge_threads=1\n")
        (folder / "runner" / "lab.yaml").write_text(EXPERIMENT.format(repeats=repeats))

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """All hosts are up; at the end their disks are unmounted. The network ends its processes itself."""
        try:
            self.network.narrow("server", "20mbit")
            self.network.narrow("store", "4mbit")  # so that a push and a pull have a middle
            self._start_server()
            self._start_store()
            address, port = self.network.address("runner"), _PORTS["runner"]
            options = ["--no-dashboard", "--host", address, "--port", str(port)]
            self._python("runner", ["-m", "distributed.cli.dask_scheduler", *options], "scheduler.log")
            self._wait("the scheduler", lambda: "Scheduler at" in self._log("runner", "scheduler.log"))
            for worker in ("one", "two"):
                _run("mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(self.folder / worker))
                self._mounted.append(self.folder / worker)
                certificate, options_file = self.folder / "server" / "server.pem", self.folder / "server" / "client.cnf"
                far = ["--remote", f"{self.network.address('server')}:{_PORTS['server']}", "--user", "root"]
                far += ["--option-file", str(options_file), "--tls-ca", str(certificate)]
                done = self.ibench(worker, "servers", "add", "far", *far)
                if done.returncode:
                    raise RuntimeError(f"no remote server: {done.stderr}")
                self.start_worker(worker)
            yield
        finally:
            self.network.close()
            for folder in self._mounted:
                _run("umount", str(folder))

    # ------------------------------------------------------------------------- the hosts

    def _python(self, host: str, arguments: list[str], log: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, *arguments]
        return self.network.start(host, command, self.folder / "logs" / f"{host}-{log}", self._environment(host))

    def _environment(self, host: str) -> dict[str, str]:
        s3 = f"http://{self.network.address('store')}:{_PORTS['store']}"
        keys = {"AWS_ENDPOINT_URL": s3, "AWS_ACCESS_KEY_ID": "lab", "AWS_SECRET_ACCESS_KEY": "lab"}
        dask = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": f"{_SILENCE_S}s"} if self.partition_s < 60 else {}
        home = {"IBENCH_HOME": str(self.folder / host), "PYTHONPATH": str(SOURCE_ROOT), "COLUMNS": "200"}
        return {**keys, **dask, **home, "AWS_DEFAULT_REGION": "us-east-1", "AWS_MAX_ATTEMPTS": "2"}

    def ibench(self, host: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command on a host."""
        command = ["ip", "netns", "exec", self.network.space(host), sys.executable, "-c", _PROGRAM, *arguments]
        return subprocess.run(
            tethered(command),
            env={**os.environ, **self._environment(host)},
            cwd=self.folder / host,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=4 * _PATIENCE_S,
            check=False,
        )

    def start_worker(self, name: str) -> None:
        address = f"tcp://{self.network.address('runner')}:{_PORTS['runner']}"
        log = f"worker{len(list((self.folder / 'logs').glob(f'{name}-*')))}.log"
        process = self._python(name, ["-c", _PROGRAM, "worker", address, "--name", name], log)
        self._wait(f"worker {name}", lambda: "Registered to" in self._log(name, log) or process.poll() is not None)
        if process.poll() is not None:
            raise RuntimeError(f"worker {name} has ended: {self._log(name, log)[-600:]}")

    def _start_server(self) -> None:
        folder, address = self.folder / "server", self.network.address("server")
        self._python("server", ["-m", "benchmarks.lab", str(folder), "--serve", address], "far.log")
        self._wait("the remote server", (folder / "client.cnf").exists)

    def _start_store(self) -> None:
        address, port = self.network.address("store"), _PORTS["store"]
        self._python("store", ["-m", "moto.server", "-H", address, "-p", str(port)], "moto.log")
        code = "import fsspec; fsspec.filesystem('s3').mkdir('lab')"
        command = ["ip", "netns", "exec", self.network.space("runner"), sys.executable, "-c", code]
        environment = {**os.environ, **self._environment("runner")}
        made = lambda: subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0  # noqa: E731
        self._wait("the object store", made)

    def _log(self, host: str, name: str) -> str:
        path = self.folder / "logs" / f"{host}-{name}"
        return path.read_text(errors="replace") if path.exists() else ""

    def _under_way(self, host: str, part: str) -> list[psutil.Process]:
        """The victims of that kind, once there are some. Raises _Over where all is done."""
        while not (found := self.victims(host, part)):
            if self._over.is_set():
                raise _Over
            time.sleep(0.05)
        return found

    def _wait(self, what: str, condition: Callable[[], Any], within_s: float = _PATIENCE_S) -> None:
        deadline = time.monotonic() + within_s
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {within_s:g} s: {what}")
            time.sleep(0.1)

    # ------------------------------------------------------------------------- faults

    def said(self, what: str) -> None:
        self.outcome.faults.append(Fault(what, time.monotonic() - self._begun_s))

    def victims(self, host: str, part: str) -> list[psutil.Process]:
        """Processes of a host whose command line has this part."""
        listed = _run("ip", "netns", "pids", self.network.space(host))
        found = []
        for pid in listed.split():
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(int(pid))
                if part in " ".join(process.cmdline()):
                    found.append(process)
        return found

    def kill(self, host: str, part: str) -> None:
        """Kill the first process of that kind, once there is one."""
        for process in self._under_way(host, part)[:1]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
                self.said(f"{part.strip()} on {host} is killed")

    def kill_client(self) -> None:
        self.kill("one", "client.worker")

    def kill_worker(self) -> None:
        self.kill("two", " worker tcp:")
        self.start_worker("two")

    def kill_server(self) -> None:
        self.kill("server", "mariadbd")

    def flap(self) -> None:
        """The server's wire is out of order for a second: TCP sends again, and the runs go on."""
        self.network.cut("server")
        self.said("the server's link is down for 1 s")
        time.sleep(1)
        self.network.reconnect("server")

    def part(self) -> None:
        """Nobody reaches host one for a while. Its worker is given up, and ends when it finds its scheduler gone."""
        self._under_way("one", "client.worker")
        self.network.cut("one")
        self.said(f"host one is parted for {self.partition_s:g} s")
        time.sleep(self.partition_s)
        self.network.reconnect("one")
        self._wait("the end of the worker", lambda: not self.victims("one", " worker tcp:"))
        self.start_worker("one")

    def fill(self) -> None:
        """No room on the disk of host two, until its cell has ended."""
        self._under_way("two", "client.worker")
        before = {process.pid for process in self.victims("two", "cell_process")}
        ballast = self.folder / "two" / "ballast"
        with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        self.said("the disk of host two is full")
        self._wait("its cell ends", lambda: not before & {one.pid for one in self.victims("two", "cell_process")})
        ballast.unlink()

    def lose_store(self) -> None:
        """The store's link is down from the middle of a push until that cell has failed."""
        ended = len([one for one in self._attempts() if one.state != "running"])
        to_store, _ = self.network.sent("store")
        while self.network.sent("store")[0] < to_store + _SOME_BYTES:
            if self._over.is_set():
                raise _Over
            time.sleep(0.02)
        self.network.cut("store")
        try:
            self.said("the store is lost in the middle of a push")
            self._wait("a cell fails", lambda: len([o for o in self._attempts() if o.state != "running"]) > ended)
        finally:
            self.network.reconnect("store")
        failed = [one for one in self._attempts() if one.error and "s3://lab/runs" in one.error]
        if not failed:
            self.outcome.problems.append("no attempt says that the store was lost")

    def pull_without_store(self) -> None:
        """The store's link is down from the middle of a pull until that has ended: one line, and no half of a run."""
        before = self._pulled()
        _, from_store = self.network.sent("store")
        over = threading.Event()

        def cut() -> None:
            while not over.is_set() and self.network.sent("store")[1] < from_store + _SOME_BYTES:
                time.sleep(0.02)
            self.network.cut("store")

        disturber = threading.Thread(target=cut)
        disturber.start()
        done = self.ibench("runner", "runs", "pull", "s3://lab/runs")
        over.set()
        disturber.join()
        self.network.reconnect("store")
        self.said(f"the store is lost in the middle of a pull, with {count(len(self._pulled() - before), 'run')} taken")
        said = done.stdout + done.stderr
        if done.returncode == 0 or "s3://lab/runs" not in said or "Traceback" in said:
            self.outcome.problems.append(f"pull without its store: exit {done.returncode}: {said[-600:]}")
        place = Workspace(self.folder / "runner")
        left = [path.name for path in place.runs.glob(".*")]
        bad = [f"{name}: {problem}" for name in self._pulled() for problem in verify(place.run_dir(name))]
        self.outcome.problems += [f"pull without its store leaves {what}" for what in (*left, *bad)]

    def _pulled(self) -> set[str]:
        return {run.run_id for run in manifests(Workspace(self.folder / "runner"))}

    # ------------------------------------------------------------------------- the experiment

    def run(self, faults: list[Callable[[], None]], most: int = 8) -> Outcome:
        """Run the experiment with a fault after each attempt that has begun, until it says that all is done."""
        disturber = threading.Thread(target=self._disturb, args=(faults,), daemon=True)
        disturber.start()
        url = f"tcp://{self.network.address('runner')}:{_PORTS['runner']}"
        try:
            for _ in range(most):
                self._drop_database()
                done = self.ibench("runner", "run", "lab.yaml", "--scheduler", url, "--store", "s3://lab/runs")
                self.outcome.codes.append(done.returncode)
                with open(self.folder / "runner" / "said.log", "a") as file:
                    file.write(f"{done.stdout}{done.stderr}\nexit {done.returncode}\n")
                if "Traceback" in done.stdout + done.stderr:
                    self.outcome.problems.append(f"traceback: {done.stderr[-600:]}")
                if done.returncode == 0:
                    break
        finally:
            self._over.set()
            disturber.join(_PATIENCE_S + self.partition_s)
        if disturber.is_alive():
            self.outcome.problems.append("a fault has not ended")
        if faults:
            self.pull_without_store()
        self._check()
        self.outcome.took_s = time.monotonic() - self._begun_s
        return self.outcome

    def _disturb(self, faults: list[Callable[[], None]]) -> None:
        try:
            for number, fault in enumerate(faults):
                while len(self._attempts()) <= number and not self._over.is_set():
                    time.sleep(0.1)
                fault()
        except _Over:
            pass
        except Exception as error:
            self.outcome.problems.append(f"a fault: {type(error).__name__}: {error}")
        self._over.wait()  # the workers that this thread has started again would end with it

    def _attempts(self) -> list[Any]:
        place = Workspace(self.folder / "runner")
        return Ledger(place).attempts() if place.ledger.exists() else []

    def _drop_database(self) -> None:
        """What a person does whom ibench tells that a database is left on a remote server."""
        import pymysql

        local = self.folder / "server" / "socket"
        with contextlib.suppress(pymysql.err.MySQLError, OSError):
            password = (self.folder / "server" / "client.cnf").read_text().split("password=")[1].strip()
            with (
                pymysql.connect(unix_socket=local.read_text(), user="root", password=password) as connection,
                connection.cursor() as cursor,
            ):
                cursor.execute("DROP DATABASE IF EXISTS ibench")

    def _check(self) -> None:
        """Nothing is lost, nothing is there twice, and every gap has a name: in the store, and in the lake it is
        pulled to."""
        problems = self.outcome.problems
        pulled = self.ibench("runner", "runs", "pull", "s3://lab/runs")
        if pulled.returncode:
            problems.append(f"pull: exit {pulled.returncode}: {pulled.stderr[-600:]}")
        place = Workspace(self.folder / "runner")
        runs = manifests(place)
        self.outcome.statuses = Counter(run.status for run in runs)
        complete = Counter(run.cell.fingerprint for run in runs if run.status == "complete")
        if len(complete) != self.cells:
            problems.append(f"{len(complete)} of {self.cells} cells have a complete run")
        problems += [f"a cell has {number} complete runs" for number in complete.values() if number != 1]
        for run in runs:
            run_dir = place.run_dir(run.run_id)
            problems += [f"{run.run_id}: {problem}" for problem in verify(run_dir)]
            if run.status == "complete":
                problems += [f"{run.run_id}: wrongly complete: {why}" for why in not_complete(run_dir, run)]
            elif not run.error:
                problems.append(f"{run.run_id}: {run.status} without a reason")
        attempts = self._attempts()
        self.outcome.attempts = Counter(attempt.state for attempt in attempts)
        for attempt in attempts:
            if attempt.state == "running" or (attempt.state != "complete" and not attempt.error):
                problems.append(f"attempt {attempt.attempt}: {attempt.state} without a reason")
        stood = {attempt.run_id for attempt in attempts if attempt.state == "complete"}
        known = {run.run_id for run in runs if run.status == "complete"}
        if not stood <= known:
            problems.append(f"the ledger knows complete runs that are not in the store: {sorted(stood - known)}")
        listed = self.ibench("runner", "runs", "--json")
        said = Counter(row["status"] for row in json.loads(listed.stdout)) if listed.returncode == 0 else None
        if said != self.outcome.statuses:
            problems.append(
                f"`ibench runs` lists {said}, the manifests {self.outcome.statuses}: {listed.stderr[-300:]}"
            )
        for worker in ("one", "two"):
            left = list(Workspace(self.folder / worker).sandboxes.glob("*"))
            if left and (done := self.ibench(worker, "runs", "recover")).returncode:
                problems.append(f"recover on {worker}: {done.stderr[-300:]}")
            problems += [f"left on {worker}: {path.name}" for path in left if path.exists()]


def serve(folder: Path, address: str, delay_s: float = 0.001) -> None:
    """Be the remote server: MariaDB by TLS, behind a proxy at `address` that delays what passes; up again when killed.

    `folder` gets server.pem, by which clients know it, and client.cnf with the password of the moment.
    """
    made = folder / "certificate"
    made.mkdir()
    make_certificate(made, address)
    shutil.copy(made / "server.pem", folder / "server.pem")
    (folder / "my.cnf").write_text(_TINY)
    port = [0]
    threading.Thread(target=_proxy, args=(address, _PORTS["server"], port, delay_s), daemon=True).start()
    for number in range(100):
        box, place = folder / f"box{number}", workspace()
        build = find_system(Workspace(SOURCE_ROOT))
        server = Sandbox(build, box, folder / "my.cnf", folder / "server.log", tls=True, templates=place.datadirs)
        with server as where:
            assert where.certificate is not None and where.port is not None
            for suffix in (".pem", ".key"):
                target = Path(where.certificate).with_suffix(suffix)
                shutil.copyfile((made / "server.pem").with_suffix(suffix), target)
            import pymysql

            local: Any = {"unix_socket": where.socket, "user": where.user, "password": where.password}
            with pymysql.connect(**local) as connection, connection.cursor() as cursor:
                cursor.execute("FLUSH SSL")
            (folder / "socket").write_text(str(where.socket))
            new = folder / "client.new"
            new.write_text(f"[client]\npassword={where.password}\n")
            new.chmod(0o600)
            port[0] = where.port
            new.replace(folder / "client.cnf")
            while server.alive():
                time.sleep(0.1)


def _proxy(address: str, listen: int, port: list[int], delay_s: float) -> None:
    """Pass TCP on to port[0] of the loopback; each piece waits for `delay_s`."""
    with socket.create_server((address, listen), backlog=64) as server:
        while True:
            near, _ = server.accept()
            try:
                far = socket.create_connection(("127.0.0.1", port[0]))
            except OSError:
                near.close()
                continue
            for one, other in ((near, far), (far, near)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=_pass_on, args=(one, other, delay_s), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket, delay_s: float) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(1 << 16):
            time.sleep(delay_s)
            target.sendall(piece)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


def _ip(*arguments: str) -> str:
    return _run("ip", *arguments)


def _run(*command: str) -> str:
    """What a command prints. Raises OSError where it fails, or is not there."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def trial(folder: Path, *, repeats: int, partition_s: float, faults: list[str]) -> Outcome:
    """The whole of it, in a new folder. `faults` are names of methods of `Lab`."""
    with Network() as network:
        lab = Lab(folder, network, repeats=repeats, partition_s=partition_s)
        with lab.open():
            return lab.run([getattr(lab, fault) for fault in faults])


FAULTS = ["kill_client", "flap", "kill_worker", "lose_store", "kill_server", "part", "fill"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--partition", type=float, default=60.0, help="seconds")
    parser.add_argument("--write", action="store_true", help="what came of it, into docs/trust.md")
    parser.add_argument("--serve", metavar="ADDRESS", help="be the remote server; for the lab itself")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that nothing is left
    if arguments.serve:
        serve(arguments.folder, arguments.serve)
        return
    faults = [] if arguments.quiet else FAULTS
    folder = arguments.folder.resolve()
    outcome = trial(folder, repeats=arguments.repeats, partition_s=arguments.partition, faults=faults)
    print(report(outcome))
    if arguments.write:
        write_section("lab", report(outcome), PAGE)
    sys.exit(bool(outcome.problems))


def report(outcome: Outcome) -> str:
    """What was done and what came of it, for people."""
    commands = count(len(outcome.codes), "call")
    attempts, runs = _counts(outcome.attempts), _counts(outcome.statuses)
    lines = [
        f"{commands} of `ibench run` in {outcome.took_s:.0f} s. Attempts at cells: {attempts}."
        f" Runs in the store: {runs}.",
        "",
        "| second | fault |",
        "|---:|---|",
        *(f"| {fault.at_s:.0f} | {fault.what} |" for fault in outcome.faults),
        "",
    ]
    problems = [f"- {problem}" for problem in outcome.problems]
    return "\n".join(
        [*lines, *(problems or ["Nothing was lost, nothing was there twice, and every gap had a reason."])]
    )


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in sorted(counter.items())) or "none"


if __name__ == "__main__":
    main()
