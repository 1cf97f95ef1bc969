"""The cost of our client of PostgreSQL, next to psycopg's cursor where that is installed.

    python -m benchmarks.postgres_client_cost            measure and write docs/benchmarks/postgres_client_cost.md
    python -m benchmarks.postgres_client_cost --quick    two short rounds, print only

psycopg comes with `pip install 'psycopg[binary]'`. One connection sends range queries of the Insert Benchmark in the
same load loop; only the connection differs. Rounds are interleaved, each begins with another client, and ratios are
taken within a round.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import itertools
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.client_cost import ROWS, WITHOUT_CORE, CursorConnection, in_children, spread
from benchmarks.performance_page import write_section
from ibench_lib.capture.host_facts import host_facts
from ibench_lib.client.compiled_core import CHOICE
from ibench_lib.client.load import Load
from ibench_lib.client.recorder import SecondRecorder
from ibench_lib.client.spec import Spec
from ibench_lib.families.postgres.driver import Connection
from ibench_lib.families.postgres.driver_core import CORE
from ibench_lib.paths import workspace
from ibench_lib.servers.address import Address
from ibench_lib.servers.find import find_build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.workloads.insert_benchmark.client import make_role
from ibench_lib.workloads.insert_benchmark.statements import postgres as sql

OPTIONS = "shared_buffers = 256MB\nfsync = off\nautovacuum = off\n"
OURS = ("ours, text", "ours, prepared", f"{WITHOUT_CORE}, text", f"{WITHOUT_CORE}, prepared")
PEERS = ("psycopg cursor, text", "psycopg cursor, prepared")
GOAL = 0.55
TABLE = "pi1"


class PsycopgConnection(CursorConnection):
    """A cursor that sends the text of our command, or prepares it with its number as a parameter."""

    def __init__(self, connection: Any, *, prepares: bool) -> None:
        super().__init__(connection)
        self._prepares = prepares
        self._forms: dict[str, str] = {}

    def execute(self, command: bytes) -> int:
        """Send a query of our role, and read its rows."""
        text = command[1:].decode()
        if self._prepares:
            before, _, rest = text.rpartition(" ORDER BY ")
            head, _, number = before.rpartition(" ")
            form = self._forms.setdefault(head, f"{head} %s ORDER BY {rest}")
            self._cursor.execute(form, (int(number),), prepare=True)
        else:
            self._cursor.execute(text)
        return len(self._cursor.fetchall())


def child(client: str, address: Address, round_number: int, for_s: float) -> dict[str, Any]:
    """One client's queries for some seconds; totals of the load."""
    own = Connection(address.arguments(), "postgres", 60.0)
    connection: Any = own
    if client.startswith(WITHOUT_CORE):
        os.environ[CHOICE] = "0"  # of a process that serves this client only
        CORE.forget()
        own = connection = Connection(address.arguments(), "postgres", 60.0)
    elif client in PEERS:
        psycopg = importlib.import_module("psycopg")
        where: Mapping[str, Any] = address.arguments()
        socket = Path(where["unix_socket"]).resolve()  # libpq takes the name from the port
        plain = psycopg.connect(
            host=str(socket.parent), port=int(socket.name.rpartition(".")[2]), user=where["user"],
            password=where["password"], dbname="postgres", autocommit=True,
            prepare_threshold=0 if client.endswith("prepared") else None,
        )  # fmt: skip
        connection = PsycopgConnection(plain, prepares=client.endswith("prepared"))
    spec = Spec(
        module="", role="querier", client=1, number=0, operations=("query",), statements=None, seconds=None,
        tick_ns=None, timeout_s=60.0, seed=round_number,
        details={
            "table": TABLE, "rows_per_commit": 50, "query": "range", "step_id": 0, "clock_s": 0, "engine": None,
            "protocol": "prepared" if client.endswith("prepared") and client not in PEERS else "text",
            "query_rows": 10, "data_length": [10, 20], "secondary_indexes": 3, "bulk_load": False,
        },
    )  # fmt: skip
    role = make_role(spec, own)
    role.shared.value = 1
    role.probe()
    at = time.monotonic_ns() + 100_000_000
    recorder = SecondRecorder(at, paced=False, emit=lambda _row: None, operations=("query",))
    return Load(role, connection, recorder, at, None, at + round(for_s * 1e9), None, None).run()


def prepare(address: Address) -> None:
    """The table, its rows and its indexes."""
    connection = Connection(address.arguments(), "postgres", 120.0)
    connection.query(sql.create_table(TABLE, ""))
    columns = "dateandtime, cashregisterid, customerid, productid, price, data"
    values = "now(), (random()*999)::int, (random()*99999)::int, (random()*9999)::int, random()*499, 'aaaaaaaaaaaaaaa'"
    connection.query(f"INSERT INTO {TABLE} ({columns}) SELECT {values} FROM generate_series(1, {ROWS})")
    for name, of in (("a", "productid, customerid, price"), ("b", "cashregisterid, customerid, price"),
                     ("c", "price, dateandtime, customerid")):  # fmt: skip
        connection.query(f"CREATE INDEX {TABLE}_{name} ON {TABLE} ({of})")
    connection.query(f"VACUUM ANALYZE {TABLE}")
    connection.close()


def main() -> None:
    """Measure all clients in turn, and write the page."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="two short rounds, print only")
    arguments.add_argument("--build", default="postgres-15", help="the build of the server")
    given = arguments.parse_args()
    rounds, for_s = (2, 0.5) if given.quick else (9, 2.0)
    has_psycopg = importlib.util.find_spec("psycopg") is not None
    clients = [*OURS, *(PEERS if has_psycopg else ())]
    found: dict[str, list[float]] = {client: [] for client in clients}
    rates: dict[str, list[float]] = {client: [] for client in clients}
    build = find_build(given.build, workspace()).local
    if build is None:
        raise SystemExit(f"{given.build} is on another machine")
    with tempfile.TemporaryDirectory(dir="/tmp") as scratch:
        Path(scratch).chmod(0o755)  # the server runs as another user
        (Path(scratch) / "my.cnf").write_text(OPTIONS)
        with Sandbox(build, Path(scratch) / "box", Path(scratch) / "my.cnf", Path(scratch) / "log") as address:
            prepare(address)
            for number in range(1, rounds + 1):
                first = number % len(clients)
                for client in [*clients[first:], *clients[:first]]:
                    (total,) = in_children([lambda: child(client, address, number, for_s)])  # noqa: B023
                    if total["status"] != "complete":
                        raise SystemExit(f"{client}: {total['error']}")
                    found[client].append((total["cpu_user_s"] + total["cpu_system_s"]) / total["ops"] * 1e6)
                    rates[client].append(total["ops"] / for_s)
                    print(f"{number} {client:<32} {found[client][-1]:7.1f} us {rates[client][-1]:9,.0f}/s", flush=True)
        facts = host_facts(Path(scratch))
    text = report(found, rates, rounds, for_s, facts, f"{build.flavour} {build.version}")
    print(text)
    if not given.quick:
        write_section("postgres_client_cost", text)


def report(
    found: dict[str, list[float]],
    rates: dict[str, list[float]],
    rounds: int,
    for_s: float,
    facts: dict[str, Any],
    server: str,
) -> str:
    """The page."""
    peer = "psycopg is not installed."
    if PEERS[0] in found:
        psycopg = importlib.import_module("psycopg")
        version = f"psycopg {psycopg.__version__} ({psycopg.pq.__impl__})"
        peer = f"{version} reads rows as Python's values, and takes a text apart to prepare it; ours counts rows."
    lines = [
        "# What a client of PostgreSQL costs",
        "",
        f"Measured with `python -m benchmarks.postgres_client_cost`: {rounds} interleaved rounds of {for_s:g} s, one",
        f"connection over a Unix socket, {server}, {facts['usable_cpus']} cores ({facts['cpu_model']}).",
        "Range queries of 10 rows; CPU times are microseconds per query, the median (min to max) of the rounds.",
        peer,
        "",
        "| client | queries/s | client CPU us |",
        "|---|---|---|",
        *(f"| {client} | {spread(rates[client], 0)} | {spread(us)} |" for client, us in found.items()),
        "",
        "Ratios are computed within each round.",
        "",
        "| what | target | measured | reached |",
        "|---|---|---|---|",
    ]
    others = ((WITHOUT_CORE, "that without the core", 1.0), ("psycopg cursor", "that of psycopg's cursor", GOAL))
    for kind, (other, named, goal) in itertools.product(("text", "prepared"), others):
        ours, theirs, what = f"ours, {kind}", f"{other}, {kind}", f"range query, {kind}: client CPU / {named}"
        if theirs not in found:
            lines.append(f"| {what} | <= {goal:g} | not measured: psycopg is not installed | - |")
            continue
        ratios = [a / b for a, b in zip(found[ours], found[theirs], strict=True)]
        reached = sorted(ratios)[len(ratios) // 2] <= goal
        lines.append(f"| {what} | <= {goal:g} | {spread(ratios, 2)} | {'yes' if reached else 'no'} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
