"""Every table of a run directory, declared once: columns, types, units, documentation, key, version.

The writer, the validator, the empty views and `docs/schema.md` derive from this file.

Clocks. `start_s`, `end_s` and `t_s` are seconds on the run's clock: CLOCK_MONOTONIC minus the run's origin, one clock
for all processes. `second` is a whole second of a step, counted from the common start of its clients.

Latency histograms. Response times are counted in log-linear bins: each power of two of microseconds has 64 bins of
equal width, so a bin is at most 1/64 of its value wide and its midpoint within 0.8 % of any value in it. The lower edge
of bin b is 2^(b // 64) * (1 + (b % 64) / 64) microseconds. 256 us, 1, 4, 16, 64 and 256 ms are edges exactly; the edge
next to 1 s is 0.999424 s. Bins and counts are two lists of equal length, only bins with a count.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

SCHEMA_VERSION = 1
"""Major version of the run directory format. A reader refuses a higher one; lower ones load with NULLs."""

HISTOGRAM_BINS_PER_OCTAVE = 64


@dataclass(frozen=True)
class Column:
    """One column: Arrow type, unit ('' for counts and names), one sentence, and whether it may be NULL."""

    name: str
    type: pa.DataType
    unit: str
    doc: str
    nullable: bool = False


@dataclass(frozen=True)
class Table:
    """One Parquet file of a run directory. `key` columns identify a row."""

    name: str
    doc: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def file_name(self) -> str:
        return f"{self.name}.parquet"

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The Arrow schema, with unit and documentation as field metadata and the version as schema metadata."""
        fields = [
            pa.field(c.name, c.type, nullable=c.nullable, metadata={"unit": c.unit, "doc": c.doc}) for c in self.columns
        ]
        return pa.schema(fields, metadata={"ibench_table": self.name, "ibench_schema_version": str(SCHEMA_VERSION)})


_RUN_ID = Column("run_id", pa.string(), "", "the run this row belongs to")
_STEP_ID = Column("step_id", pa.int16(), "", "position of the step in the run, from 0")
_STEP = Column("step", pa.string(), "", "name of the step, such as l.i1 or qr100")
_CLIENT = Column("client", pa.int16(), "", "client number, from 1")
_WORKER = Column("worker", pa.int16(), "", "worker process within the step, from 0, over all clients")

STEPS = Table(
    "steps",
    "One row per step of the run that was started.",
    ("run_id", "step_id"),
    (
        _RUN_ID,
        _STEP_ID,
        _STEP,
        Column("kind", pa.string(), "", "load, index, write or query"),
        Column("status", pa.string(), "", "complete, failed or interrupted"),
        Column("clients", pa.int16(), "", "number of clients"),
        Column("insert_rows_per_commit", pa.int32(), "", "rows of one insert statement", True),
        Column(
            "target_rows_per_s",
            pa.float64(),
            "rows/s",
            "target of inserts, and of deletes, per client; NULL unpaced",
            True,
        ),
        Column("existing_rows", pa.int64(), "", "rows in all tables when the step began", True),
        Column("start_s", pa.float64(), "s", "common start of all clients on the run's clock"),
        Column("end_s", pa.float64(), "s", "end of the last client on the run's clock"),
        Column("duration_s", pa.float64(), "s", "T of every rate: end_s - start_s"),
        Column(
            "history_list_length", pa.int64(), "", "InnoDB history list length right after the last client's end", True
        ),
        Column("client_bound", pa.string(), "", "why the clients limit the step, not the server; else NULL", True),
    ),
)

WORKERS = Table(
    "workers",
    "One row per client process of a step: its totals, as acknowledged by the server.",
    ("run_id", "step_id", "worker"),
    (
        _RUN_ID,
        _STEP_ID,
        _STEP,
        _CLIENT,
        _WORKER,
        Column("role", pa.string(), "", "inserter, deleter, querier or indexer"),
        Column("status", pa.string(), "", "complete, failed or interrupted"),
        Column("start_s", pa.float64(), "s", "common start of the step on the run's clock"),
        Column("end_s", pa.float64(), "s", "end of its last operation on the run's clock"),
        Column("ops", pa.int64(), "", "acknowledged operations"),
        Column("rows", pa.int64(), "", "rows inserted, deleted or returned by them"),
        Column("errors", pa.int64(), "", "operations answered with an error"),
        Column("retries", pa.int64(), "", "repeats after a deadlock (1213) or a lock wait timeout (1205)"),
        Column("unknown", pa.int64(), "", "operations in flight when the connection was lost"),
        Column(
            "cpu_user_s", pa.float64(), "s", "user CPU of the process during the step's load; NULL if it died", True
        ),
        Column(
            "cpu_system_s", pa.float64(), "s", "system CPU of the process during the step's load; NULL if it died", True
        ),
        Column("client_lag_p99_us", pa.float64(), "us", "p99 of sent minus when it could be sent; NULL unpaced", True),
    ),
)

_BINS = pa.list_(pa.field("element", pa.uint16(), nullable=False))
_COUNTS = pa.list_(pa.field("element", pa.uint32(), nullable=False))

OPS = Table(
    "ops",
    "One row per second, worker and operation while the worker was at work; a second without an answer has zeros.",
    ("run_id", "step_id", "worker", "operation", "second"),
    (
        _RUN_ID,
        _STEP_ID,
        _STEP,
        _CLIENT,
        _WORKER,
        Column("operation", pa.string(), "", "insert, delete, range_query, point_query or create_index"),
        Column("second", pa.int32(), "s", "second of the step in which the operations ended"),
        Column("ops", pa.int64(), "", "acknowledged operations"),
        Column("rows", pa.int64(), "", "rows inserted, deleted or returned by them"),
        Column("errors", pa.int64(), "", "operations answered with an error"),
        Column("retries", pa.int64(), "", "repeats after 1213 or 1205"),
        Column("unknown", pa.int64(), "", "operations in flight when the connection was lost"),
        Column("service_sum_us", pa.float64(), "us", "sum of service times (sent to answered)"),
        Column("service_max_us", pa.float64(), "us", "largest service time; NULL when nothing was answered", True),
        Column("service_bins", _BINS, "", "bins of the service time histogram"),
        Column("service_counts", _COUNTS, "", "answers in each of them"),
        Column("intended_max_us", pa.float64(), "us", "largest intended time (due to answered); NULL unpaced", True),
        Column("intended_bins", _BINS, "", "bins of the intended time histogram; NULL unpaced", True),
        Column("intended_counts", _COUNTS, "", "answers in each of them; NULL unpaced", True),
    ),
)

PROBES = Table(
    "probes",
    "One row per timed single query: each client's get_min probe before each step's load, the deleters' re-reads.",
    ("run_id", "step_id", "client", "probe", "start_s"),
    (
        _RUN_ID,
        _STEP_ID,
        _STEP,
        _CLIENT,
        Column(
            "probe",
            pa.string(),
            "",
            "get_min: the first SELECT min(transactionid) of the step; min_reread: the same while it runs",
        ),
        Column("start_s", pa.float64(), "s", "sent, on the run's clock"),
        Column("seconds", pa.float64(), "s", "sent to answered"),
        Column("result", pa.int64(), "", "the value; NULL for an empty table", True),
    ),
)

SERVER_SAMPLES = Table(
    "server_samples",
    "One row per second of the run: what the server said of itself, NULL where it could not (the manifest says why).",
    ("run_id", "t_s"),
    (
        _RUN_ID,
        Column("t_s", pa.float64(), "s", "when the answer came, on the run's clock"),
        Column("history_list_length", pa.int64(), "", "InnoDB history list length (purge lag)", True),
    ),
)

TABLE_COUNTS = Table(
    "table_counts",
    "One row per benchmark table at the end of each step: the server's own COUNT(*).",
    ("run_id", "step_id", "table_name"),
    (
        _RUN_ID,
        _STEP_ID,
        _STEP,
        Column("table_name", pa.string(), "", "benchmark table, pi1 ... piN"),
        Column("row_count", pa.int64(), "", "SELECT COUNT(*) after the step"),
        Column("seconds", pa.float64(), "s", "how long the count took"),
    ),
)

TABLES: dict[str, Table] = {t.name: t for t in (STEPS, WORKERS, OPS, PROBES, SERVER_SAMPLES, TABLE_COUNTS)}
