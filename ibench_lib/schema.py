"""Every table of a run directory, declared once: columns, types, units, documentation, key, version.

The writer, the validator, the empty views and `docs/schema.md` derive from this file.

Clocks. `start_s`, `end_s` and `t_s` are seconds on the run's clock: CLOCK_MONOTONIC minus the run's origin, one clock
for all processes. `second` is a whole second of a step, counted from the common start of its clients. `tick` is a whole
second of the run's clock at which a collector was due; `t_s` next to it is when it read.

Counters. A column that counts since the host's boot or the server's start (`counts_up`) is stored as it was read; its
description says "cumulative". A rate is computed from the difference of two samples, so the first sample has no rate. A
restarted server begins a new `incarnation`; differences are never taken across it.

Latency histograms. Response times are counted in log-linear bins: each power of two of microseconds has 64 bins of
equal width. So a bin is at most 1/64 of its value wide, and its midpoint is within 0.8 % of any value in it. The lower
edge of bin b is 2^(b // 64) * (1 + (b % 64) / 64) microseconds. 256 us, 1, 4, 16, 64 and 256 ms are exact edges; the
edge next to 1 s is 0.999424 s. Bins and counts are two lists of equal length; bins without a count are left out.

Resolution. A sealed run keeps the sums and maxima next to a histogram in whole microseconds, and the CPU time of each
second in steps of 2^-14 s. Finer digits are noise that cannot be compressed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from ibench_lib.base.later import later
from ibench_lib.server_figures import FIGURES

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa = later("pyarrow")

SCHEMA_VERSION = 1
"""Major version of the run directory format. A reader refuses a higher one; lower ones load with NULLs."""

SCHEMA_MINOR = 14
"""Minor version: it grows with every new table or nullable column. Older runs load with NULL in their place."""

WHOLE_US = 1.0
"""Resolution of the response times next to a histogram: the microsecond."""

CPU_S = 2.0**-14
"""Resolution of CPU seconds within one second: 61 us, a power of two so that a double holds it in few bits."""


_SQL_TYPES = {
    "string": "VARCHAR",
    "binary": "BLOB",
    "bool": "BOOLEAN",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "float64": "DOUBLE",
    "timestamp[us]": "TIMESTAMP",
}
"""What DuckDB calls the types, by Arrow's names of them."""


@cache
def arrow_type(kind: str) -> pa.DataType:
    """The Arrow type of this name: one of `_SQL_TYPES`, or with [] a list of such values, none of them NULL."""
    if kind.endswith("[]"):
        return pa.list_(pa.field("element", arrow_type(kind.removesuffix("[]")), nullable=False))
    return pa.type_for_alias(kind)


def sql_type(kind: str) -> str:
    """What DuckDB calls the type of this name, as `arrow_type` takes it."""
    item = kind.removesuffix("[]")
    return _SQL_TYPES[item] + kind[len(item) :]


def nullable_schema(kinds: Mapping[str, str]) -> pa.Schema:
    """The Arrow schema of columns of these types, all of which may be NULL."""
    return pa.schema([pa.field(name, arrow_type(kind)) for name, kind in kinds.items()])


@dataclass(frozen=True)
class Column:
    """One column: type, unit ('' for counts and names), one sentence, and whether it may be NULL.

    `kind` is the name of the type in `arrow_type`. `since` is the minor version that introduced it; it is NULL in older
    runs. A sealed file keeps multiples of `resolution`, if there is one. `free_text` comes from a server or a host as
    it is, so paths and names of the machine are masked in it. `counts_up`: it counts since the host's boot or the
    server's start. `null_since`: the minor version that first had NULLs in it, because a client of another make may not
    report it.
    """

    name: str
    kind: str
    unit: str
    doc: str
    nullable: bool = False
    since: int = 0
    resolution: float | None = None
    free_text: bool = False
    counts_up: bool = False
    null_since: int = 0

    @property
    def type(self) -> pa.DataType:
        """Its Arrow type."""
        return arrow_type(self.kind)


@dataclass(frozen=True)
class Table:
    """One Parquet file of a run directory. `key` columns identify a row, and rows are stored in their order.

    In a table with `replaces`, a later row replaces an earlier row with the same key: the row is written when something
    begins and again when it has ended. A `derived` table is computed when a run is sealed. A `collected` table comes
    from a collector, whose failures never end a run. `since` is the minor version that introduced the table. What
    counts up in it begins again where the value of the column `restarts` changes.
    """

    name: str
    doc: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    replaces: bool = False
    derived: bool = False
    collected: bool = False
    since: int = 0
    restarts: str | None = None

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The type of each column, as `arrow_type` takes it."""
        return {column.name: column.kind for column in self.columns}

    @property
    def file_name(self) -> str:
        """The file of the table in the folder of a run."""
        return f"{self.name}.parquet"

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The Arrow schema, with the unit as field metadata and the version as schema metadata.

        The meaning of the columns is in docs/schema.md; stored in every file, it would outweigh most tables of a short
        run.
        """
        fields = [pa.field(c.name, c.type, nullable=c.nullable, metadata={"unit": c.unit}) for c in self.columns]
        version = f"{SCHEMA_VERSION}.{SCHEMA_MINOR}"
        return pa.schema(fields, metadata={"ibench_table": self.name, "ibench_schema_version": version})

    @cached_property
    def file_metadata(self) -> dict[str, str]:
        """What a sealed file says of itself: its table, its version, and the units of its columns as JSON."""
        schema = {key.decode(): value.decode() for key, value in self.arrow_schema.metadata.items()}
        units = {column.name: column.unit for column in self.columns if column.unit}
        return {**schema, "ibench_units": json.dumps(units, separators=(",", ":"))}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Columns that may not be NULL."""
        return tuple(column.name for column in self.columns if not column.nullable)

    @cached_property
    def free_text(self) -> tuple[str, ...]:
        """Columns of text that may name the machine."""
        return tuple(column.name for column in self.columns if column.free_text)


_RUN_ID = Column("run_id", "string", "", "the run this row belongs to")
_STEP_ID = Column("step_id", "int16", "", "position of the step in the run, from 0")
_STEP = Column("step", "string", "", "name of the step, such as l.i1 or qr100")
_CLIENT = Column("client", "int16", "", "client number, from 1")
_WORKER = Column("worker", "int16", "", "worker process within the step, from 0, over all clients")
_OPERATION = Column("operation", "string", "", "insert, delete, range_query, point_query or create_index")
_STATUS = Column("status", "string", "", "complete, failed, interrupted, or running in a run not yet sealed")
_OPS = Column("ops", "int64", "", "acknowledged operations")
_NOT_PRINTED = "NULL if a driven program does not print it"


def _may_lack(name: str, kind: str, unit: str, doc: str, resolution: float | None = None) -> Column:
    """A column that our own clients always fill in, and a driven program may not report."""
    return Column(name, kind, unit, f"{doc}; {_NOT_PRINTED}", True, resolution=resolution, null_since=13)


_ROWS = _may_lack("rows", "int64", "", "rows inserted, deleted or returned by them")
_ERRORS = _may_lack("errors", "int64", "", "operations that ended in an error")
_UNKNOWN = _may_lack("unknown", "int64", "", "operations in flight when the connection was lost")

_OF_STEP = (_RUN_ID, _STEP_ID, _STEP)
_OF_WORKER = (*_OF_STEP, _CLIENT, _WORKER)

STEPS = Table(
    "steps",
    "One row per step that the run has started.",
    ("run_id", "step_id"),
    (
        *_OF_STEP,
        Column("kind", "string", "", "load, index, write or query"),
        _STATUS,
        Column("clients", "int16", "", "number of clients"),
        Column("insert_rows_per_commit", "int32", "", "rows of one insert statement", True),
        Column(
            "target_rows_per_s",
            "float64",
            "rows/s",
            "target of inserts, and of deletes, per client; NULL if not paced",
            True,
        ),
        Column("existing_rows", "int64", "", "rows in all tables when the step began", True),
        Column("start_s", "float64", "s", "common start of all clients on the run's clock"),
        Column(
            "end_s", "float64", "s", "end of the last client on the run's clock; the latest known time while running"
        ),
        Column("duration_s", "float64", "s", "T, by which every rate is divided: end_s - start_s"),
        Column(
            "history_list_length", "int64", "", "InnoDB history list length right after the last client's end", True
        ),
        Column(
            "client_bound",
            "string",
            "",
            "why the clients, not the server, limit the step; NULL if they do not",
            True,
        ),
        Column(
            "client_limit_share",
            "float64",
            "",
            "the largest of the measures of a client-bound step, each over its limit: 1 if a client came to its limit",
            True,
            12,
        ),
    ),
    replaces=True,
)

WORKERS = Table(
    "workers",
    "One row per client process of a step: its totals, as acknowledged by the server.",
    ("run_id", "step_id", "worker"),
    (
        *_OF_WORKER,
        Column("role", "string", "", "inserter, deleter, querier or indexer"),
        _STATUS,
        Column("start_s", "float64", "s", "common start of the step on the run's clock"),
        Column("end_s", "float64", "s", "end of its last operation on the run's clock"),
        _OPS,
        _ROWS,
        _ERRORS,
        _may_lack("retries", "int64", "", "repeats after a deadlock (1213), a lock wait timeout (1205) or 1020"),
        _UNKNOWN,
        Column("cpu_user_s", "float64", "s", "user CPU of the process during the step's load; NULL if it died", True),
        Column(
            "cpu_system_s", "float64", "s", "system CPU of the process during the step's load; NULL if it died", True
        ),
        Column(
            "client_lag_p99_us",
            "float64",
            "us",
            "p99 of the delay between when a statement could be sent and when it was; NULL if not paced",
            True,
        ),
        Column(
            "unrecorded_s",
            "float64",
            "s",
            "time from start_s to end_s in statements that are no operations and in no histogram, such as the re-read "
            "of a table's bounds; NULL if the process died",
            True,
            4,
        ),
        Column("connections", "int32", "", "connections of the process to the server", True, 11),
        Column(
            "ops_from",
            "string",
            "",
            "what `ops` is of a driven program: counts that it printed, or rates that it printed times the time between"
            " its lines; NULL if our own client has counted",
            True,
            13,
        ),
    ),
    replaces=True,
)

_BINS = "uint16[]"
_COUNTS = "uint32[]"

OPS = Table(
    "ops",
    "One row per second, worker and operation while the worker was running; a second without an answer has zeros. A"
    " second of which a driven program has reported nothing has no row.",
    ("run_id", "step_id", "worker", "operation", "second"),
    (
        *_OF_WORKER,
        _OPERATION,
        Column("second", "int32", "s", "second of the step in which the operations ended"),
        _OPS,
        _ROWS,
        _ERRORS,
        _may_lack("retries", "int64", "", "repeats after one of the three errors that follow"),
        Column("deadlocks", "int64", "", "repeats after a deadlock (1213)", True, 5),
        Column("lock_timeouts", "int64", "", "repeats after a lock wait timeout (1205)", True, 5),
        Column(
            "changed",
            "int64",
            "",
            "repeats after a row had changed since the transaction's read view (1020)",
            True,
            5,
        ),
        _UNKNOWN,
        _may_lack("service_sum_us", "float64", "us", "sum of service times (sent to answered)", WHOLE_US),
        Column(
            "service_max_us",
            "float64",
            "us",
            "largest service time; NULL when nothing was answered, or a driven program does not print it",
            True,
            resolution=WHOLE_US,
        ),
        _may_lack("service_bins", _BINS, "", "bins of the service time histogram"),
        _may_lack("service_counts", _COUNTS, "", "answers in each bin"),
        Column(
            "in_flight_us",
            "float64",
            "us",
            "time in flight within this second, from sent to answered, summed over operations; what is in flight over"
            " several seconds is in each of them",
            True,
            7,
            WHOLE_US,
        ),
        Column(
            "intended_max_us",
            "float64",
            "us",
            "largest intended time (due to answered); NULL if not paced",
            True,
            resolution=WHOLE_US,
        ),
        Column("intended_bins", _BINS, "", "bins of the intended time histogram; NULL if not paced", True),
        Column("intended_counts", _COUNTS, "", "answers in each bin; NULL if not paced", True),
        Column("cpu_user_s", "float64", "s", "user CPU of the worker's process in this second", True, 1, CPU_S),
        Column("cpu_system_s", "float64", "s", "system CPU of the worker's process in this second", True, 1, CPU_S),
    ),
)

RESPONSE_TIMES = Table(
    "response_times",
    "One row per worker, operation and timing of a step: its response times over all seconds of `ops`.",
    ("run_id", "step_id", "worker", "operation", "timing"),
    (
        *_OF_WORKER,
        _OPERATION,
        Column(
            "timing", "string", "", "service (sent to answered) or intended (due to answered; paced operations only)"
        ),
        _may_lack("responses", "int64", "", "answers in the histogram"),
        Column("max_us", "float64", "us", "largest response time; NULL when nothing was answered", True, 0, WHOLE_US),
        _may_lack("bins", _BINS, "", "bins of the histogram"),
        _may_lack("counts", "uint64[]", "", "answers in each bin"),
    ),
    derived=True,
    since=1,
)

OUTCOMES = Table(
    "outcomes",
    "How the operations of each connection of a step ended, for workloads that tell outcomes apart. Only acknowledged"
    " operations count, and each once, however often it was repeated after a deadlock.",
    ("run_id", "step_id", "worker", "connection", "operation", "outcome"),
    (
        *_OF_WORKER,
        Column("connection", "int16", "", "connection of the worker, from 0"),
        _OPERATION,
        Column("outcome", "string", "", "as the workload names it, such as inserted, updated or missing"),
        _OPS,
    ),
    since=9,
)

INTERVALS = Table(
    "intervals",
    "One row per operation and interval of over 1.1 s of an imported log, which is too long for a second. What happened"
    " within an interval is not known, so it is drawn flat, and no question about seconds has it. An interval of"
    " unknown length has no row.",
    ("run_id", "step_id", "client", "operation", "end_s"),
    (
        *_OF_STEP,
        Column("client", "int16", "", "client number, from 1; 0: all clients together"),
        _OPERATION,
        Column("end_s", "float64", "s", "end of the interval, from the step's start"),
        Column("seconds", "float64", "s", "length of the interval"),
        Column("ops", "int64", "", "acknowledged operations; NULL where the log has only their rate", True),
        Column("ops_per_s", "float64", "ops/s", "their rate: as the log has it, or their number over the length"),
        Column(
            "errors_per_s",
            "float64",
            "errors/s",
            "rate of operations that ended in an error; NULL where the log does not say it",
            True,
        ),
        Column(
            "retries_per_s",
            "float64",
            "retries/s",
            "rate of repeats after one of the three errors of `ops`; NULL where the log does not say it",
            True,
        ),
    ),
    since=14,
)

PROBES = Table(
    "probes",
    "One row per query that is timed by itself: each client's get_min probe before each step, the planning of its "
    "first DELETE, and the deleters' re-reads.",
    ("run_id", "step_id", "client", "probe", "start_s"),
    (
        *_OF_STEP,
        _CLIENT,
        Column(
            "probe",
            "string",
            "",
            "get_min: the first SELECT min(transactionid) of the step; min_reread: the same query during the step; "
            "plan_delete: planning the first DELETE after get_min, of servers that say what it costs",
        ),
        Column("start_s", "float64", "s", "when it was sent, on the run's clock"),
        Column("seconds", "float64", "s", "sent to answered; of plan_delete the time that the server says"),
        Column(
            "result", "int64", "", "the value, of plan_delete the blocks read for it; NULL where there is none", True
        ),
    ),
)

_TICK = Column("tick", "int32", "s", "second of the run's clock at which the sample was due")
_T_S = Column("t_s", "float64", "s", "when it was read, on the run's clock")

SERVER_SAMPLES = Table(
    "server_samples",
    "One row per second of the run: the server's own figures, in columns that mean the same for every flavour."
    " A figure that the server could not report is NULL; the manifest says why.",
    ("run_id", "t_s"),
    (
        _RUN_ID,
        Column("t_s", "float64", "s", "when the answer came, on the run's clock; the tick itself if no answer came"),
        replace(_TICK, nullable=True, since=1),
        Column(
            "incarnation",
            "int16",
            "",
            "0 for the server that the run started, 1 after its first restart, and so on; another one for each step of"
            " an imported run, whose servers nobody knows",
            True,
            1,
        ),
        *(
            Column(figure.column, "int64", figure.unit, figure.doc, True, figure.since, counts_up=figure.counts_up)
            for figure in FIGURES
        ),
    ),
    collected=True,
    restarts="incarnation",
)

SERVER_COUNTERS = Table(
    "server_counters",
    "SHOW GLOBAL STATUS and the enabled INNODB_METRICS, once a second, numbers only. A row is stored "
    "only when its value"
    " changed: at a tick of `server_samples` without a row here, the value is that of the previous row.",
    ("run_id", "source", "name", "tick"),
    (
        _RUN_ID,
        Column("source", "string", "", "status or metric"),
        Column("name", "string", "", "as the server spells it"),
        _TICK,
        Column("incarnation", "int16", "", "as in server_samples"),
        Column("value", "int64", "", "the value if it is a whole number; else NULL", True),
        Column(
            "real_value", "float64", "", "the value if it is not a whole number, or exceeds 63 bits; else NULL", True
        ),
    ),
    collected=True,
    since=1,
)


def _cumulative(name: str, doc: str = "", *, nullable: bool = False, since: int = 0) -> Column:
    """A counter as it was read: in seconds or bytes if its name ends so, else a number of something."""
    kind, unit = "int64", ""
    if name.endswith("_s"):
        kind, unit = "float64", "s"
    elif name.endswith("_bytes"):
        unit = "bytes"
    return Column(name, kind, unit, f"{doc}, cumulative" if doc else "cumulative", nullable, since, counts_up=True)


HOST_SAMPLES = Table(
    "host_samples",
    "One row per second of the run: the host of the clients, from /proc. A sandboxed server runs on the same host.",
    ("run_id", "tick"),
    (
        _RUN_ID,
        _TICK,
        _T_S,
        _cumulative("cpu_user_s", "CPU in user mode, nice included; all CPUs"),
        _cumulative("cpu_system_s", "CPU in the kernel, interrupts included; all CPUs"),
        _cumulative("cpu_iowait_s", "CPU idle with I/O outstanding; all CPUs"),
        _cumulative("cpu_steal_s", "CPU that the hypervisor kept; all CPUs"),
        _cumulative("cpu_idle_s", "CPU idle without I/O outstanding; all CPUs"),
        _cumulative("context_switches"),
        _cumulative("interrupts"),
        Column("runnable", "int32", "", "run queue: tasks that are running or ready to run, now"),
        Column("blocked", "int32", "", "tasks that wait for I/O, now"),
        Column("memory_available_bytes", "int64", "bytes", "memory available without swapping (MemAvailable)", True),
        Column("memory_free_bytes", "int64", "bytes", "MemFree"),
        Column("page_cache_bytes", "int64", "bytes", "Cached and Buffers"),
        Column("dirty_bytes", "int64", "bytes", "page cache waiting to be written"),
        Column("writeback_bytes", "int64", "bytes", "page cache being written"),
        Column("swap_used_bytes", "int64", "bytes", "SwapTotal minus SwapFree"),
        _cumulative("swapped_in_pages"),
        _cumulative("swapped_out_pages"),
        _cumulative("major_faults", "page faults that read from disk"),
        *(
            _cumulative(
                f"{what}_{tasks}_pressed_s",
                f"time in which {'all' if tasks == 'all' else 'some'} tasks waited for {of} (/proc/pressure/{what})",
                nullable=True,
                since=7,
            )
            for what, tasks, of in (
                ("cpu", "some", "a CPU"),
                ("io", "some", "I/O"),
                ("io", "all", "I/O"),
                ("memory", "some", "memory"),
                ("memory", "all", "memory"),
            )
        ),
    ),
    collected=True,
    since=1,
)

DEVICE_SAMPLES = Table(
    "device_samples",
    "One row per second and block device, from /proc/diskstats: whole devices, and the device of the data directory.",
    ("run_id", "device", "tick"),
    (
        _RUN_ID,
        Column("device", "string", "", "kernel name, such as nvme0n1"),
        _TICK,
        _T_S,
        Column("holds_data", "bool", "", "whether it holds the server's data directory"),
        _cumulative("reads", "reads completed"),
        _cumulative("read_bytes"),
        _cumulative("read_s", "sum of the reads' times"),
        _cumulative("writes", "writes completed"),
        _cumulative("written_bytes"),
        _cumulative("write_s", "sum of the writes' times"),
        Column("in_flight", "int32", "", "requests in flight, now"),
        _cumulative("busy_s", "time with a request in flight"),
        _cumulative("queue_s", "time in flight summed over requests"),
        _cumulative("flushes", "flush requests completed", nullable=True),
        _cumulative("flush_s", "sum of the flushes' times", nullable=True),
    ),
    collected=True,
    since=1,
)

NETWORK_SAMPLES = Table(
    "network_samples",
    "One row per second and network interface, from /proc/net/dev.",
    ("run_id", "interface", "tick"),
    (
        _RUN_ID,
        Column("interface", "string", "", "name, such as eth0"),
        _TICK,
        _T_S,
        _cumulative("received_bytes"),
        _cumulative("received_packets"),
        _cumulative("received_drops", "dropped or in error"),
        _cumulative("sent_bytes"),
        _cumulative("sent_packets"),
        _cumulative("sent_drops", "dropped or in error"),
    ),
    collected=True,
    since=1,
)

PROCESS_SAMPLES = Table(
    "process_samples",
    "One row per second: the server's process, from /proc/<pid>. A remote server has no rows.",
    ("run_id", "tick"),
    (
        _RUN_ID,
        _TICK,
        _T_S,
        Column("pid", "int32", "", "a different pid is a different process: differences are never taken across it"),
        _cumulative("cpu_user_s"),
        _cumulative("cpu_system_s"),
        Column("resident_bytes", "int64", "bytes", "resident size now"),
        Column("virtual_bytes", "int64", "bytes", "virtual size now"),
        Column("threads", "int32", "", "now"),
        _cumulative("read_bytes", "read from storage (NULL where /proc denies it)", nullable=True),
        _cumulative("written_bytes", "sent to storage (NULL where /proc denies it)", nullable=True),
        _cumulative("voluntary_switches", "context switches of all observed threads", nullable=True),
        _cumulative("involuntary_switches", "context switches of all observed threads", nullable=True),
        Column(
            "state",
            "string",
            "",
            "of its first thread now, as /proc has it: R runs, S sleeps, D waits for I/O, T is stopped",
            True,
            7,
        ),
        Column(
            "blocked_threads",
            "int32",
            "",
            "threads in state D now: they wait for storage, for a page, or for a file system that is frozen",
            True,
            8,
        ),
    ),
    collected=True,
    since=1,
    restarts="pid",
)

THREAD_SAMPLES = Table(
    "thread_samples",
    "What the server's threads did in the interval of about a second that ends at t_s, by their name, from"
    " /proc/<pid>/task. Names that used less than 1 ms of CPU and waited less than 1 ms for a CPU have no row; the"
    " row with an empty name is all threads. A remote server has no rows.",
    ("run_id", "tick", "name"),
    (
        _RUN_ID,
        _TICK,
        _T_S,
        Column("seconds", "float64", "s", "length of the interval"),
        Column(
            "name", "string", "", "name of the threads, or what their process does; without a number; empty for all"
        ),
        Column("threads", "int32", "", "threads of this name, now"),
        Column("cpu_s", "float64", "s", "CPU that they used in the interval"),
        Column("queued_s", "float64", "s", "time in the interval that they were ready to run and had no CPU"),
    ),
    collected=True,
    since=7,
)

PERF_COUNTERS = Table(
    "perf_counters",
    "What the processor counted of the server's process in the interval of about a second that ends at t_s, by"
    " `perf stat`. Machines without such counters, such as most virtual machines, have no rows; the manifest says why.",
    ("run_id", "tick"),
    (
        _RUN_ID,
        _TICK,
        _T_S,
        Column("seconds", "float64", "s", "length of the interval"),
        Column("instructions", "int64", "", "instructions that the process retired", True),
        Column("cycles", "int64", "", "cycles that it took", True),
        Column("cache_misses", "int64", "", "misses of the last level of cache", True),
        Column("tlb_misses", "int64", "", "loads whose page was not in the data TLB", True),
        Column("cpu_s", "float64", "s", "CPU that it used (task-clock)", True),
        Column(
            "running",
            "float64",
            "",
            "share of the interval in which each of the processor's counters counted, the smallest; figures are scaled",
            True,
        ),
    ),
    collected=True,
    since=10,
)

THREAD_STATES = Table(
    "thread_states",
    "The connections that use the benchmark's database and are at work, once a second, by what the server says they do."
    " Idle ones are left out. A second in which none is at work has one row with 0 connections.",
    ("run_id", "tick", "state"),
    (
        _RUN_ID,
        _TICK,
        _T_S,
        Column("state", "string", "", "as the server names it; empty where it names none", free_text=True),
        Column("connections", "int32", "", "connections in this state, now"),
    ),
    collected=True,
    since=7,
)

STEP_COUNTERS = Table(
    "step_counters",
    "What a step took of the machine: every cumulative column of the sample tables, read when the step's clients"
    " started together and when the last of them had ended. A counter has no row where it went down in between, or"
    " where the server was restarted.",
    ("run_id", "step_id", "source", "name", "counter"),
    (
        *_OF_STEP,
        Column("source", "string", "", "host, device, network, process or server: the table <source>_samples"),
        Column("name", "string", "", "the device or interface; empty for other sources"),
        Column(
            "counter",
            "string",
            "",
            "the column of that table; and of process also peak_resident_bytes, the largest resident size since the"
            " step's start (VmHWM), where the kernel lets us reset it",
        ),
        Column("start_s", "float64", "s", "when it was first read, on the run's clock"),
        Column("start_value", "float64", "", "its value then, in the unit of the column"),
        Column("end_s", "float64", "s", "when it was last read, on the run's clock"),
        Column("end_value", "float64", "", "its value then"),
    ),
    collected=True,
    since=4,
)

INNODB_STATUS = Table(
    "innodb_status",
    "SHOW ENGINE INNODB STATUS, every 30 seconds.",
    ("run_id", "tick"),
    (_RUN_ID, _TICK, _T_S, Column("text", "string", "", "the text from the server", free_text=True)),
    collected=True,
    since=1,
)

PROCESSLIST = Table(
    "processlist",
    "SHOW FULL PROCESSLIST, every 20 seconds, without the collector's own connection.",
    ("run_id", "tick", "id"),
    (
        _RUN_ID,
        _TICK,
        _T_S,
        Column("id", "int64", "", "connection id"),
        Column("user", "string", "", "user name, or the server's name for its own thread", True, free_text=True),
        Column("command", "string", "", "Query, Sleep, Execute ...", True),
        Column("seconds", "float64", "s", "time in its state", True),
        Column("state", "string", "", "what the thread is doing", True, free_text=True),
        Column("info", "string", "", "the statement, its first 1000 characters", True, free_text=True),
    ),
    collected=True,
    since=1,
)

WAITS = Table(
    "waits",
    "Waits inside the server per interval of about 10 seconds, if the experiment asks for them; events "
    "without a wait have no row.",
    ("run_id", "tick", "source", "event"),
    (
        _RUN_ID,
        _TICK,
        _T_S,
        Column("seconds", "float64", "s", "length of the interval that ends at t_s"),
        Column("source", "string", "", "performance_schema or innodb_mutex (SHOW ENGINE INNODB MUTEX)"),
        Column("event", "string", "", "mutex, rwlock or file, as the server names it"),
        Column("waits", "int64", "", "waits in the interval"),
        Column("wait_s", "float64", "s", "time waited in the interval; NULL if the server only counts the waits", True),
    ),
    collected=True,
    since=1,
)

PROFILE_STACKS = Table(
    "profile_stacks",
    "Folded stacks of the server's process, sampled by perf at intervals, if the experiment asks for them.",
    ("run_id", "tick", "stack"),
    (
        _RUN_ID,
        _TICK,
        _T_S,
        Column("seconds", "float64", "s", "how long perf sampled"),
        Column("event", "string", "", "cycles, or cpu-clock on a machine without a counter for cycles"),
        Column("frequency", "float64", "Hz", "samples that perf was to take in a second of CPU", True, since=10),
        Column("lost", "int64", "", "samples of this recording that the kernel could not keep", True, since=10),
        Column("cpu_s", "float64", "s", "CPU of the server's process while perf sampled it", True, since=10),
        Column(
            "thread_group",
            "string",
            "",
            "name of the thread without a number at its end",
            True,
            since=10,
            free_text=True,
        ),
        Column(
            "stack",
            "string",
            "",
            "thread name and functions, outermost first, joined by ';'; a function without a name is [unknown], with "
            "its library in brackets since minor version 10",
            free_text=True,
        ),
        Column("samples", "int64", "", "samples with this stack"),
    ),
    collected=True,
    since=1,
)

SIZES = Table(
    "sizes",
    "Sizes on disk at the end of each step.",
    ("run_id", "step_id", "what", "name"),
    (
        *_OF_STEP,
        Column(
            "what",
            "string",
            "",
            "table_data and table_index (from the server's own statistics, which MySQL and MariaDB"
            " update about 10 s after a change), database (files of the benchmark's database),"
            " datadir (all files), system, undo, redo, temporary, binary_log",
        ),
        Column("name", "string", "", "name of the table; empty for a total"),
        Column(
            "bytes", "int64", "bytes", "blocks allocated on disk, or the server's own figure; NULL if unknown", True
        ),
    ),
    collected=True,
    since=1,
)

TABLE_COUNTS = Table(
    "table_counts",
    "One row per benchmark table at the end of each step: the server's own COUNT(*).",
    ("run_id", "step_id", "table_name"),
    (
        *_OF_STEP,
        Column("table_name", "string", "", "benchmark table, pi1 ... piN"),
        Column("row_count", "int64", "", "SELECT COUNT(*) after the step"),
        Column("seconds", "float64", "s", "how long the count took"),
    ),
)

CHECKS = Table(
    "checks",
    "One row per check that the workload made of the server's data after a step, in the order in which they were made. "
    "A check that does not hold ends the run, unless a defect of the profile itself breaks it.",
    ("run_id", "step_id", "check_number"),
    (
        *_OF_STEP,
        Column("check_number", "int32", "", "from 1, within the step"),
        Column("rule", "string", "", "kind of check: rows, ledger, or the name of a condition such as C1"),
        Column("subject", "string", "", "what the figure is, such as rows of stock"),
        Column("found", "int64", "", "what the server answered; NULL if it answered NULL", nullable=True),
        Column("expected", "int64", "", "what it should have answered"),
        Column("broken_by", "string", "", "the profile whose own defect may break it, if any", nullable=True),
        Column("seconds", "float64", "s", "how long the answer took"),
    ),
    since=10,
)

PUBLISHED = Table(
    "published",
    "Figures that others have published (`runs.source` says where). Nothing in these runs was measured here.",
    ("run_id", "step_id", "metric"),
    (
        *_OF_STEP,
        Column("metric", "string", "", "name of the metric, such as get_min_s"),
        Column("value", "float64", "", "as published, in the metric's unit"),
    ),
    since=2,
)

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        STEPS,
        WORKERS,
        OPS,
        RESPONSE_TIMES,
        OUTCOMES,
        INTERVALS,
        PROBES,
        TABLE_COUNTS,
        CHECKS,
        SIZES,
        SERVER_SAMPLES,
        SERVER_COUNTERS,
        INNODB_STATUS,
        PROCESSLIST,
        WAITS,
        PROFILE_STACKS,
        HOST_SAMPLES,
        DEVICE_SAMPLES,
        NETWORK_SAMPLES,
        PROCESS_SAMPLES,
        THREAD_SAMPLES,
        PERF_COUNTERS,
        THREAD_STATES,
        STEP_COUNTERS,
        PUBLISHED,
    )
}
