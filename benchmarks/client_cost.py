"""The cost of our client, next to cursors of PyMySQL and, where they are installed, mysqlclient and sysbench.

    python -m benchmarks.client_cost            measure and write docs/benchmarks/client_cost.md
    python -m benchmarks.client_cost --quick    short rounds, print only

mysqlclient comes with `pip install '.[bench]'`, which compiles: it needs gcc, pkg-config and libmariadb-dev. sysbench
takes part in range queries.

One server, two connections at a time. Every client in Python runs the same load loop and sends the same statements;
only the connection differs, and for inserts the way a statement is made: ours from numpy blocks, the others' row by row
in Python. sysbench, with a thread for each connection, makes the same queries by string.format. Rounds are interleaved,
because shared machines change their speed for seconds at a time, and each round begins with another client; each figure
is given as median (min to max) over the rounds, and ratios are taken within a round.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pymysql

from benchmarks.performance_page import write_section
from ibench_lib.capture.host_facts import host_facts
from ibench_lib.client.compiled_core import CHOICE
from ibench_lib.client.load import Load
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.connection_core import CORE
from ibench_lib.client.recorder import SecondRecorder
from ibench_lib.client.role import Role
from ibench_lib.client.spec import Spec
from ibench_lib.paths import workspace
from ibench_lib.servers.address import Address
from ibench_lib.servers.find import find_system
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.workloads.insert_benchmark import workers
from ibench_lib.workloads.insert_benchmark.client import make_role
from ibench_lib.workloads.insert_benchmark.options import PRESET_SETUPS, Options
from ibench_lib.workloads.insert_benchmark.rows import COLUMNS
from ibench_lib.workloads.insert_benchmark.statements.mysql import create_table
from ibench_lib.workloads.insert_benchmark.steps import plan

try:
    import MySQLdb  # type: ignore[import-untyped]
except ImportError:
    MySQLdb = None

CONNECTIONS = 2
PACED_RATE = 1_000
ROWS = 200_000
DELETE_ROWS_READY = 400_000
MY_CNF = (
    "[mysqld]\nskip_log_bin\ninnodb_buffer_pool_size=1G\ninnodb_flush_log_at_trx_commit=0\ninnodb_doublewrite=0\n"
    "innodb_adaptive_hash_index=OFF\n"
)
OPTIONS = Options.model_validate({"benchmark": "insert_benchmark", "clients": 1, "steps": ["l.i0"]})


class CursorConnection:
    """A DB-API cursor behind the interface that the load loop wants."""

    asked_ns = 0

    def __init__(self, connection: Any) -> None:
        self._cursor = connection.cursor()

    def execute(self, command: bytes) -> int:
        """Send the SQL text after the command byte; fetch all rows of a query."""
        cursor = self._cursor
        cursor.execute(command[1:].decode())
        if cursor.description is not None:
            cursor.fetchall()
        return int(cursor.rowcount)


class RowByRow(Role):
    """Inserts whose rows are made and formatted one by one in Python."""

    def __init__(self, table: str, rows_per_commit: int) -> None:
        self._prefix = f"\x03INSERT INTO {table} ({COLUMNS}) VALUES "
        self._rows = rows_per_commit
        self._draw = random.Random(1)
        self._letters = [chr(65 + number % 26) for number in range(2_000)]

    def next_statement(self) -> bytes:
        return (self._prefix + ",".join([self._row() for _ in range(self._rows)])).encode()

    def _row(self) -> str:
        draw = self._draw
        register, customer = draw.randrange(1_000), draw.randrange(100_000)
        product, price, length = draw.randrange(10_000), draw.randrange(500), draw.randint(10, 20)
        start = draw.randrange(1_980)
        data = "".join(self._letters[start : start + length // 2]) + "a" * (length - length // 2)
        return f"('2023-01-01 00:00:00',{register},{customer},{product},{price},'{data}')"


@dataclass(frozen=True)
class Operation:
    """One row of the table: what is sent, how many rows it carries."""

    name: str
    role: str
    rows_per_commit: int
    query: str | None = None
    recorded_as: str = "query"


OPERATIONS = (
    Operation("range query, 10 rows", "querier", 50, "range"),
    Operation("point query, 10 keys", "querier", 50, "point"),
    Operation("insert, 100 rows", "inserter", 100, recorded_as="insert"),
    Operation("insert, 50 rows", "inserter", 50, recorded_as="insert"),
    Operation("insert, 5 rows", "inserter", 5, recorded_as="insert"),
    Operation("delete, 50 rows", "deleter", 50, recorded_as="delete"),
)
LIMITS = """
## What limits it

- **Most of a range query is two system calls and a sleep.** On a quiet machine, the kernel takes 6 to 7 microseconds:
  one write, one read, and falling asleep and waking between them. Every client pays this. Building the statement,
  pacing and recording together take 0.5 to 0.6 microseconds. The rest is the compiled core and the Python around it.
- **Without the core, text costs more than prepared statements**, because its rows vary in length, so the client must
  look at each packet's header (0.1 microseconds per row). Rows of a prepared statement all have the same width, so the
  client unpacks and checks all headers of an answer at once.
- **Other attempts gained nothing measurable:** smaller reads, and no timeout of the kernel (a client that only sends
  and receives, in six rounds each: 14.6 us without it and 14.8 with it; without it, a silent server could hang a
  client).
- **Most of an insert's cost is in the server.** Two connections keep both cores busy, and the server needs ten times
  the CPU of the client. So rows/s can only rise by what the row-by-row client wastes. Rows are made in blocks of 2,000,
  at 0.05 microseconds each as text; the rest is sending 7 KB.
- **The cost of pacing is waking up.** The table compares our client with a process that only sleeps until each of 1,000
  moments a second. In a virtual machine, arming a timer and taking its interrupt leave the guest several times. Also,
  a query after a sleep finds cold caches and a slow core, and costs more than a query in a tight loop. Two attempts
  gained nothing: select() instead of clock_nanosleep(), and timer slacks from 1 nanosecond to half a millisecond.
- Other work on a shared machine changes all figures by a factor of up to two, for minutes. The ratios are more
  reliable.
"""
WITHOUT_CORE = "ours without the core"
CLIENTS = (
    "ours, text",
    "ours, prepared",
    f"{WITHOUT_CORE}, text",
    f"{WITHOUT_CORE}, prepared",
    "PyMySQL cursor",
    "mysqlclient cursor",
    "sysbench",
)
SYSBENCH = shutil.which("sysbench")
STATEMENTS_OF_SYSBENCH = 3_000
"""Those of our client from which the forms and ranges of its queries are taken."""
_SCRIPT = """
local queries = {{{}}}
function thread_init()
  connection = sysbench.sql.driver():connect()
  own = queries[sysbench.tid + 1]
end
function event()
  local query = own[sysbench.rand.uniform(1, #own)]
  connection:query(string.format(query[1], sysbench.rand.uniform(query[2], query[3]))):free()
end
"""
"""The queries of each thread: a form, and the range of its number. They are made as sysbench's own tests make them."""


@dataclass(frozen=True)
class Measured:
    """One client with one operation in one round, both connections together."""

    ops: int
    rows: int
    elapsed_s: float
    client_us: float
    server_us: float

    @property
    def ops_per_s(self) -> float:
        return self.ops / self.elapsed_s


def connect(client: str, address: Address) -> Any:
    where: dict[str, Any] = {"user": address.user, "unix_socket": address.socket, "database": "b", "autocommit": True}
    if client == "PyMySQL cursor":
        return CursorConnection(pymysql.connect(password=address.password, **where))
    if client == "mysqlclient cursor":
        return CursorConnection(MySQLdb.connect(password=address.password, **where))
    if client.startswith(WITHOUT_CORE):
        os.environ[CHOICE] = "0"  # of a process that serves this client only
        CORE.forget()
    return Connection(address.arguments(), "b", 60)


def role_of(
    client: str, operation: Operation, number: int, round_number: int, address: Address, connection: Any
) -> Role:
    table = f"q{number}" if operation.role == "querier" else f"w{number}"
    if operation.role == "inserter" and not client.startswith("ours"):
        return RowByRow(table, operation.rows_per_commit)
    spec = Spec(
        module="",
        role=operation.role,
        client=number,
        number=0,
        operations=(operation.recorded_as,),
        statements=None,
        seconds=None,
        tick_ns=None,
        timeout_s=60.0,
        seed=round_number,
        details={
            "table": table,
            "rows_per_commit": operation.rows_per_commit,
            "query": operation.query,
            "step_id": 0,
            "clock_s": 0,
            "engine": "innodb",
            "protocol": "prepared" if client.endswith("prepared") else "text",
            "query_rows": 10,
            "data_length": [10, 20],
            "secondary_indexes": 3,
            "bulk_load": False,
        },
    )
    # A cursor has no scalar(); what a role asks on the side goes over a connection of its own.
    own = connection if client.startswith("ours") else Connection(address.arguments(), "b", 60)
    role = make_role(spec, own)
    role.shared.value = 1  # the smallest key of a table of which nothing is deleted
    role.probe()
    return role


def child(
    client: str, operation: Operation, number: int, round_number: int, address: Address, at: int, for_s: float
) -> dict[str, Any]:
    connection = connect(client, address)
    role = role_of(client, operation, number, round_number, address, connection)
    recorder = SecondRecorder(at, paced=False, emit=lambda _row: None, operations=(operation.recorded_as,))
    load = Load(role, connection, recorder, at, None, at + round(for_s * 1e9), None, None)
    return load.run()


def in_children(jobs: list[Callable[[], dict[str, Any]]]) -> list[dict[str, Any]]:
    """Run each job in a forked process; their results in order."""
    pipes = []
    for job in jobs:
        reader, writer = os.pipe()
        if os.fork() == 0:
            status = 1
            try:
                os.write(writer, json.dumps(job()).encode())
                status = 0
            finally:
                os._exit(status)
        os.close(writer)
        pipes.append(reader)
    answers = []
    for reader in pipes:
        with os.fdopen(reader, "rb") as file:
            answers.append(json.loads(file.read()))
        os.wait()
    return answers


def measure(
    client: str, operation: Operation, round_number: int, address: Address, server: psutil.Process, for_s: float
) -> Measured:
    if client == "sysbench":
        return measure_sysbench(operation, round_number, address, server, for_s)
    if operation.role == "deleter":
        top_up(address)
    at = time.monotonic_ns() + 400_000_000
    jobs: list[Callable[[], dict[str, Any]]] = [
        lambda number=number: child(client, operation, number, round_number, address, at, for_s)  # type: ignore[misc]
        for number in range(1, CONNECTIONS + 1)
    ]
    before = server.cpu_times()
    totals = in_children(jobs)
    after = server.cpu_times()
    for total in totals:
        if total["status"] != "complete":
            raise SystemExit(f"{client}, {operation.name}: {total['error']}")
    ops = sum(total["ops"] for total in totals)
    cpu = sum(total["cpu_user_s"] + total["cpu_system_s"] for total in totals)
    server_cpu = after.user + after.system - before.user - before.system
    elapsed = max(total["end_ns"] for total in totals) / 1e9 - at / 1e9
    rows = sum(total["rows"] for total in totals)
    return Measured(ops, rows, elapsed, cpu / ops * 1e6, server_cpu / ops * 1e6)


def measure_sysbench(
    operation: Operation, round_number: int, address: Address, server: psutil.Process, for_s: float
) -> Measured:
    """sysbench with the statements of our clients, its start included."""
    assert SYSBENCH is not None
    threads = []
    for number in range(1, CONNECTIONS + 1):
        connection = Connection(address.arguments(), "b", 60)
        role = role_of("ours, text", operation, number, round_number, address, connection)
        numbers: dict[str, list[int]] = {}
        for _ in range(STATEMENTS_OF_SYSBENCH):
            text = bytes(role.next_statement())[1:].decode()
            (number_in,) = re.findall(r" (\d+) ORDER BY ", text)
            numbers.setdefault(text.replace(f" {number_in} ORDER BY ", " %d ORDER BY "), []).append(int(number_in))
        forms = (f"{{{json.dumps(form)},{min(of)},{max(of)}}}" for form, of in numbers.items())
        threads.append("{" + ",".join(forms) + "}")
        connection.close()
    with tempfile.TemporaryDirectory() as scratch:
        script = Path(scratch) / "statements.lua"
        script.write_text(_SCRIPT.format(",".join(threads)))
        command = [
            SYSBENCH, str(script), "--db-driver=mysql", f"--mysql-socket={address.socket}", "--mysql-db=b",
            f"--mysql-user={address.user}", f"--mysql-password={address.password}", f"--threads={CONNECTIONS}",
            "--events=0", f"--time={max(1, round(for_s))}", "run",
        ]  # fmt: skip
        before = server.cpu_times()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            text = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        after = server.cpu_times()
    events = re.search(r"total number of events: +(\d+)", text)
    seconds = re.search(r"total time: +([\d.]+)s", text)
    if process.returncode != 0 or events is None or seconds is None:
        raise SystemExit(f"sysbench ended with {process.returncode}:\n{text}")
    ops = int(events[1])
    server_cpu = after.user + after.system - before.user - before.system
    cpu = used.ru_utime + used.ru_stime
    return Measured(ops, 10 * ops, float(seconds[1]), cpu / ops * 1e6, server_cpu / ops * 1e6)


def top_up(address: Address) -> None:
    """Enough rows for the deleters of one round, whatever the round before has left."""
    connection = Connection(address.arguments(), "b", 60)
    for number in range(1, CONNECTIONS + 1):
        missing = DELETE_ROWS_READY - (connection.scalar(f"SELECT COUNT(*) FROM w{number}") or 0)
        fill(connection, f"w{number}", max(0, missing))
    connection.close()


def fill(connection: Connection, table: str, rows: int) -> None:
    step = plan(OPTIONS, PRESET_SETUPS["cached"], 1.0)[0]
    worker = workers.Worker(client=1, role="inserter", operations=("insert",), table=table)
    role = make_role(workers.spec(OPTIONS, step, worker, 0), connection)
    for _ in range(rows // 100):
        connection.execute(role.next_statement())


def prepare(address: Address) -> None:
    connection = Connection(address.arguments(), None, 120)
    connection.query("CREATE DATABASE b")
    connection.query("USE b")
    step = plan(OPTIONS, PRESET_SETUPS["cached"], 1.0)[0]
    for number in range(1, CONNECTIONS + 1):
        for table in (f"q{number}", f"w{number}"):
            connection.query(create_table(table, OPTIONS.engine))
        fill(connection, f"q{number}", ROWS)
        indexer = workers.Worker(client=number, role="indexer", operations=("create_index",), table=f"q{number}")
        role = make_role(workers.spec(OPTIONS, step, indexer, 0), connection)
        connection.execute(role.next_statement())
    connection.close()


class Free:
    """A connection that answers at once: what remains is the loop itself."""

    asked_ns = 0

    def execute(self, _command: bytes) -> int:
        return 10


class Nothing(Role):
    def next_statement(self) -> bytes:
        return b""


class Forgetful(SecondRecorder):
    """Records nothing: the loop with it, taken from the loop with the real one, is what recording costs."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        forgetful: Any = self.first
        forgetful.record = lambda due_ns, ready_ns, sent_ns, answered_ns, rows: None


def recording_cost_us(operations: int) -> float:
    """Microseconds that recording adds to an operation, hand-over once a second included."""

    def per_operation(recorder_type: type[SecondRecorder]) -> float:
        start = time.monotonic_ns()
        recorder = recorder_type(start, paced=True, emit=lambda _row: None, operations=("operation",))
        free: Any = Free()
        total = Load(Nothing(), free, recorder, start, operations, None, 1, None).run()
        return float(total["cpu_user_s"] + total["cpu_system_s"]) / operations * 1e6

    return min(per_operation(SecondRecorder) for _ in range(5)) - min(per_operation(Forgetful) for _ in range(5))


def paced(address: Address, for_s: float) -> tuple[float, float]:
    """(share of a core at `PACED_RATE` range queries/s, client lag p99 in us)."""

    def job() -> dict[str, Any]:
        connection = connect("ours, text", address)
        role = role_of("ours, text", OPERATIONS[0], 1, 99, address, connection)
        at = time.monotonic_ns() + 200_000_000
        recorder = SecondRecorder(at, paced=True, emit=lambda _row: None, operations=("operation",))
        return Load(role, connection, recorder, at, None, at + round(for_s * 1e9), round(1e9 / PACED_RATE), None).run()

    (total,) = in_children([job])
    return (total["cpu_user_s"] + total["cpu_system_s"]) / for_s, total["client_lag_p99_us"]


def bare_sleep(for_s: float) -> float:
    """Percent of a core that waking `PACED_RATE` times a second costs by itself."""

    def job() -> dict[str, Any]:
        start, before = time.monotonic_ns(), time.process_time()
        for number in range(round(for_s * PACED_RATE)):
            due = start + number * round(1e9 / PACED_RATE)
            time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
        return {"cpu_s": time.process_time() - before}

    return float(in_children([job])[0]["cpu_s"]) / for_s * 100


def spread(values: list[float], digits: int = 1) -> str:
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="two short rounds, print only")
    quick = arguments.parse_args().quick
    rounds, for_s = (2, 0.5) if quick else (5, 2.0)
    missing = {"mysqlclient cursor": MySQLdb is None, "sysbench": SYSBENCH is None}
    clients = [client for client in CLIENTS if not missing.get(client)]
    build = find_system(workspace())
    results: dict[tuple[str, str], list[Measured]] = {}
    paced_rounds: list[tuple[float, float, float]] = []
    with tempfile.TemporaryDirectory() as scratch:
        my_cnf = Path(scratch) / "my.cnf"
        my_cnf.write_text(MY_CNF)
        box = Sandbox(build, Path(scratch) / "box", my_cnf, Path(scratch) / "log")
        with box as address:
            assert box.process is not None
            server = psutil.Process(box.process.pid)
            prepare(address)
            for round_number in range(1, rounds + 1):
                for operation in OPERATIONS:
                    first = round_number % len(clients)
                    for client in [*clients[first:], *clients[:first]]:
                        if client == "sysbench" and operation.query != "range":
                            continue
                        measured = measure(client, operation, round_number, address, server, for_s)
                        results.setdefault((operation.name, client), []).append(measured)
                        print(
                            f"{round_number} {operation.name:<22} {client:<20} {measured.ops_per_s:>9,.0f} ops/s "
                            f"{measured.client_us:7.1f} us client {measured.server_us:7.1f} us server",
                            flush=True,
                        )
                truncate(address)
                time.sleep(2)  # what the truncation leaves to the server's threads
                paced_rounds.append((*paced(address, 2 * for_s), bare_sleep(for_s)))
        facts = host_facts(Path(scratch))
    text = report(results, clients, rounds, for_s, facts, f"{build.flavour} {build.version}", paced_rounds)
    print(text)
    if not quick:
        write_section("client_cost", text)


def truncate(address: Address) -> None:
    connection = Connection(address.arguments(), "b", 60)
    for number in range(1, CONNECTIONS + 1):
        connection.query(f"TRUNCATE TABLE w{number}")
    connection.close()


def report(
    results: dict[tuple[str, str], list[Measured]],
    clients: list[str],
    rounds: int,
    for_s: float,
    facts: dict[str, Any],
    server: str,
    paced_rounds: list[tuple[float, float, float]],
) -> str:
    lines = [
        "# What a client costs",
        "",
        f"Measured with `python -m benchmarks.client_cost`: {rounds} interleaved rounds of {for_s:g} s, "
        f"{CONNECTIONS} connections over",
        f"a Unix socket, {server}, {facts['usable_cpus']} cores ({facts['cpu_model']}).",
        "CPU times are microseconds per statement. Figures are the median (min to max) of the rounds.",
        "",
        "| operation | client | statements/s | client CPU us | server CPU us |",
        "|---|---|---|---|---|",
    ]
    for operation in OPERATIONS:
        for client in clients:
            found = results.get((operation.name, client))
            if found is None:
                continue
            lines.append(
                f"| {operation.name} | {client} | {spread([m.ops_per_s for m in found], 0)} | "
                f"{spread([m.client_us for m in found])} | {spread([m.server_us for m in found])} |"
            )
    lines += [
        "",
        "## Targets",
        "",
        "Ratios are computed within each round.",
        "",
        "| what | target | measured | reached |",
        "|---|---|---|---|",
    ]

    def target(what: str, goal: str, measured: str, reached: bool) -> None:
        lines.append(f"| {what} | {goal} | {measured} | {'yes' if reached else 'no'} |")

    def ratio(
        what: str,
        operation: str,
        ours: str,
        theirs: str,
        goal: float,
        of: Callable[[Measured], float],
        higher: bool = False,
    ) -> None:
        if (operation, theirs) not in results:
            lines.append(f"| {what} | {goal:g} | not measured: {theirs.split()[0]} is not installed | - |")
            return
        pairs = zip(results[operation, ours], results[operation, theirs], strict=True)
        ratios = [of(a) / of(b) for a, b in pairs]
        median = statistics.median(ratios)
        reached = median >= goal if higher else median <= goal
        sign = ">=" if higher else "<="
        target(what, f"{sign} {goal:g}", spread(ratios, 2), reached)

    def cpu(m: Measured) -> float:
        return m.client_us

    def row_cpu(m: Measured) -> float:
        return m.client_us * m.ops / m.rows

    query, insert = OPERATIONS[0].name, OPERATIONS[2].name
    ratio("range query, text: client CPU / mysqlclient's", query, "ours, text", "mysqlclient cursor", 0.30, cpu)
    ratio("range query, text: client CPU / PyMySQL's", query, "ours, text", "PyMySQL cursor", 0.22, cpu)
    ratio("range query, text: client CPU / sysbench's", query, "ours, text", "sysbench", 0.75, cpu)
    for protocol in ("text", "prepared"):
        what = f"range query, {protocol}: client CPU / without the core"
        ratio(what, query, f"ours, {protocol}", f"{WITHOUT_CORE}, {protocol}", 1.0, cpu)
    ratio("range query, prepared: client CPU / mysqlclient's", query, "ours, prepared", "mysqlclient cursor", 0.55, cpu)
    for protocol in ("text", "prepared"):
        what, ours, by_row = f"100-row insert, {protocol}", f"ours, {protocol}", "PyMySQL cursor"
        ratio(f"{what}: client CPU per row / row by row", insert, ours, by_row, 0.20, row_cpu)
        ratio(f"{what}: rows/s / row by row", insert, ours, by_row, 1.6, lambda m: m.rows / m.elapsed_s, higher=True)
    recording = recording_cost_us(300_000)
    target("recording a latency, us", "<= 1", f"{recording:.2f}", recording <= 1)
    beyond = [
        100 * (share - unpaced.client_us * PACED_RATE / 1e6)
        for (share, *_), unpaced in zip(paced_rounds, results[query, "ours, text"], strict=True)
    ]
    what = f"{PACED_RATE} paced queries/s"
    target(f"{what}: % of a core in addition to the queries", "<= 3", spread(beyond), statistics.median(beyond) <= 3)
    lines.append(f"| {PACED_RATE} bare sleeps/s: % of a core | - | {spread([bare for *_, bare in paced_rounds])} | - |")
    lags = [lag_us for _, lag_us, _ in paced_rounds]
    target(f"{what}: client lag p99, us", "<= 1000", spread(lags, 0), statistics.median(lags) <= 1000)
    lines += ["", LIMITS.strip()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
