"""Our Insert Benchmark next to the original client, iibench.py: rates and client CPU of four steps.

    python -m benchmarks.iibench_peers --script iibench.py --python python3       writes the page
    python -m benchmarks.iibench_peers --script ... --python ... --quick          small tables, short steps, print only

The script is bench/ibench/iibench.py of mdcallag/mytools; `--python` is an interpreter that has mysqlclient
(`pip install mysqlclient`). It is called with the options that its own scripts give.

One server, two clients, each with a table of its own, as the scripts have it. In each round both programs load tables
of their own, index them, and then insert, delete and query; rounds alternate which program is first, and ratios are
taken within a round. CPU is that of all client processes, with the start of Python.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers import create, duration_s, host, interpreter, our_step, span
from benchmarks.performance_page import write_section
from ibench_lib.base.wording import count
from ibench_lib.paths import workspace
from ibench_lib.servers.address import Address
from ibench_lib.servers.find import find_build, find_system
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.workloads.insert_benchmark.options import Options, Setup
from ibench_lib.workloads.insert_benchmark.workload import WORKLOAD

MY_CNF = (
    "[mysqld]\nskip_log_bin\ninnodb_buffer_pool_size=2G\ninnodb_log_file_size=1G\ninnodb_flush_log_at_trx_commit=0\n"
    "innodb_doublewrite=0\ninnodb_adaptive_hash_index=OFF\n"
)
OURS, THEIRS = "ours", "theirs"
CLIENTS = 2
ATTEMPTS = 5
RATE = 100
STEPS = ("l.i0", "l.x", "l.i1", "qr100", "qp100")
AIMS = {"l.i0": ">= 1.9", "l.i1": ">= 1.4", "qr100": ">= 1.6", "qp100": ">= 1.4"}
_ROWS = re.compile(r"^Totals: [\d.]+ secs, [\d.]+ rows/sec, (\d+) rows", re.MULTILINE)
_QUERIES = re.compile(r"^Query thread: (\d+) queries", re.MULTILINE)
_SECONDS = re.compile(r"^Totals: ([\d.]+) secs", re.MULTILINE)


@dataclass(frozen=True)
class Figures:
    """A step of one program: rows or queries a second of all clients, and client CPU of each of them."""

    rate: float
    cpu_us: float


@dataclass(frozen=True)
class Size:
    """Rows of each client's table, rows that it inserts in l.i1, and seconds of a query step."""

    load: int
    more: int
    seconds: int


def ours(address: Address, size: Size) -> dict[str, Figures]:
    """A round of our steps on new tables."""
    where = address.arguments()
    setup = Setup(name="peers", l_i0_rows=size.load, l_i1_rows=size.more, query_seconds=float(size.seconds))
    options = Options.model_validate({"benchmark": "insert_benchmark", "clients": CLIENTS, "steps": list(STEPS)})
    create(WORKLOAD, options, setup, where, OURS)
    found = {}
    for number, step in enumerate(WORKLOAD.steps(options, setup, 1.0)):
        result, _ = our_step(WORKLOAD, options, step, number, where, OURS)
        totals: list[dict[str, Any]] = [state.totals for state in result.workers if state.totals]
        operations = [state.worker.operations[0] for state in result.workers if state.totals]
        of_queries = step.name.startswith("q")
        # Queries are counted as queries, all else as rows; deletes go along with inserts.
        wanted = [
            total["ops"] if of_queries else total["rows"] or 0
            for total, operation in zip(totals, operations, strict=True)
            if operation.endswith("query") is of_queries and operation != "delete"
        ]
        cpu_s = sum(total["cpu_user_s"] + total["cpu_system_s"] for total in totals)
        if done := sum(wanted):
            found[step.name] = Figures(done / duration_s(result), 1e6 * cpu_s / done)
    return found


def theirs(address: Address, size: Size, python: str, script: Path, scratch: Path) -> dict[str, Figures]:
    """The same with iibench.py."""
    create(WORKLOAD, Options.model_validate({"benchmark": "insert_benchmark", "clients": 1, "steps": ["l.i0"]}),
           Setup(name="none", l_i0_rows=1, l_i1_rows=1, query_seconds=1.0), address.arguments(), THEIRS)  # fmt: skip
    base = [
        "--dbms=mysql", f"--db_name={THEIRS}", "--secs_per_report=1", f"--db_host={address.host}",
        f"--db_user={address.user}", f"--db_password={address.password}", "--engine=innodb", "--engine_options=",
        "--unique_checks=1", "--bulk_load=0", f"--db_socket={address.socket}", "--data_length_min=10",
        "--data_length_max=20", "--dbopt=none",
    ]  # fmt: skip
    rated = [f"--max_rows={RATE * size.seconds}", "--rows_per_commit=50", f"--inserts_per_second={RATE}",
             "--query_threads=1", "--num_secondary_indexes=3", "--delete_per_insert"]  # fmt: skip
    of_steps = {
        "l.i0": ["--setup", f"--max_rows={size.load}", "--rows_per_commit=100", "--num_secondary_indexes=0"],
        "l.x": ["--secondary_at_end", "--max_rows=5", "--rows_per_commit=100", "--num_secondary_indexes=3"],
        "l.i1": [
            "--delete_per_insert", f"--max_rows={size.more}", "--rows_per_commit=50", "--num_secondary_indexes=3",
        ],
        "qr100": rated,
        "qp100": [*rated, "--query_pk_only"],
    }  # fmt: skip
    found = {}
    for step, options in of_steps.items():
        texts, cpu_s = _clients([python, str(script), *base, *options], scratch, 2 * size.seconds + size.load / 5_000)
        pattern = _QUERIES if step.startswith("q") else _ROWS
        done = sum(int(number) for text in texts for number in pattern.findall(text))
        seconds = max(float(number) for text in texts for number in _SECONDS.findall(text))
        if step in AIMS:
            found[step] = Figures(done / seconds, 1e6 * cpu_s / done)
    return found


def _clients(command: list[str], scratch: Path, patience_s: float) -> tuple[list[str], float]:
    """What all clients of a step print, and their CPU seconds, those of their children included.

    iibench.py ends its generator of statements without waiting for it, and then waits for its result: now and then for
    ever. Such a step is repeated.
    """
    for _ in range(ATTEMPTS):
        processes = []
        seed = int(time.time())
        for client in range(1, CLIENTS + 1):
            log = (scratch / f"client.{client}").open("w+")
            own = [f"--table_name=pi{client}", f"--my_id={client}", f"--seed={seed + client}"]
            process = subprocess.Popen(
                [*command, *own], stdout=log, stderr=subprocess.STDOUT, cwd=scratch, start_new_session=True
            )
            processes.append((process, log))
        until, texts, cpu_s, hangs = time.monotonic() + patience_s, [], 0.0, False
        for process, log in processes:
            while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
                if time.monotonic() > until:
                    hangs = True
                    os.killpg(process.pid, signal.SIGKILL)
                time.sleep(0.02)
            process.returncode = os.waitstatus_to_exitcode(ended[1])
            log.seek(0)
            text = log.read()
            log.close()
            if not hangs and (process.returncode != 0 or not text.rstrip().endswith("Done")):
                raise SystemExit(f"iibench.py ended with {process.returncode}:\n" + "\n".join(text.splitlines()[-15:]))
            texts.append(text)
            cpu_s += ended[2].ru_utime + ended[2].ru_stime
        if not hangs:
            return texts, cpu_s
        print("iibench.py did not end: the step is repeated", flush=True)
    raise SystemExit(f"iibench.py did not end in {ATTEMPTS} attempts")


def report(rounds: Sequence[tuple[dict[str, Figures], dict[str, Figures]]], server: str, size: Size) -> str:
    """The section of the page."""
    lines = [
        "# The Insert Benchmark next to iibench.py", "",
        f"{server}, {CLIENTS} clients; l.i0 of {size.load:,} rows and l.i1 of {size.more:,} for each;",
        f"queries for {size.seconds} s; {count(len(rounds), 'round')}.",
        "Figures are medians (lowest to highest); ratios are taken within a round. CPU is for a row, or for a query.",
        f"Host: {host()}; {interpreter()}.", "",
        "| step | what | ours | iibench.py | ours/iibench.py | aim |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for step, aim in AIMS.items():
        unit = "queries/s" if step.startswith("q") else "rows/s"
        for column, what, form, goal in (("rate", unit, ",.0f", aim), ("cpu_us", "client CPU (us)", ",.1f", "")):
            a, b = ([getattr(one[side][step], column) for one in rounds] for side in (0, 1))
            ratios = span([x / y for x, y in zip(a, b, strict=True)], ".2f")
            lines.append(f"| {step} | {what} | {span(a, form)} | {span(b, form)} | {ratios} | {goal} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--script", type=Path, required=True, help="iibench.py")
    parser.add_argument("--python", default="python3", help="an interpreter with mysqlclient")
    parser.add_argument("--build", help="label of the server; the system's by default")
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="20,000 rows, 5 s, one round; print only")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.rows, chosen.seconds, chosen.rounds = 20_000, 5, 1
    if not chosen.script.is_file():
        parser.error(f"there is no file {chosen.script}")
    size = Size(chosen.rows, chosen.rows // 4, chosen.seconds)
    build = find_system(workspace()) if chosen.build is None else find_build(chosen.build, workspace()).local
    if build is None:
        parser.error("the server must be a build on this machine")
    rounds = []
    with tempfile.TemporaryDirectory(prefix="iibench") as name:
        scratch = Path(name)
        (scratch / "my.cnf").write_text(MY_CNF)
        with Sandbox(build, scratch / "box", scratch / "my.cnf", scratch / "log") as address:
            for number in range(chosen.rounds):
                pair: dict[bool, dict[str, Figures]] = {}
                for own in (True, False) if number % 2 == 0 else (False, True):
                    pair[own] = (
                        ours(address, size)
                        if own
                        else theirs(address, size, chosen.python, chosen.script.resolve(), scratch)
                    )
                rounds.append((pair[True], pair[False]))
                print(f"round {number + 1} of {chosen.rounds} done", flush=True)
    text = report(rounds, f"{build.flavour} {build.version}", size)
    print(text)
    if not chosen.quick:
        write_section("iibench_peers", text)


if __name__ == "__main__":
    main()
