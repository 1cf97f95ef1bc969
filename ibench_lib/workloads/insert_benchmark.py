"""The Insert Benchmark: its options, its steps, its tables, and which client processes a step needs.

One table per client (`pi1` ... `piN`) and per client one connection and one process for each role: inserter, deleter in
steps that delete, querier in steps that query. What those processes send is in `insert_benchmark_client.py`.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ibench_lib.paths import NAME_RULE

Kind = Literal["load", "index", "write", "query"]

CLIENT_MODULE = "ibench_lib.workloads.insert_benchmark_client"

STEP_FORMS = "l.i0, l.x, l.i1, l.i2, qrN or qpN (N inserts/s per client, such as qr100)"
_QUERY_STEP = re.compile(r"q(?P<query>[rp])(?P<rate>[1-9]\d{0,6})")

_ROWS_PER_COMMIT: dict[Kind, int] = {"load": 100, "write": 50, "query": 50, "index": 0}


class Setup(BaseModel):
    """Size of one setup, at scale 1: rows inserted per table by each write step, seconds of each query step."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: Annotated[str, Field(pattern=f"^{NAME_RULE}$")]
    l_i0_rows: Annotated[int, Field(ge=1)]
    l_i1_rows: Annotated[int, Field(ge=1)]
    l_i2_rows: Annotated[int, Field(ge=1)]
    query_seconds: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]


# The two setups of the August 2023 report. It has no l.i2; later reports give it a tenth of l.i1's rows.
PRESET_SETUPS = {
    "cached": Setup(
        name="cached", l_i0_rows=20_000_000, l_i1_rows=200_000_000, l_i2_rows=20_000_000, query_seconds=7200.0
    ),
    "io_bound": Setup(
        name="io_bound", l_i0_rows=500_000_000, l_i1_rows=50_000_000, l_i2_rows=5_000_000, query_seconds=7200.0
    ),
}


class Options(BaseModel):
    """The `workload:` part of an experiment."""

    model_config = ConfigDict(extra="forbid", strict=True)

    benchmark: Literal["insert_benchmark"]
    clients: Annotated[int, Field(ge=1, le=1024)]
    steps: Annotated[list[str], Field(min_length=1)]
    seed: Annotated[int, Field(ge=0, lt=1 << 32)] = 1
    statement_timeout_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 600.0
    count_rows: bool = True

    @field_validator("steps")
    @classmethod
    def _known_steps(cls, steps: list[str]) -> list[str]:
        for name in steps:
            if name not in ("l.i0", "l.x", "l.i1", "l.i2") and not _QUERY_STEP.fullmatch(name):
                raise ValueError(f"unknown step {name!r}{_near_step(name)}; steps are {STEP_FORMS}")
        if len(set(steps)) != len(steps):
            raise ValueError("a step is named twice; results go by the step's name")
        if steps[0] != "l.i0":
            raise ValueError(f"the first step is {steps[0]!r}, but every run starts from empty tables with l.i0")
        return steps


@dataclass(frozen=True)
class Step:
    """One resolved step: what each client does until when.

    `rows` is what each inserter inserts (None where `seconds` ends the step); `rate` is the target of inserted and of
    deleted rows per second and client (None unpaced).
    """

    name: str
    kind: Kind
    rows_per_commit: int
    rows: int | None
    seconds: float | None
    rate: float | None
    deletes: bool
    query: Literal["range", "point"] | None


@dataclass(frozen=True)
class Worker:
    """One client process of a step. `role` decides what it sends; `probes` whether it does its client's get_min."""

    client: int
    role: Literal["inserter", "deleter", "querier", "indexer"]
    operation: str
    table: str
    probes: bool


def plan(options: Options, setup: Setup, scale: float) -> list[Step]:
    """The steps of a run: the setup's rows and seconds times `scale`, in whole statements and seconds, at least one."""
    return [_step(name, setup, scale) for name in options.steps]


def workers(options: Options, step: Step) -> list[Worker]:
    """The client processes of a step, by client."""
    found = []
    for client in range(1, options.clients + 1):
        table = f"pi{client}"
        if step.kind == "index":
            found.append(Worker(client, "indexer", "create_index", table, probes=True))
            continue
        found.append(Worker(client, "inserter", "insert", table, probes=not step.deletes))
        if step.deletes:
            # The deleter needs the smallest key anyway: its first look is the client's get_min probe.
            found.append(Worker(client, "deleter", "delete", table, probes=True))
        if step.query:
            found.append(Worker(client, "querier", f"{step.query}_query", table, probes=False))
    return found


def tables(options: Options) -> list[str]:
    """Names of the benchmark tables."""
    return [f"pi{client}" for client in range(1, options.clients + 1)]


def create_table(table: str) -> str:
    """DDL of one table, without secondary indexes: step l.x makes those."""
    return (
        f"CREATE TABLE {table} (transactionid BIGINT NOT NULL AUTO_INCREMENT, dateandtime DATETIME, "
        "cashregisterid INT NOT NULL, customerid INT NOT NULL, productid INT NOT NULL, price INT NOT NULL, "
        "data VARCHAR(4000), PRIMARY KEY (transactionid)) ENGINE=InnoDB"
    )


def describe(options: Options, setup: Setup, steps: list[Step]) -> dict[str, Any]:
    """The resolved workload for the manifest, as plain data."""
    return {
        **options.model_dump(),
        "setup": setup.model_dump(),
        "resolved_steps": [asdict(step) for step in steps],
        "tables": tables(options),
    }


def _step(name: str, setup: Setup, scale: float) -> Step:
    query = _QUERY_STEP.fullmatch(name)
    if query:
        # Whole seconds: a target of few statements a second is then met exactly, not rounded up by a started tick.
        seconds = float(max(1, round(setup.query_seconds * scale)))
        kind_of_query: Literal["range", "point"] = "range" if query["query"] == "r" else "point"
        rate = float(query["rate"])
        return Step(name, "query", _ROWS_PER_COMMIT["query"], None, seconds, rate, deletes=True, query=kind_of_query)
    if name == "l.x":
        return Step(name, "index", 0, None, None, None, deletes=False, query=None)
    if name == "l.i0":
        rows = _whole_statements(setup.l_i0_rows, scale, _ROWS_PER_COMMIT["load"])
        return Step(name, "load", _ROWS_PER_COMMIT["load"], rows, None, None, deletes=False, query=None)
    per_commit, total = (50, setup.l_i1_rows) if name == "l.i1" else (5, setup.l_i2_rows)
    rows = _whole_statements(total, scale, per_commit)
    return Step(name, "write", per_commit, rows, None, None, deletes=True, query=None)


def _whole_statements(rows: int, scale: float, rows_per_commit: int) -> int:
    return max(1, round(rows * scale / rows_per_commit)) * rows_per_commit


def _near_step(name: str) -> str:
    """A hint for the misspellings that are easy to make: q100 of the 2023 report, L.I0, li1, l.il."""
    old_name = re.fullmatch(r"q(\d+)", name)
    if old_name:
        return f" (range queries: 'qr{old_name[1]}'?)"
    squeezed = name.lower().replace(".", "").replace("_", "").replace("-", "")
    for known in ("l.i0", "l.x", "l.i1", "l.i2"):
        if squeezed.replace("l", "1") == known.replace(".", "").replace("l", "1"):
            return f" (did you mean {known!r}?)"
    if _QUERY_STEP.fullmatch(squeezed):
        return f" (did you mean {squeezed!r}?)"
    return ""
