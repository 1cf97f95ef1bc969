"""The Insert Benchmark: its options, its steps, its tables, and which client processes a step needs.

One table per client (`pi1` ... `piN`), or one for all. Per client one connection and one process for each role:
inserter, deleter in steps that delete, queriers in steps that query. What those processes send is in
`insert_benchmark_client.py`.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    field_validator,
    model_validator,
)

from ibench_lib.paths import NAME_RULE
from ibench_lib.workloads.insert_benchmark.rows import PREPARED_DATA_LIMIT

Kind = Literal["load", "index", "write", "query"]

CLIENT_MODULE = "ibench_lib.workloads.insert_benchmark.client"

STEP_FORMS = "l.i0, l.x, l.i1, l.i2, qrN or qpN (N inserts/s per client, such as qr100)"
_QUERY_STEP = re.compile(r"q(?P<query>[rp])(?P<rate>[1-9]\d{0,6})")

_ROWS_PER_COMMIT = {"l.i0": 100, "l.i1": 50, "l.i2": 5, "query": 50}

# The step lists of the published reports: 2023 has range queries only (its q100 is our qr100).
PRESET_STEPS = {
    "2023": ("l.i0", "l.x", "l.i1", "qr100", "qr500", "qr1000"),
    "2025": ("l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"),
}

_Rows = Annotated[int, Field(ge=1, le=10**12)]
_Seconds = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
_Name = Annotated[str, Field(pattern=f"^{NAME_RULE}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Setup(_Strict):
    """Size of one setup, at scale 1: rows inserted per table by each write step, seconds of each query step."""

    name: _Name
    l_i0_rows: _Rows
    l_i1_rows: _Rows
    l_i2_rows: _Rows
    query_seconds: _Seconds


# The two setups of the August 2023 report. It has no l.i2; its rows here are a tenth of l.i1's, as its statements are.
PRESET_SETUPS = {
    "cached": Setup(
        name="cached", l_i0_rows=20_000_000, l_i1_rows=200_000_000, l_i2_rows=20_000_000, query_seconds=7200.0
    ),
    "io_bound": Setup(
        name="io_bound", l_i0_rows=500_000_000, l_i1_rows=50_000_000, l_i2_rows=5_000_000, query_seconds=7200.0
    ),
}


class StepSpec(_Strict):
    """A step written out: one of the known forms with something of its own. Rows and seconds are at scale 1.

    `name` is what results call it (default: the form); `rate` limits inserted, and deleted, rows per second and client.
    """

    step: str
    name: _Name | None = None
    rows: _Rows | None = None
    rows_per_commit: Annotated[int, Field(ge=1, le=10_000)] | None = None
    rate: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] | None = None
    seconds: _Seconds | None = None

    @model_validator(mode="after")
    def _fits(self) -> StepSpec:
        _check_form(self.step)
        given = {key for key in ("rows", "rows_per_commit", "rate", "seconds") if getattr(self, key) is not None}
        if self.step == "l.x" and given:
            raise ValueError(f"step l.x creates indexes; {_listed(given)} does not apply to it")
        if _QUERY_STEP.fullmatch(self.step) and given & {"rows", "rate"}:
            raise ValueError(f"step {self.step} ends after `seconds`, and its name sets its rate")
        if not _QUERY_STEP.fullmatch(self.step) and "seconds" in given:
            raise ValueError(f"step {self.step} ends after `rows`, not after `seconds`")
        return self


_StepChoice = Annotated[
    Annotated[str, Tag("form")] | Annotated[StepSpec, Tag("spec")],
    Discriminator(lambda value: "form" if isinstance(value, str) else "spec"),
]


_Steps = Annotated[
    Annotated[Literal["2023", "2025"], Tag("preset")] | Annotated[list[_StepChoice], Field(min_length=1), Tag("list")],
    Discriminator(lambda value: "list" if isinstance(value, list) else "preset"),
]


class Options(_Strict):
    """The `workload:` part of an experiment."""

    benchmark: Literal["insert_benchmark"]
    clients: Annotated[int, Field(ge=1, le=1024)]
    steps: _Steps
    tables: Literal["per_client", "one"] = "per_client"
    engine: Literal["innodb", "rocksdb"] = "innodb"
    secondary_indexes: Annotated[int, Field(ge=0, le=3)] = 3
    data_length: Annotated[list[Annotated[int, Field(ge=1, le=4000)]], Field(min_length=2, max_length=2)] = [10, 20]
    queriers: Annotated[int, Field(ge=1, le=64)] = 1
    query_rows: Annotated[int, Field(ge=1, le=100_000)] = 10
    seed: Annotated[int, Field(ge=0, lt=1 << 32)] = 1
    protocol: Literal["text", "prepared"] = "text"
    transport: Literal["socket", "tcp", "tls"] = "socket"
    settle: Literal["none", "flush"] = "none"
    long_transaction: list[_Name] = []
    rocksdb_bulk_load: bool = False
    statement_timeout_s: _Seconds = 600.0
    count_rows: bool = True

    @field_validator("steps", mode="before")
    @classmethod
    def _preset_by_year(cls, steps: object) -> object:
        # In YAML the preset's name reads as a number.
        return str(steps) if isinstance(steps, int) and not isinstance(steps, bool) else steps

    @field_validator("steps")
    @classmethod
    def _usable_steps(cls, steps: list[str | StepSpec] | str) -> list[str | StepSpec] | str:
        specs = _specs(steps)
        for spec in specs:
            _check_form(spec.step)
        names = [_name(spec) for spec in specs]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(
                f"step {twice!r} occurs twice; results are listed by step name, so give one of them a `name`"
            )
        if specs[0].step != "l.i0":
            raise ValueError(f"the first step is {specs[0].step!r}, but every run starts from empty tables with l.i0")
        return steps

    @field_validator("protocol")
    @classmethod
    def _carries_the_data(cls, protocol: str, given: ValidationInfo) -> str:
        longest = max(given.data.get("data_length", [0]))
        if protocol == "prepared" and longest > PREPARED_DATA_LIMIT:
            raise ValueError(
                f"prepared inserts carry data of at most {PREPARED_DATA_LIMIT} characters, and data_length goes up to"
                f" {longest}; use `protocol: text` for longer data"
            )
        return protocol

    @model_validator(mode="after")
    def _fit_together(self) -> Options:
        names = step_names(self)
        for name in self.long_transaction:
            if name not in names:
                raise ValueError(f"long_transaction names step {name!r}, but the steps are {', '.join(names)}")
        if self.data_length[0] > self.data_length[1]:
            raise ValueError(f"data_length is [shortest, longest], not {self.data_length}")
        queries = [spec.step for spec in _specs(self.steps) if spec.step.startswith("qr")]
        if queries and self.secondary_indexes < 3:
            raise ValueError(f"step {queries[0]} queries all three secondary indexes; secondary_indexes is lower")
        if self.rocksdb_bulk_load and self.engine != "rocksdb":
            raise ValueError("rocksdb_bulk_load needs engine: rocksdb")
        if self.settle == "flush" and self.engine != "innodb":
            raise ValueError("settle: flush uses settings of InnoDB, which engine rocksdb does not have")
        return self


@dataclass(frozen=True)
class Step:
    """One resolved step: what each client does until when.

    `form` is the step it is of (`l.i1`), `name` what results call it. `rows` is what each inserter inserts (None where
    `seconds` ends the step); `rate` is the target of inserted and of deleted rows per second and client (None unpaced).
    `settle_before`: the database is settled first. `long_transaction`: one is held open beside the load.
    """

    name: str
    form: str
    kind: Kind
    rows_per_commit: int
    rows: int | None
    seconds: float | None
    rate: float | None
    deletes: bool
    query: Literal["range", "point"] | None
    settle_before: bool = False
    long_transaction: bool = False


@dataclass(frozen=True)
class Worker:
    """One client process of a step. `role` decides what it sends; `probes` whether it does its client's get_min.

    `number` tells the queriers of one client apart, from 0.
    """

    client: int
    role: Literal["inserter", "deleter", "querier", "indexer"]
    operation: str
    table: str
    probes: bool
    number: int = 0

    @property
    def name(self) -> str:
        """Its name in messages."""
        return f"client {self.client} {self.role}" + (f" {self.number + 1}" if self.number else "")


def plan(options: Options, setup: Setup, scale: float) -> list[Step]:
    """The steps of a run: the setup's rows and seconds times `scale`, in whole statements and seconds, at least one."""
    steps = [_step(spec, options, setup, scale) for spec in _specs(options.steps)]
    if options.settle == "flush":
        # Once, between the last step that only writes and the queries after it, as the original does.
        last_write = max(number for number, step in enumerate(steps) if step.kind != "query")
        if last_write + 1 < len(steps):
            settled = {**asdict(steps[last_write + 1]), "settle_before": True}
            steps[last_write + 1] = Step(**settled)
    return steps


def step_names(options: Options) -> list[str]:
    """What results call the steps, in order."""
    return [_name(spec) for spec in _specs(options.steps)]


def workers(options: Options, step: Step) -> list[Worker]:
    """The client processes of a step, by client."""
    found = []
    for client in range(1, options.clients + 1):
        table = tables(options)[client - 1 if options.tables == "per_client" else 0]
        if step.kind == "index":
            if client <= len(tables(options)) and options.secondary_indexes:
                found.append(Worker(client, "indexer", "create_index", table, probes=True))
            continue
        found.append(Worker(client, "inserter", "insert", table, probes=not step.deletes))
        if step.deletes:
            # The deleter needs the smallest key anyway: its first look is the client's get_min probe.
            found.append(Worker(client, "deleter", "delete", table, probes=True))
        if step.query:
            for number in range(options.queriers):
                found.append(Worker(client, "querier", f"{step.query}_query", table, probes=False, number=number))
    return found


def forecast_bytes(options: Options, steps: list[Step]) -> int:
    """About how large the tables get on disk: what runs on MariaDB 10.11 were seen to take, not a bound.

    A row takes 94 bytes after l.i0, 178 with its three secondary indexes, 294 after half of the rows were replaced; a
    row that is deleted and not yet purged leaves what is in the undo log.
    """
    loaded = sum(step.rows or 0 for step in steps if not step.deletes) * options.clients
    churned = sum(step.rows or 0 for step in steps if step.deletes) * options.clients
    return loaded * (300 if options.secondary_indexes else 150) + min(churned, 10 * loaded) * 50


def tables(options: Options) -> list[str]:
    """Names of the benchmark tables."""
    return [f"pi{client}" for client in range(1, (options.clients if options.tables == "per_client" else 1) + 1)]


def create_table(table: str, options: Options) -> str:
    """DDL of one table, without secondary indexes: step l.x makes those."""
    engine = {"innodb": "InnoDB", "rocksdb": "ROCKSDB"}[options.engine]
    return (
        f"CREATE TABLE {table} (transactionid BIGINT NOT NULL AUTO_INCREMENT, dateandtime DATETIME, "
        "cashregisterid INT NOT NULL, customerid INT NOT NULL, productid INT NOT NULL, price INT NOT NULL, "
        f"data VARCHAR(4000), PRIMARY KEY (transactionid)) ENGINE={engine}"
    )


def client_spec(options: Options, step: Step, worker: Worker) -> dict[str, Any]:
    """What the worker's load loop and its role need to know, as plain data.

    `statements` or `seconds` ends the load; `tick_ns` is the interval of a paced worker's statements, None unpaced.
    """
    writes = worker.role in ("inserter", "deleter")
    statements: int | None = None
    if worker.role == "indexer":
        # MyRocks builds one index per ALTER, as its users do.
        statements = options.secondary_indexes if options.engine == "rocksdb" else 1
    elif writes and step.rows is not None:
        statements = step.rows // step.rows_per_commit
    return {
        **asdict(worker),
        "module": CLIENT_MODULE,
        "statements": statements,
        "seconds": step.seconds,
        "tick_ns": round(step.rows_per_commit / step.rate * 1e9) if writes and step.rate else None,
        "timeout_s": options.statement_timeout_s,
        "seed": options.seed,
        "rows_per_commit": step.rows_per_commit,
        "query": step.query,
        "query_rows": options.query_rows,
        "data_length": list(options.data_length),
        "secondary_indexes": options.secondary_indexes,
        "engine": options.engine,
        "bulk_load": options.rocksdb_bulk_load and step.kind == "load",
        "protocol": options.protocol,
    }


def describe(options: Options, setup: Setup, steps: list[Step]) -> dict[str, Any]:
    """The resolved workload for the manifest, as plain data."""
    return {
        **options.model_dump(),
        "setup": setup.model_dump(),
        "resolved_steps": [asdict(step) for step in steps],
        "tables_used": tables(options),
    }


def _specs(steps: list[str | StepSpec] | str) -> list[StepSpec]:
    forms = PRESET_STEPS[steps] if isinstance(steps, str) else steps
    return [StepSpec.model_construct(step=item) if isinstance(item, str) else item for item in forms]


def _name(spec: StepSpec) -> str:
    return spec.name or spec.step


def _step(spec: StepSpec, options: Options, setup: Setup, scale: float) -> Step:
    name = _name(spec)
    held = name in options.long_transaction
    query = _QUERY_STEP.fullmatch(spec.step)
    if query:
        # Whole seconds: a target of few statements a second is then met exactly, not rounded up by a started tick.
        seconds = float(max(1, round((spec.seconds or setup.query_seconds) * scale)))
        of: Literal["range", "point"] = "range" if query["query"] == "r" else "point"
        per_commit, rate = spec.rows_per_commit or _ROWS_PER_COMMIT["query"], float(query["rate"])
        return Step(name, spec.step, "query", per_commit, None, seconds, rate, True, of, long_transaction=held)
    if spec.step == "l.x":
        return Step(name, spec.step, "index", 0, None, None, None, False, None, long_transaction=held)
    kind: Kind = "load" if spec.step == "l.i0" else "write"
    sizes = {"l.i0": setup.l_i0_rows, "l.i1": setup.l_i1_rows, "l.i2": setup.l_i2_rows}
    per_commit = spec.rows_per_commit or _ROWS_PER_COMMIT[spec.step]
    rows = max(1, round((spec.rows or sizes[spec.step]) * scale / per_commit)) * per_commit
    return Step(name, spec.step, kind, per_commit, rows, None, spec.rate, kind == "write", None, long_transaction=held)


def _check_form(form: str) -> None:
    if form not in ("l.i0", "l.x", "l.i1", "l.i2") and not _QUERY_STEP.fullmatch(form):
        raise ValueError(f"unknown step {form!r}{_near_form(form)}; steps are {STEP_FORMS}")


def _near_form(form: str) -> str:
    """A hint for the misspellings that are easy to make: q100 of the 2023 report, L.I0, li1, l.il."""
    old_name = re.fullmatch(r"q(\d+)", form)
    if old_name:
        return f" (range queries: 'qr{old_name[1]}'?)"
    squeezed = form.lower().replace(".", "").replace("_", "").replace("-", "")
    for known in ("l.i0", "l.x", "l.i1", "l.i2"):
        if squeezed.replace("l", "1") == known.replace(".", "").replace("l", "1"):
            return f" (did you mean {known!r}?)"
    if _QUERY_STEP.fullmatch(squeezed):
        return f" (did you mean {squeezed!r}?)"
    return ""


def _listed(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
