"""Our LinkBench next to the original in Java: client CPU per operation, operations/s, links/s, memory, fairness.

    python -m benchmarks.linkbench_peers --jar target/FacebookLinkBench.jar --config config     writes the page
    python -m benchmarks.linkbench_peers --jar ... --config ... --quick    a small graph and short steps, print only

The jar is built from the original's source with `mvn package -DskipTests`; `--config` is the folder of its source with
FBWorkload.properties and Distribution.dat. It needs Java 8 or later. The MySQL driver in the jar, 5.1.22, cannot read
the collations of MariaDB 10.10 and later: give 5.1.49 as `--driver`.

One server over TCP, the same tables, the same distribution of links, each program with as many loaders. In each round
both load a graph of their own and send requests to it; rounds alternate which program is first, and ratios are taken
within a round. CPU and memory are those of all client processes. Java's CPU includes the start of its machine and
compiling, so steps must be long: a minute or more.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import Watch, bare_round_trip_us, create, duration_s, host, interpreter, our_step, span
from benchmarks.performance_page import write_section
from ibench_lib.base.wording import count
from ibench_lib.paths import workspace
from ibench_lib.runner.step import StepResult
from ibench_lib.servers.address import Address
from ibench_lib.servers.find import find_build, find_system
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.workloads.linkbench.options import Options, Setup
from ibench_lib.workloads.linkbench.population import Graph
from ibench_lib.workloads.linkbench.workload import WORKLOAD

MY_CNF = (
    "[mysqld]\nskip_log_bin\ninnodb_buffer_pool_size=2G\ninnodb_log_file_size=1G\ninnodb_flush_log_at_trx_commit=0\n"
    "innodb_doublewrite=0\ninnodb_adaptive_hash_index=OFF\nmax_connections=400\n"
)
DATABASE = "linkbench"
LOADERS = 2
SEVERAL = 64
_LOADED = re.compile(r"LOAD PHASE COMPLETED\..* Loaded (\d+) links .*Took ([\d.]+) seconds")
_REQUESTED = re.compile(r"REQUEST PHASE COMPLETED\. (\d+) requests done in (\d+) seconds")
_TARGETS = {
    ("cpu_us", 2): ("client CPU per operation", "<= 0.70"),
    ("rate", 2): ("operations/s", ">= 1.10"),
    ("links", 0): ("links/s of the load", ">= 1.5"),
    ("rate", SEVERAL): ("operations/s", ">= 1.10"),
}


@dataclass(frozen=True)
class Figures:
    """One program's figures of a load (`links` a second) or of requests; `memory` is its peak in bytes."""

    rate: float
    cpu_us: float
    memory: int
    fewest: float | None = None
    most: float | None = None


def ours(address: dict[str, Any], options: Options, setup: Setup, number: int) -> tuple[StepResult, Watch]:
    """One of our steps: 0 is the load. Raises what made it fail."""
    return our_step(WORKLOAD, options, WORKLOAD.steps(options, setup, 1.0)[number], number, address, DATABASE)


def our_figures(result: StepResult, watch: Watch) -> Figures:
    """Of a step of requests."""
    totals = [state.totals for state in result.workers if state.totals]
    done = sum(one["ops"] for one in totals)
    cpu_s = sum(one["cpu_user_s"] + one["cpu_system_s"] for one in totals)
    each = Counter[tuple[int, int]]()
    for number, one in enumerate(totals):
        for connection, _, _, ops in one["outcomes"]:
            each[number, connection] += ops
    middle = statistics.median(each.values())
    fewest, most = min(each.values()) / middle, max(each.values()) / middle
    return Figures(done / duration_s(result), 1e6 * cpu_s / done, watch.most, fewest, most)


def java(
    jars: str, properties: Path, extra: Sequence[str], pattern: re.Pattern[str], heap: str
) -> tuple[re.Match[str], Watch]:
    """One phase of the original, which must end with a line of this pattern."""
    command = ["java", f"-Xmx{heap}", "-cp", jars, "com.facebook.LinkBench.LinkBenchDriver", "-c", str(properties)]
    with tempfile.TemporaryFile("w+") as log, Watch() as watch:
        process = subprocess.Popen([*command, *extra], stdout=log, stderr=subprocess.STDOUT)
        watch.pids.add(process.pid)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        text = log.read()
    found = pattern.search(text)
    if process.returncode != 0 or found is None:
        raise SystemExit(f"the original ended with {process.returncode}:\n" + "\n".join(text.splitlines()[-15:]))
    watch.ended(process.pid, used.ru_utime + used.ru_stime)
    return found, watch


def properties_of(scratch: Path, config: Path, address: Address, nodes: int) -> Path:
    """The original's configuration for this server."""
    path = scratch / "linkbench.properties"
    values = {
        "workload_file": config / "FBWorkload.properties", "data_file": config / "Distribution.dat",
        "linkstore": "com.facebook.LinkBench.LinkStoreMysql", "nodestore": "com.facebook.LinkBench.LinkStoreMysql",
        "host": address.host, "port": address.port, "user": address.user, "password": address.password,
        "dbid": DATABASE, "linktable": "linktable", "counttable": "counttable", "nodetable": "nodetable",
        "debuglevel": "INFO", "progressfreq": 300, "displayfreq": 1800, "load_progress_interval": 1_000_000,
        "req_progress_interval": 1_000_000, "maxsamples": 10_000, "loaders": LOADERS, "generate_nodes": "true",
        "loader_chunk_size": 2048, "requesters": 1, "requests": 1 << 30, "requestrate": 0, "maxtime": 60,
        "warmup_time": 0, "max_failed_requests": 100, "maxid1": nodes + 1,
    }  # fmt: skip
    path.touch(mode=0o600)  # it has the server's password
    path.write_text("".join(f"{key} = {value}\n" for key, value in values.items()))
    return path


def round_of_ours(address: dict[str, Any], options: Options, setup: Setup) -> dict[tuple[str, int], Figures]:
    """A load and the steps."""
    create(WORKLOAD, options, setup, address, DATABASE)
    result, watch = ours(address, options, setup, 0)
    links = sum((state.totals or {})["rows_by_table"].get("linktable", 0) for state in result.workers)
    found = {("load", 0): Figures(links / duration_s(result), 0.0, watch.most)}
    for number, step in enumerate(WORKLOAD.steps(options, setup, 1.0)):
        if step.kind == "requests":
            found["requests", int(step.name[1:])] = our_figures(*ours(address, options, setup, number))
    return found


def round_of_java(
    address: dict[str, Any], options: Options, setup: Setup, jars: str, properties: Path, heap: str
) -> dict[tuple[str, int], Figures]:
    """The same with the original."""
    create(WORKLOAD, options, setup, address, DATABASE)
    loaded, watch = java(jars, properties, ["-l"], _LOADED, heap)
    found = {("load", 0): Figures(int(loaded[1]) / float(loaded[2]), 0.0, watch.most)}
    for requesters in options.requesters:
        extra = ["-r", "-D", f"requesters={requesters}", "-D", f"maxtime={round(setup.seconds)}"]
        done, watch = java(jars, properties, extra, _REQUESTED, heap)
        ops = int(done[1])
        found["requests", requesters] = Figures(ops / setup.seconds, 1e6 * watch.cpu_s / ops, watch.most)
    return found


def graph_seconds(graph: Graph) -> float:
    """How long the degrees and the shuffle of all ids take."""
    begun = time.perf_counter()
    for first in range(0, graph.nodes, 1 << 18):
        graph.degrees(np.arange(first + 1, min(graph.nodes, first + (1 << 18)) + 1))
    return time.perf_counter() - begun


Rounds = Sequence[dict[tuple[str, int], Figures]]


def report(mine: Rounds, theirs: Rounds, nodes: int, seconds: float, graph_s: float, bare_us: float) -> str:
    """The section of the page."""
    lines = [
        "# LinkBench next to the original in Java", "",
        f"{nodes:,} nodes with the original's distribution, {LOADERS} loaders, steps of {seconds:g} s, "
        f"{count(len(mine), 'round')}.",
        "Figures are medians (lowest to highest); ratios are taken within a round.",
        f"Host: {host()}; {interpreter()}.", "",
        "| what | requesters | ours | Java | ours/Java | aim |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    steps = sorted(requesters for kind, requesters in mine[0] if kind == "requests")
    rows = [("links/s of the load", "load", 0, "rate", ",.0f", _TARGETS["links", 0][1])]
    for requesters in steps:
        for column, what, form in (
            ("cpu_us", "client CPU per operation (us)", ",.1f"),
            ("rate", "operations/s", ",.0f"),
        ):
            rows.append((what, "requests", requesters, column, form, _TARGETS.get((column, requesters), ("", ""))[1]))
    for what, kind, requesters, column, form, aim in rows:
        a, b = ([getattr(one[kind, requesters], column) for one in rounds] for rounds in (mine, theirs))
        ratios = span([x / y for x, y in zip(a, b, strict=True)], ".2f")
        lines.append(f"| {what} | {requesters or '-'} | {span(a, form)} | {span(b, form)} | {ratios} | {aim} |")
    last = max(steps)
    a, b = ([one["requests", last].memory / 1e6 for one in rounds] for rounds in (mine, theirs))
    lines.append(f"| memory of all clients (MB) | {last} | {span(a, ',.0f')} | {span(b, ',.0f')} | - | <= 300 |")
    each = [one["requests", last] for one in mine]
    fewest, most = min(one.fewest or 0 for one in each), max(one.most or 0 for one in each)
    lines += [
        "",
        f"Each of the {last} ibench requesters did {fewest:.2f} to {most:.2f} times the operations of the median "
        "requester "
        "(aim: 0.8 to 1.2).",
        "",
        f"What limits ibench: a bare round trip, SELECT 1 sent and its answer not read, takes {bare_us:.1f} us of the "
        "client's CPU,",
        "and an operation takes 1.2 round trips. The rest is mostly Python: an operation is drawn (2 us with warm "
        "caches), its statements",
        "are written, its outcome is counted. Rows are only decoded where an operation reads them. Huge pages and "
        "another allocator changed",
        "nothing.",
        "",
        f"The degrees and the shuffle of 10 million ids take {graph_s:.1f} s (aim: 3 s).",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--jar", type=Path, required=True, help="the original, with all that it depends on")
    parser.add_argument("--config", type=Path, required=True, help="folder with its FBWorkload.properties")
    parser.add_argument("--driver", type=Path, help="a MySQL Connector/J 5.1 to use in place of the one in the jar")
    parser.add_argument("--build", help="label of the server; the system's by default")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requesters", type=int, nargs="+", default=[2, SEVERAL])
    parser.add_argument("--heap", default="1000m", help="Java's, as in the original's own script")
    parser.add_argument("--quick", action="store_true", help="2,000 nodes, 3 s, one round; print only")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.nodes, chosen.seconds, chosen.rounds = 2_000, 3.0, 1
    config = chosen.config.resolve()
    jars = os.pathsep.join(str(path) for path in (chosen.driver, chosen.jar) if path is not None)
    for path in (chosen.jar, config / "FBWorkload.properties", config / "Distribution.dat"):
        if not path.is_file():
            parser.error(f"there is no file {path}")
    setup = Setup(name="peers", nodes=chosen.nodes, seconds=chosen.seconds, warm_up=1.0)
    options = Options(
        benchmark="linkbench", clients=LOADERS, requesters=chosen.requesters, control=False, distribution="d"
    ).with_files({"distribution": config / "Distribution.dat"})
    build = find_system(workspace()) if chosen.build is None else find_build(chosen.build, workspace()).local
    if build is None:
        parser.error("the server must be a build on this machine")
    mine: list[dict[tuple[str, int], Figures]] = []
    theirs: list[dict[tuple[str, int], Figures]] = []
    with tempfile.TemporaryDirectory(prefix="linkbench") as name:
        scratch = Path(name)
        (scratch / "my.cnf").write_text(MY_CNF)
        with Sandbox(build, scratch / "box", scratch / "my.cnf", scratch / "log", tcp=True) as address:
            where, properties = address.arguments(), properties_of(scratch, config, address, chosen.nodes)
            for number in range(chosen.rounds):
                for own in (True, False) if number % 2 == 0 else (False, True):
                    if own:
                        mine.append(round_of_ours(where, options, setup))
                    else:
                        theirs.append(round_of_java(where, options, setup, jars, properties, chosen.heap))
                print(f"round {number + 1} of {chosen.rounds} done", flush=True)
            bare_us = bare_round_trip_us(where)
    text = report(mine, theirs, chosen.nodes, chosen.seconds, graph_seconds(options.graph(10_000_000)), bare_us)
    print(text)
    if not chosen.quick:
        write_section("linkbench_peers", text)


if __name__ == "__main__":
    main()
