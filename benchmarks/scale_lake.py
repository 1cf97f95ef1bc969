"""A synthetic lake of the size of the first published comparison that ibench is modelled on.

15 dbms, 8 clients and as many seconds as make 40,000 x 3 operations: l.i0, l.x and l.i1, then the six query steps in
which each client inserts, deletes and queries. Every file is written by `ibench_lib.store.parquet.write_table`, so that
it is what a run seals.

Response times are drawn: the body of a step's distribution is log-normal, with a shoulder, a tail and stalls that hit
all clients of a second. Each second's counts are Poisson draws, or, for paced statements, one draw each. Speeds differ
by dbms and drift from second to second.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
import pyarrow as pa

from ibench_lib.base.histogram_bins import HISTOGRAM_BINS_PER_OCTAVE
from ibench_lib.paths import Workspace
from ibench_lib.schema import TABLES
from ibench_lib.store.derive import response_times
from ibench_lib.store.manifest import (
    FILE_NAME,
    Cell,
    ConfigRecord,
    ExperimentRecord,
    FileRecord,
    Manifest,
    ServerRecord,
    write_manifest,
)
from ibench_lib.store.parquet import write_table

EXPERIMENT = "scale"
SECONDS = 40_000
OPERATIONS = 3
SETTLE_S = 30
SOURCES = ("server", "host", "device", "network", "process")
COUNTERS = 60
"""Names in `server_counters` whose value changes every second."""

BUILDS: dict[str, tuple[float, float]] = {
    "my5651.cy10a": (0.56, 1.15),
    "my5740.cy10a": (0.97, 1.08),
    "my8033.cy10a": (1.00, 1.00),
    "my8033.cy10a2": (0.99, 1.01),
    "my8033.cy10a7": (1.01, 0.99),
    "my8033.cy10a10": (0.85, 1.02),
    "my8033.cy10a12": (0.98, 1.00),
    "my8033.cy10a13": (0.84, 1.38),
    "my8033.cy10a17": (1.10, 1.01),
    "my8033.cy10a18": (1.00, 1.03),
    "my8033.cy10a19": (0.95, 0.98),
    "my8033.cy10a20": (0.86, 1.36),
    "my8033.cy10a21": (0.87, 1.30),
    "my8033.cy10a22": (0.85, 1.37),
    "ps8033.cy10aps1": (1.02, 0.95),
}
"""Speed of writes and of queries of each dbms, relative to the base."""

Parts = tuple[tuple[float, float, float], ...]

QUERIES: Parts = ((0.80, 1.0, 0.27), (0.18, 1.7, 0.55), (0.02, 4.0, 0.9))
WRITES: Parts = ((0.75, 1.0, 0.55), (0.22, 2.2, 0.8), (0.03, 6.0, 0.9))
"""(share, multiple of the median, standard deviation of the logarithm) of body, shoulder and tail. As wide as real
runs: 7,400 queries a second fill about 300 bins, 150 insert statements about 100; l.i0 has no secondary indexes to
make it as uneven as the other writes."""

_BINS = 30 * HISTOGRAM_BINS_PER_OCTAVE
_NUMBERS = np.arange(_BINS + 1)
EDGES_US = 2.0 ** (_NUMBERS // HISTOGRAM_BINS_PER_OCTAVE) * (
    1 + (_NUMBERS % HISTOGRAM_BINS_PER_OCTAVE) / HISTOGRAM_BINS_PER_OCTAVE
)

Numbers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Size:
    """How much to make. `scale` is the share of 40,000 seconds; `queries_per_s` is per client, of the base.

    `names` are those of the first dbms; they have the speeds of BUILDS, in its order.
    """

    scale: float = 1.0
    dbms: int = 15
    clients: int = 8
    queries_per_s: float = 4500.0
    seed: int = 1
    repeats: int = 1
    names: tuple[str, ...] = tuple(BUILDS)

    @property
    def runs(self) -> int:
        return self.dbms * self.repeats

    @property
    def rows(self) -> int:
        """Rows of `ops` of the whole lake."""
        return self.runs * self.clients * round(OPERATIONS * SECONDS * self.scale)


@dataclass(frozen=True)
class Work:
    """What one worker of each client does in a step. Paced work has a target in statements per second."""

    operation: str
    role: str
    rows_per_statement: int
    median_us: float
    per_s: float
    paced: bool = False

    @property
    def parts(self) -> Parts:
        return QUERIES if self.role == "querier" or self.rows_per_statement == 100 else WRITES


@dataclass(frozen=True)
class StepPlan:
    """One step of a run: its length in whole seconds and its work."""

    step_id: int
    name: str
    kind: str
    seconds: int
    rows_per_commit: int
    target_rows_per_s: float | None
    work: tuple[Work, ...]


def plan(size: Size, write: float, query: float) -> list[StepPlan]:
    """The steps of a run. Slow writers take longer in l.i1 and the query steps take what is left, so that every run has
    the same number of rows."""
    budget = round(OPERATIONS * SECONDS * size.scale)
    index_s = max(1, round(150 * size.scale))
    write_s = max(1, round(11_500 * size.scale / write))
    load_s = max(1, round(400 * size.scale / write))
    query_s = (budget - index_s - load_s - 2 * write_s) // 18
    load_s = budget - index_s - 2 * write_s - 18 * query_s
    inserts = Work("insert", "inserter", 100, 1900 / write, 500 * write)
    steps: list[tuple[str, str, int, int, float | None, tuple[Work, ...]]] = [
        ("l.i0", "load", load_s, 100, None, (inserts,)),
        ("l.x", "index", index_s, 0, None, (Work("create_index", "indexer", 0, 1e6 * index_s, 1 / index_s),)),
        (
            "l.i1",
            "write",
            write_s,
            50,
            None,
            tuple(
                Work(operation, role, 50, 2500 / write, 350 * write)
                for operation, role in (("insert", "inserter"), ("delete", "deleter"))
            ),
        ),
    ]
    for rate in (100, 500, 1000):
        paced = tuple(
            Work(operation, role, 50, 1200 / write, rate / 50, paced=True)
            for operation, role in (("insert", "inserter"), ("delete", "deleter"))
        )
        for prefix, operation, slower in (("qr", "range_query", 1.0), ("qp", "point_query", 1.3)):
            speed = query * (1 - rate / 10_000) / slower
            queries = Work(operation, "querier", 10, 0.85e6 / (size.queries_per_s * speed), size.queries_per_s * speed)
            steps.append((f"{prefix}{rate}", "query", query_s, 50, float(rate), (*paced, queries)))
    return [StepPlan(number, *step) for number, step in enumerate(steps)]


def make_lake(workspace: Workspace, size: Size, processes: int = 2) -> None:
    """Write the runs of `size` below the workspace's data/runs/, `processes` at a time."""
    workspace.runs.mkdir(parents=True, exist_ok=True)
    make = partial(make_run, workspace, size)
    if processes == 1:
        for number in range(size.runs):
            make(number)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        list(pool.map(make, range(size.runs)))


def make_run(workspace: Workspace, size: Size, number: int) -> str:
    """Write one run: those of a repeat follow each other. Returns its id."""
    place, repeat = number % size.dbms, number // size.dbms + 1
    dbms, speeds = size.names[place], list(BUILDS.values())[place]
    minute = timedelta(minutes=number)
    origin = datetime(2026, 11, 1, 10, tzinfo=UTC) + minute
    run_id = f"{origin:%Y%m%dT%H%M%SZ}-{EXPERIMENT}-cached-{dbms.split('.')[1]}-r{repeat}"
    directory = workspace.run_dir(run_id)
    directory.mkdir()
    rng = np.random.default_rng([size.seed, number])
    steps = plan(size, *speeds)
    files: dict[str, FileRecord] = {}
    rolled_up: list[pa.Table] = []
    workers: list[dict[str, Any]] = []

    def step_tables() -> Iterator[pa.Table]:
        for step, start_s in _timed(steps):
            ops = step_ops(rng, run_id, step, size.clients)
            rolled_up.append(response_times(ops))
            workers.extend(_workers(ops, step, start_s))
            yield ops

    def write(name: str, pieces: Any) -> None:
        files[TABLES[name].file_name] = write_table(directory / TABLES[name].file_name, TABLES[name], pieces)

    write("ops", step_tables())
    write("response_times", [pa.concat_tables(rolled_up)])
    for name, rows in _small_tables(rng, steps, size, workers).items():
        rows = [{**dict.fromkeys(c.name for c in TABLES[name].columns), "run_id": run_id, **row} for row in rows]
        write(name, [pa.Table.from_pylist(rows, schema=TABLES[name].arrow_schema)])
    seconds = round(sum(step.seconds + SETTLE_S for step in steps))
    samples = {f"{source}_samples": _samples(rng, f"{source}_samples", run_id, seconds) for source in SOURCES}
    for name, table in samples.items():
        write(name, [table])
    write("step_counters", [_step_counters(samples, run_id, steps)])
    write("server_counters", _counters(rng, run_id, seconds))
    for name in TABLES:
        if TABLES[name].file_name not in files:
            write(name, [TABLES[name].arrow_schema.empty_table()])
    manifest = _manifest(run_id, dbms, repeat, origin, steps, size)
    manifest.files = files
    write_manifest(directory, manifest)
    assert (directory / FILE_NAME).exists()
    return run_id


def _timed(steps: list[StepPlan]) -> Iterator[tuple[StepPlan, float]]:
    """Each step with when it starts, in seconds of the run."""
    start_s = 1.0
    for step in steps:
        yield step, start_s
        start_s += step.seconds + SETTLE_S


def step_ops(rng: np.random.Generator, run_id: str, step: StepPlan, clients: int) -> pa.Table:
    """The rows of `ops` of one step, sorted by the table's key."""
    # What slows a server down, or stops it, is seen by all of its clients.
    speed = np.exp(_wander(rng, step.seconds) * 0.04)
    stalls_us = np.where(rng.random(step.seconds) < 1 / 120, rng.lognormal(12.6, 0.6, step.seconds), 0)
    pieces = []
    for client in range(1, clients + 1):
        for number, work in enumerate(step.work):
            make = _paced_seconds if work.paced else _index_seconds if step.kind == "index" else _unpaced_seconds
            columns = make(rng, work, speed, np.minimum(stalls_us, 900_000))
            worker = (client - 1) * len(step.work) + number
            pieces.append(_ops_table(rng, run_id, step, client, worker, work, columns))
    return pa.concat_tables(pieces)


def _wander(rng: np.random.Generator, n: int) -> Numbers:
    """Noise of about unit size that changes partly from second to second, partly over minutes."""
    slow = np.interp(np.arange(n), np.arange(0, n + 60, 60), rng.normal(size=len(np.arange(0, n + 60, 60))))
    noise: Numbers = slow + rng.normal(size=n)
    return noise


def shares(median_us: float, parts: Parts) -> Numbers:
    """The share of response times in each bin."""
    erf = np.vectorize(math.erf)
    logs = np.log(EDGES_US)
    below = sum(part * (1 + erf((logs - math.log(median_us * m)) / (s * 2**0.5))) / 2 for part, m, s in parts)
    inside = np.diff(below)
    share: Numbers = inside / inside.sum()
    return share


def _unpaced_seconds(rng: np.random.Generator, work: Work, speed: Numbers, stalls_us: Numbers) -> dict[str, Any]:
    """Counts are Poisson draws around the body's shares, moved by as many bins as the second was slower."""
    n = len(speed)
    rate = work.per_s * speed * np.exp(rng.normal(0, 0.02, n)) * (1 - stalls_us / 1e6)
    body = shares(work.median_us, work.parts)
    likely = np.flatnonzero(body * work.per_s > 2e-4)
    low, high = max(0, likely[0] - 40), min(_BINS - 1, likely[-1] + 40)
    shift = np.rint(-np.log2(speed) * HISTOGRAM_BINS_PER_OCTAVE).astype(int)
    index = np.arange(low, high)[None, :] - shift[:, None]
    counts = rng.poisson(body[np.clip(index, 0, _BINS - 1)] * rate[:, None])
    stalled = np.flatnonzero(stalls_us)
    if len(stalled):
        wide = max(0, _bin(stalls_us[stalled]).max() + 1 - high)
        counts = np.pad(counts, ((0, 0), (0, int(wide))))
        counts[stalled, np.maximum(_bin(stalls_us[stalled]) - low, 0)] += 1
    row, column = np.nonzero(counts)
    return _histogram(rng, n, row, column + low, counts[row, column])


def _paced_seconds(rng: np.random.Generator, work: Work, speed: Numbers, stalls_us: Numbers) -> dict[str, Any]:
    """Each statement is drawn by itself, service and intended time; the rate is the target's."""
    n = len(speed)
    answers = np.full(n, round(work.per_s))
    second = np.repeat(np.arange(n), answers)
    share = rng.random(len(second))
    service = np.empty(len(second))
    below = 0.0
    for part, multiple, sigma in work.parts:
        here = (share >= below) & (share < below + part)
        service[here] = work.median_us * multiple * np.exp(rng.normal(0, sigma, here.sum()))
        below += part
    service = np.nan_to_num(service, nan=work.median_us) / speed[second]
    first = np.concatenate([[0], np.cumsum(answers)[:-1]])
    hit = np.flatnonzero(stalls_us)
    service[first[hit]] += stalls_us[hit]
    intended = service + rng.gamma(2.0, 30.0, len(second))
    columns = _drawn(rng, n, second, service, "service")
    return columns | _drawn(rng, n, second, intended, "intended")


def _index_seconds(rng: np.random.Generator, work: Work, speed: Numbers, _stalls_us: Numbers) -> dict[str, Any]:
    """One statement that ends in the last second."""
    n = len(speed)
    took = np.array([work.median_us * 0.99])
    return _drawn(rng, n, np.array([n - 1]), took, "service")


def _bin(us: Numbers) -> Numbers:
    return np.searchsorted(EDGES_US, np.maximum(us, 1.0), side="right") - 1


def _drawn(rng: np.random.Generator, n: int, second: Numbers, us: Numbers, timing: str) -> dict[str, Any]:
    """The histogram of each second of response times given one by one, sorted by second."""
    cell, counts = np.unique(second * _BINS + _bin(us), return_counts=True)
    columns = _histogram(rng, n, cell // _BINS, cell % _BINS, counts, timing)
    largest = np.full(n, np.nan)
    np.fmax.at(largest, second, us)
    columns[f"{timing}_max_us"] = largest
    if timing == "service":
        columns["service_sum_us"] = np.bincount(second, us, n)
    return columns


def _histogram(
    rng: np.random.Generator, n: int, row: Numbers, bins: Numbers, counts: Numbers, timing: str = "service"
) -> dict[str, Any]:
    """Columns of the cells (row, bin, count), sorted by row and bin; sum and maximum are drawn within the bins."""
    offsets = np.searchsorted(row, np.arange(n + 1))
    answers = np.bincount(row, counts, n).astype(np.int64)
    middle = (EDGES_US[bins] + EDGES_US[bins + 1]) / 2
    largest = np.full(n, np.nan)
    some = np.flatnonzero(answers)
    top = bins[offsets[some + 1] - 1]
    largest[some] = EDGES_US[top] + rng.random(len(some)) * (EDGES_US[top + 1] - EDGES_US[top])
    lists = {
        f"{timing}_bins": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(bins, pa.uint16())),
        f"{timing}_counts": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(counts, pa.uint32())),
    }
    columns: dict[str, Any] = {**lists, f"{timing}_max_us": largest}
    if timing == "service":
        columns["ops"] = answers
        columns["service_sum_us"] = np.bincount(row, middle * counts, n) * (1 + rng.normal(0, 1e-4, n))
    return columns


def _ops_table(
    rng: np.random.Generator,
    run_id: str,
    step: StepPlan,
    client: int,
    worker: int,
    work: Work,
    columns: dict[str, Any],
) -> pa.Table:
    table = TABLES["ops"]
    n = step.seconds
    ops = columns["ops"]
    zeros = np.zeros(n, np.int64)
    cpu_s = (ops * 14e-6 + 2e-4) * rng.normal(1, 0.03, n).clip(0.5)
    columns = {
        "run_id": pa.repeat(run_id, n),
        "step_id": np.full(n, step.step_id, np.int16),
        "step": pa.repeat(step.name, n),
        "client": np.full(n, client, np.int16),
        "worker": np.full(n, worker, np.int16),
        "operation": pa.repeat(work.operation, n),
        "second": np.arange(n, dtype=np.int32),
        "rows": ops * work.rows_per_statement,
        "errors": zeros,
        "retries": zeros,
        "unknown": zeros,
        "cpu_user_s": cpu_s * 0.6,
        "cpu_system_s": cpu_s * 0.4 * rng.normal(1, 0.03, n),
        **columns,
    }
    arrays = []
    for column in table.columns:
        values = columns.get(column.name)
        if values is None:
            arrays.append(pa.nulls(n, column.type))
        elif isinstance(values, np.ndarray):
            mask = np.isnan(values) if values.dtype.kind == "f" else None
            arrays.append(pa.array(values, column.type, mask=mask))
        else:
            arrays.append(values.cast(column.type))
    return pa.Table.from_arrays(arrays, schema=table.arrow_schema)


def _workers(ops: pa.Table, step: StepPlan, start_s: float) -> list[dict[str, Any]]:
    sums = [(name, "sum") for name in ("ops", "rows", "errors", "retries", "unknown", "cpu_user_s", "cpu_system_s")]
    found = ops.group_by(["step_id", "step", "client", "worker", "operation"], use_threads=False).aggregate(sums)
    roles = {work.operation: work for work in step.work}
    rows = []
    for row in found.to_pylist():
        work = roles[row.pop("operation")]
        rows.append(
            {
                **{name.removesuffix("_sum"): value for name, value in row.items()},
                "role": work.role,
                "status": "complete",
                "start_s": start_s,
                # The fastest client is done a little before the last.
                "end_s": start_s + step.seconds - (0.002 * step.seconds / row["client"] if not work.paced else 0.01),
                "client_lag_p99_us": 180.0 if work.paced else None,
            }
        )
    return rows


def _small_tables(
    rng: np.random.Generator, steps: list[StepPlan], size: Size, workers: list[dict[str, Any]]
) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {"workers": workers}
    rows |= {name: [] for name in ("steps", "probes", "sizes", "table_counts")}
    for step, start_s in _timed(steps):
        key = {"step_id": step.step_id, "step": step.name}
        rows["steps"].append(
            {
                **key,
                "kind": step.kind,
                "status": "complete",
                "clients": size.clients,
                "insert_rows_per_commit": step.rows_per_commit or None,
                "target_rows_per_s": step.target_rows_per_s,
                "existing_rows": 0 if step.step_id == 0 else 20_000_000 * size.clients,
                "start_s": start_s,
                "end_s": start_s + step.seconds,
                "duration_s": float(step.seconds),
                "history_list_length": int(rng.integers(10, 1_000_000)),
            }
        )
        for client in range(1, size.clients + 1):
            seconds = float(rng.lognormal(-6, 1))
            probe = {"client": client, "probe": "get_min", "start_s": start_s - 1, "seconds": seconds, "result": 1}
            rows["probes"].append({**key, **probe})
            counted = {"table_name": f"pi{client}", "row_count": 20_000_000, "seconds": 2.0}
            rows["table_counts"].append({**key, **counted})
        for what in ("database", "datadir"):
            rows["sizes"].append({**key, "what": what, "name": "", "bytes": 35 << 30})
    return rows


def _samples(rng: np.random.Generator, name: str, run_id: str, seconds: int) -> pa.Table:
    """One row per second. What is cumulative grows by about a thousand a second; what is not goes up and down."""
    table = TABLES[name]
    n = seconds
    fixed: dict[str, Any] = {
        "run_id": pa.repeat(run_id, n),
        "tick": np.arange(n),
        "t_s": np.round(np.arange(n) + rng.gamma(2.0, 0.0005, n), 6),
        "incarnation": np.zeros(n),
        "pid": np.full(n, 4711),
        "device": pa.repeat("md0", n),
        "interface": pa.repeat("lo", n),
        "holds_data": pa.repeat(True, n),
    }
    arrays = []
    for column in table.columns:
        if column.name in fixed:
            values = fixed[column.name]
        elif column.counts_up:
            steps = rng.gamma(20.0, 50.0, n)
            # /proc counts CPU in hundredths of a second.
            values = np.cumsum(np.round(steps / 1000, 2) if column.unit == "s" else np.rint(steps))
        else:
            values = np.rint(1e6 * np.exp(0.2 * _wander(rng, n)))
        arrays.append(pa.array(values).cast(column.type))
    return pa.Table.from_arrays(arrays, schema=table.arrow_schema)


def _step_counters(samples: dict[str, pa.Table], run_id: str, steps: list[StepPlan]) -> pa.Table:
    """The cumulative columns at the start and the end of each step, between two samples in proportion to the time."""
    rows = []
    for name, sampled in samples.items():
        named = {"device_samples": "device", "network_samples": "interface"}.get(name)
        at = sampled["t_s"].to_numpy()
        for column in TABLES[name].columns:
            if not column.counts_up:
                continue
            values = sampled[column.name].to_numpy()
            for step, start_s in _timed(steps):
                end_s = start_s + step.seconds
                start_value, end_value = np.interp([start_s, end_s], at, values)
                rows.append(
                    {
                        "run_id": run_id,
                        "step_id": step.step_id,
                        "step": step.name,
                        "source": name.removesuffix("_samples"),
                        "counter": column.name,
                        "name": sampled[named][0].as_py() if named else "",
                        "start_s": start_s,
                        "start_value": float(start_value),
                        "end_s": end_s,
                        "end_value": float(end_value),
                    }
                )
    key = [(column, "ascending") for column in TABLES["step_counters"].key]
    return pa.Table.from_pylist(rows, schema=TABLES["step_counters"].arrow_schema).sort_by(key)


def _counters(rng: np.random.Generator, run_id: str, seconds: int) -> Iterator[pa.Table]:
    """`server_counters`, ten names a piece."""
    table = TABLES["server_counters"]
    names = [(source, f"{source}_{number:02d}") for source in ("metric", "status") for number in range(COUNTERS // 2)]
    for first in range(0, len(names), 10):
        some = names[first : first + 10]
        n = seconds * len(some)
        yield pa.Table.from_arrays(
            [
                pa.repeat(run_id, n),
                pa.array(np.repeat([source for source, _ in some], seconds)),
                pa.array(np.repeat([name for _, name in some], seconds)),
                pa.array(np.tile(np.arange(seconds), len(some)), pa.int32()),
                pa.array(np.zeros(n), pa.int16()),
                pa.array(np.cumsum(np.rint(rng.gamma(5.0, 200.0, (len(some), seconds))), axis=1).ravel(), pa.int64()),
                pa.nulls(n, pa.float64()),
            ],
            schema=table.arrow_schema,
        )


def _manifest(run_id: str, dbms: str, repeat: int, origin: datetime, steps: list[StepPlan], size: Size) -> Manifest:
    build, config = dbms.split(".")
    return Manifest(
        tool_version="0.1.0",
        run_id=run_id,
        status="complete",
        origin_wall=origin.isoformat(),
        experiment=ExperimentRecord(name=EXPERIMENT, title="The lake at scale", text="title: The lake at scale\n"),
        cell=Cell(build=build, config=config, dbms=dbms, setup="cached", repeat=repeat, fingerprint="0" * 64),
        workload={
            "clients": size.clients,
            "resolved_steps": [{"name": step.name, "kind": step.kind} for step in steps],
        },
        scale=size.scale,
        server=ServerRecord(flavour="mysql", version="8.0.33", version_comment="synthetic", variables={}),
        config=ConfigRecord(my_cnf="[mysqld]\n", fragments={}),
        host={"cpus": 15},
        versions={},
    )
