"""Our TPC-C next to tpcc-mysql and sysbench-tpcc: client CPU, transactions/s, and the load.

    python -m benchmarks.tpcc_peers --tpcc-mysql DIR --sysbench FILE --sysbench-tpcc DIR     writes the page
    python -m benchmarks.tpcc_peers ... --quick      one short round, print only

DIR of tpcc-mysql has its tpcc_load and tpcc_start, built with `make` in src/; DIR of sysbench-tpcc has its tpcc.lua;
FILE is sysbench 1.0.14 or later.

One server over TCP. Our loader makes the tables, and all clients send to the same ones, ours with the profile of the
client next to it: so the statements, the protocol and the data are the same. Rounds alternate which is first, and
ratios are taken within a round. Both are measured in the same way, from outside and after a warm-up: the CPU of the
client's processes, and the server's counters of COMMIT and ROLLBACK and of statements. Loads go to empty tables, by one
process each.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pymysql

from benchmarks.peers import Watch, bare_round_trip_us, create, duration_s, host, interpreter, our_step, span
from benchmarks.performance_page import write_section
from ibench_lib.base.wording import count
from ibench_lib.paths import workspace
from ibench_lib.servers.address import Address
from ibench_lib.servers.find import find_build, find_system
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.workloads.tpcc import tables
from ibench_lib.workloads.tpcc.options import Options, Setup
from ibench_lib.workloads.tpcc.workload import WORKLOAD

MY_CNF = (
    "[mysqld]\nskip_log_bin\ninnodb_buffer_pool_size=3G\ninnodb_log_file_size=2G\ninnodb_flush_log_at_trx_commit=0\n"
    "innodb_doublewrite=0\ninnodb_adaptive_hash_index=OFF\nmax_connections=400\n"
)
LOADS = "tpcc_load"
CELLS = (("tpcc-mysql", 2), ("tpcc-mysql", 16), ("sysbench-tpcc", 16))
"""Which client, with how many connections."""
_PROFILES = {"tpcc-mysql": "tpcc_mysql", "sysbench-tpcc": "sysbench_tpcc"}
_SETS = {
    "tpcc-mysql": 1,
    "sysbench-tpcc": 2,
}  # sysbench-tpcc numbers the tables of a set, we do so if there are several
_DATABASES = {"tpcc-mysql": "tpcc_one", "sysbench-tpcc": "tpcc_two"}
_AIMS = {
    ("tpcc-mysql", 2): {"statement_us": "<= 1.10", "tps": ">= 0.95"},
    ("tpcc-mysql", 16): {"statement_us": "<= 1.15", "tps": ">= 0.92"},
    ("sysbench-tpcc", 16): {"statement_us": "<= 0.90"},
}
_WHAT = {
    "cpu_us": ("client CPU per transaction (us)", ",.0f"),
    "statement_us": ("client CPU per statement (us)", ",.1f"),
    "statements": ("statements per transaction", ".1f"),
    "tps": ("transactions/s", ",.0f"),
}


@dataclass(frozen=True)
class Figures:
    """What one client did in the measured seconds."""

    tps: float
    cpu_us: float
    statement_us: float
    statements: float


@dataclass(frozen=True)
class Load:
    """Of one loading process."""

    rows_s: float
    cpu_us: float


@dataclass
class Bench:
    """A server with its tables, and how long is measured."""

    address: Address
    warm_up: float
    seconds: float
    warehouses: int
    scratch: Path
    files: Mapping[str, Path]

    def reading(self, watch: Watch, cursor: pymysql.cursors.Cursor) -> tuple[float, float, int, int]:
        """Now, client CPU seconds, transactions and statements so far."""
        cursor.execute("SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_commit', 'Com_rollback', 'Questions')")
        counted = {name.lower(): int(value) for name, value in cursor.fetchall()}
        watch.look()
        transactions = counted["com_commit"] + counted["com_rollback"]
        return time.monotonic(), watch.cpu_s, transactions, counted["questions"]

    def window(self, watch: Watch) -> Figures | None:
        """The measured seconds, after the warm-up, of a client that is under way. None if it sent no transaction."""
        with pymysql.connect(**self.address.arguments()) as connection, connection.cursor() as cursor:
            time.sleep(self.warm_up)
            before = self.reading(watch, cursor)
            time.sleep(self.seconds)
            after = self.reading(watch, cursor)
        seconds, cpu_s, transactions, statements = (b - a for a, b in zip(before, after, strict=True))
        if not transactions:
            return None
        return Figures(
            transactions / seconds, 1e6 * cpu_s / transactions, 1e6 * cpu_s / statements, statements / transactions
        )

    def options(self, client: str) -> Options:
        return Options.model_validate({"benchmark": "tpcc", "profile": _PROFILES[client], "clients": 2})

    def setup(self, client: str, terminals: int = 2) -> Setup:
        sets, all_s = _SETS[client], self.warm_up + self.seconds + 2
        of_set = max(1, self.warehouses // sets)
        return Setup(name="peers", sets=sets, warehouses=of_set, terminals=terminals, ramp_up=1.0, seconds=all_s)

    def fill(self, client: str) -> None:
        """The tables that this client and ours send to."""
        options, setup, where = self.options(client), self.setup(client), self.address.arguments()
        create(WORKLOAD, options, setup, where, _DATABASES[client])
        for number, step in enumerate(WORKLOAD.steps(options, setup, 1.0)[:2]):
            our_step(WORKLOAD, options, step, number, where, _DATABASES[client])

    def ours(self, client: str, terminals: int, round_number: int) -> Figures:
        """Our client with the profile of another one. Each round has other inputs."""
        options = self.options(client)
        step = WORKLOAD.steps(options, self.setup(client, terminals), 1.0)[-1]
        found: list[Figures | None] = []
        threads: list[threading.Thread] = []

        def on_start(watch: Watch) -> None:
            threads.append(threading.Thread(target=lambda: found.append(self.window(watch))))
            threads[0].start()

        our_step(WORKLOAD, options, step, 10 + round_number, self.address.arguments(), _DATABASES[client], on_start)
        threads[0].join()
        if not found or found[0] is None:
            raise SystemExit(f"our client sent no transaction with the profile of {client}")
        return found[0]

    def theirs(self, client: str, connections: int) -> Figures:
        """The other client."""
        all_s = str(round(self.warm_up + self.seconds + 2))
        to, database = self.address, _DATABASES[client]
        if client == "tpcc-mysql":
            command = [
                str(self.files["tpcc_start"]), f"-h{to.host}", f"-P{to.port}", f"-d{database}", f"-u{to.user}",
                f"-p{to.password}", f"-w{self.warehouses}", f"-c{connections}", "-r1", f"-l{all_s}", f"-i{all_s}",
            ]  # fmt: skip
            folder = self.scratch
        else:
            setup = self.setup(client)
            command = [
                str(self.files["sysbench"]), "tpcc.lua", "--db-driver=mysql", f"--mysql-host={to.host}",
                f"--mysql-port={to.port}", f"--mysql-user={to.user}", f"--mysql-password={to.password}",
                f"--mysql-db={database}", f"--tables={setup.sets}", f"--scale={setup.warehouses}",
                f"--threads={connections}", f"--time={all_s}", "run",
            ]  # fmt: skip
            folder = self.files["tpcc.lua"].parent
        with (self.scratch / "peer.log").open("w+") as log, Watch() as watch:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
            try:
                watch.pids.add(process.pid)
                figures = self.window(watch)
                code = process.wait()
            finally:
                process.kill()
            self._require_good(client, code, log, figures is not None)
        assert figures is not None
        return figures

    def load_setup(self) -> Setup:
        """One warehouse: tpcc_load takes over a minute to load it."""
        return self.setup("tpcc-mysql").model_copy(update={"warehouses": 1})

    def our_load(self) -> Load:
        """Our loader in one process."""
        options, setup = self.options("tpcc-mysql").model_copy(update={"clients": 1}), self.load_setup()
        where = self.address.arguments()
        create(WORKLOAD, options, setup, where, LOADS)
        result, _ = our_step(WORKLOAD, options, WORKLOAD.steps(options, setup, 1.0)[0], 0, where, LOADS)
        totals = [state.totals for state in result.workers if state.totals]
        rows = sum(sum(one["rows_by_table"].values()) for one in totals)
        cpu_s = sum(one["cpu_user_s"] + one["cpu_system_s"] for one in totals)
        return Load(rows / duration_s(result), 1e6 * cpu_s / rows)

    def their_load(self) -> Load:
        """tpcc_load, into tables of the same definition."""
        to, setup = self.address, self.load_setup()
        create(WORKLOAD, self.options("tpcc-mysql"), setup, to.arguments(), LOADS)
        command = [
            str(self.files["tpcc_load"]), f"-h{to.host}", f"-P{to.port}", f"-d{LOADS}", f"-u{to.user}",
            f"-p{to.password}", f"-w{setup.warehouses}",
        ]  # fmt: skip
        with (self.scratch / "peer.log").open("w+") as log:
            begun = time.monotonic()
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=self.scratch)
            try:
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            finally:
                process.kill()
            seconds = time.monotonic() - begun
            self._require_good("tpcc_load", process.returncode, log)
        rows = 0
        with pymysql.connect(**to.arguments(), database=LOADS) as connection, connection.cursor() as cursor:
            for table in tables.names(1):
                cursor.execute(f"SELECT COUNT(*) FROM {table}")
                rows += cursor.fetchall()[0][0]
        return Load(rows / seconds, 1e6 * (used.ru_utime + used.ru_stime) / rows)

    def _require_good(self, client: str, code: int, log: IO[str], sent: bool = True) -> None:
        log.seek(0)
        last = "\n".join(log.read().replace(self.address.password, "***").splitlines()[-15:])
        if code != 0 or not sent:
            raise SystemExit(f"{client} ended with {code}{'' if sent else ' and sent no transaction'}:\n{last}")


Cell = tuple[str, int]
Rounds = dict[Cell, list[tuple[Figures, Figures]]]


def measured(bench: Bench, rounds: int) -> tuple[Rounds, list[tuple[Load, Load]]]:
    """Ours and theirs, in each round of each cell."""
    loads = []
    for number in range(rounds):
        pair: dict[bool, Load] = {}
        for own in _order(number):
            pair[own] = bench.our_load() if own else bench.their_load()
        loads.append((pair[True], pair[False]))
        print(f"load {number + 1} of {rounds} done", flush=True)
    for client in _PROFILES:
        bench.fill(client)
    found: Rounds = {cell: [] for cell in CELLS}
    for number in range(rounds):
        for cell in CELLS:
            figures: dict[bool, Figures] = {}
            for own in _order(number):
                figures[own] = bench.ours(*cell, number) if own else bench.theirs(*cell)
            found[cell].append((figures[True], figures[False]))
        print(f"round {number + 1} of {rounds} done", flush=True)
    return found, loads


def _order(number: int) -> tuple[bool, bool]:
    return (True, False) if number % 2 == 0 else (False, True)


def report(found: Rounds, loads: Sequence[tuple[Load, Load]], bench: Bench, server: str, bare_us: float) -> str:
    """The section of the page."""
    lines = [
        "# TPC-C next to tpcc-mysql and sysbench-tpcc", "",
        f"{server}, {bench.warehouses} warehouses, {bench.seconds:g} s measured after {bench.warm_up:g} s of warm-up, "
        f"{count(len(loads), 'round')}.",
        "Figures are medians (lowest to highest); ratios are taken within a round.",
        f"Host: {host()}; {interpreter()}.", "",
        "| next to | connections | what | ours | theirs | ours/theirs | aim |", "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for (client, connections), pairs in found.items():
        aims = _AIMS[client, connections]
        for column, (what, form) in _WHAT.items():
            ours, theirs = ([getattr(pair[side], column) for pair in pairs] for side in (0, 1))
            lines.append(f"| {client} | {connections} | {_row(what, form, ours, theirs, aims.get(column, ''))}")
    for column, what, form, aim in (
        ("cpu_us", "client CPU per loaded row (us)", ".2f", "<= 0.2"),
        ("rows_s", "loaded rows/s of one process", ",.0f", ">= 3"),
    ):
        ours, theirs = ([getattr(pair[side], column) for pair in loads] for side in (0, 1))
        lines.append(f"| tpcc_load | 1 | {_row(what, form, ours, theirs, aim)}")
    lines += [
        "",
        f"What limits ibench: a bare round trip, SELECT 1 sent and its answer not read, takes {bare_us:.1f} us of the "
        "client's CPU.",
        "The rest of a statement is the step of the transaction in Python, and making the command and reading the "
        "answer in C. That takes",
        "about a microsecond with warm caches, and several times as long next to a server that is busy on the same "
        "cores. With several",
        "connections in a process, waiting for them takes a system call more than a thread for each connection does. "
        "A Python built without",
        "optimisation by profile takes 1.3 times the instructions of Debian's.",
    ]
    return "\n".join(lines)


def _row(what: str, form: str, ours: Sequence[float], theirs: Sequence[float], aim: str) -> str:
    ratios = span([a / b for a, b in zip(ours, theirs, strict=True)], ".2f")
    return f"{what} | {span(ours, form)} | {span(theirs, form)} | {ratios} | {aim} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tpcc-mysql", type=Path, required=True, help="folder with tpcc_load and tpcc_start")
    parser.add_argument("--sysbench", type=Path, required=True, help="the program")
    parser.add_argument("--sysbench-tpcc", type=Path, required=True, help="folder with tpcc.lua")
    parser.add_argument("--build", help="label of the server; the system's by default")
    parser.add_argument("--warehouses", type=int, default=4)
    parser.add_argument("--warm-up", type=float, default=8.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="2 warehouses, 3 s, one round; print only")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.warehouses, chosen.warm_up, chosen.seconds, chosen.rounds = 2, 2.0, 3.0, 1
    files: dict[str, Path] = {name: (chosen.tpcc_mysql / name).resolve() for name in ("tpcc_load", "tpcc_start")}
    files |= {"sysbench": chosen.sysbench.resolve(), "tpcc.lua": (chosen.sysbench_tpcc / "tpcc.lua").resolve()}
    for path in files.values():
        if not path.is_file():
            parser.error(f"there is no file {path}")
    build = find_system(workspace()) if chosen.build is None else find_build(chosen.build, workspace()).local
    if build is None:
        parser.error("the server must be a build on this machine")
    with tempfile.TemporaryDirectory(prefix="tpcc") as name:
        scratch = Path(name)
        (scratch / "my.cnf").write_text(MY_CNF)
        with Sandbox(build, scratch / "box", scratch / "my.cnf", scratch / "log", tcp=True) as address:
            bench = Bench(address, chosen.warm_up, chosen.seconds, chosen.warehouses, scratch, files)
            found, loads = measured(bench, chosen.rounds)
            bare_us = bare_round_trip_us(address.arguments())
    text = report(found, loads, bench, f"{build.flavour} {build.version}", bare_us)
    print(text)
    if not chosen.quick:
        write_section("tpcc_peers", text)


if __name__ == "__main__":
    main()
