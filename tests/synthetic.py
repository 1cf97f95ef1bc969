"""Writes tiny runs with numbers that can be worked out in the head, through the project's own writer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import polars as pl

from ibench_lib.ask.selection import choose
from ibench_lib.base.collector_report import CollectorReport
from ibench_lib.paths import Workspace
from ibench_lib.show.kit.html_ids import html_id
from ibench_lib.store.manifest import (
    Cell,
    ConfigRecord,
    ExperimentRecord,
    KindRecord,
    Manifest,
    OperationRecord,
    ServerRecord,
    SnapshotCopy,
    SnapshotRecord,
    Status,
)
from ibench_lib.store.writer import RunWriter
from tests.waiting import until

CLIENTS = 2
BIN_500_US = 8 * 64 + 61  # its lower edge is 256 * (1 + 61/64) = 500 us, its midpoint 502 us
BIN_2_S = BIN_500_US + 12 * 64  # its lower edge is 2.048 s, its midpoint 2.056 s


@dataclass(frozen=True)
class Run:
    """One run of l.i0, l.x, l.i1, qr100 with two clients; what differs between runs of a test."""

    config: str = "cy10a"
    setup: str = "cached"
    experiment: str = "demo"
    title: str = "Purge lag"
    dbms: str | None = None
    build: str = "system"
    repeat: int = 1
    minute: int = 0
    status: Status = "complete"
    error: str | None = None
    failed_step: str | None = None
    scale: float = 1.0
    l_i1_s: int = 10  # both clients insert 25,000 rows: 5,000/s at 10 s
    queries: int = 5000  # of both clients in 5 s: 1,000/s
    background_rows: int = 1000  # of both clients in 5 s: 200/s, exactly the target
    history_list: tuple[int, ...] = (10, 20, 30000, 5)  # at the end of each step
    get_min_s: tuple[float, ...] = (0.001, 0.001, 0.001, 0.5)  # of client 1; client 2 takes half as long
    options: str = ""  # more lines of my.cnf
    warnings: tuple[str, ...] = ()
    steps: tuple[str, ...] = ("l.i0", "l.x", "l.i1", "qr100")  # done, of the four that are planned
    client_bound: str | None = None
    client_limit_share: float | None = None  # of qr100
    loaded_from: str | None = None  # the run that did l.i0 and l.x for this one
    rank: int | None = None  # place in the experiment file
    fingerprint: str = "f" * 64
    stall: tuple[int, ...] = ()  # seconds of l.i1 in which nothing is answered; the others do its work
    weak: tuple[int, ...] = ()  # seconds of l.i1 in which a quarter of the others' work is done
    sampled: tuple[tuple[str, tuple[int | None, ...]], ...] = ()  # columns of server_samples in l.i1, second by second
    also: tuple[tuple[str, dict[str, Any]], ...] = ()  # further rows by table
    clients: int = CLIENTS  # as its manifest has it; its rows are always of two
    late: bool = False  # each insert and delete of qr100 is answered 2 s after it was due
    worker_cpu_s: float | None = None  # of each process in each second; None: not recorded, as in older runs
    connections: int | None = None  # of each process; None: not recorded, as in older runs
    fragments: tuple[tuple[str, str], ...] = ()  # name and text
    flavour: str = "mariadb"
    variables: tuple[tuple[str, str], ...] = ()  # of the server
    versions: tuple[tuple[str, str], ...] = ()  # of what the runner used, apart from Python's
    collectors: tuple[CollectorReport, ...] = ()  # what they reported at the end
    null_reasons: tuple[tuple[str, str], ...] = ()
    short: bool = False  # each step ends after half a second, with all of its work

    @property
    def name(self) -> str:
        return self.dbms if self.dbms is not None else f"{self.build}.{self.config}"

    @property
    def run_id(self) -> str:
        return f"20261121T10{self.minute:02d}00Z-demo-{html_id(self.setup)}-{self.config}-r{self.repeat}"


KINDS = {"l.i0": "load", "l.x": "index", "l.i1": "write", "qr100": "query"}


def manifest_of(run: Run) -> Manifest:
    """The run's manifest, before it is sealed."""
    return Manifest(
        tool_version="0.1.0",
        run_id=run.run_id,
        status=run.status,
        error=run.error,
        failed_step=run.failed_step,
        origin_wall=(datetime(2026, 11, 21, 10, tzinfo=UTC) + timedelta(minutes=run.minute)).isoformat(),
        experiment=ExperimentRecord(name=run.experiment, title=run.title, text="title: Purge lag\n"),
        cell=Cell(
            build=run.build,
            config=run.config,
            dbms=run.name,
            setup=run.setup,
            repeat=run.repeat,
            fingerprint=run.fingerprint,
            rank=run.rank,
        ),
        workload={
            "clients": run.clients,
            "resolved_steps": [{"name": name, "kind": kind} for name, kind in KINDS.items()],
        },
        scale=run.scale,
        server=ServerRecord(
            flavour=run.flavour,
            version="10.11.19-MariaDB",
            version_comment="Debian 12",
            variables={"innodb_purge_threads": "4", **dict(run.variables)},
        ),
        config=ConfigRecord(
            my_cnf=f"[mysqld]\ninnodb_purge_threads=4  # cy10a.cnf:2\n{run.options}", fragments=dict(run.fragments)
        ),
        host={"cpus": 2},
        warnings=list(run.warnings),
        collectors=list(run.collectors),
        null_reasons=dict(run.null_reasons),
        versions={"python": "3.11", **dict(run.versions)},
        loaded_from=snapshot_of(run.loaded_from) if run.loaded_from else None,
        snapshot_copy=SnapshotCopy(seconds=1.5, caches="empty") if run.loaded_from else None,
    )


def snapshot_of(run_id: str) -> SnapshotRecord:
    """What a run recorded of the snapshot that it made after l.x."""
    return SnapshotRecord(
        digest="d" * 64, settings={"innodb_page_size": "16384"}, after_step="l.x", steps=["l.i0", "l.x"], run_id=run_id,
        build="system", server_version="10.11.19-MariaDB", rows={"pi1": 10_000, "pi2": 10_000}, bytes=1 << 20,
        made_wall="2026-11-21T10:00:20+00:00", shutdown_s=0.5,
    )  # fmt: skip


def write_runs(workspace: Workspace, *runs: Run) -> list[RunWriter]:
    """Write and seal the runs below the workspace's data/runs/."""
    return [_write(workspace, run) for run in runs]


def three_configurations() -> tuple[Run, Run, Run]:
    """A base, one with much purge lag and a slow get_min, one with a limit that costs write rate."""
    base = Run(history_list=(10, 20, 300, 5), get_min_s=(0.001, 0.001, 0.001, 0.002))
    lagging = Run(
        "cy10ap1",
        minute=1,
        queries=2500,
        options="innodb_purge_batch_size=1  # p1.cnf:5\n",
        warnings=("innodb_io_capacity: asked <1> (p1.cnf:6), the server uses 100",),
    )
    limited = replace(base, config="cy10ap1lag", minute=2, l_i1_s=20, options="innodb_max_purge_lag=100  # lag.cnf:3\n")
    return base, lagging, limited


def begin_run(workspace: Workspace, run: Run, sealed: tuple[str, ...]) -> RunWriter:
    """A run that goes on: these steps are sealed, the others of `run.steps` are in the journal and have not ended."""
    writer = RunWriter(workspace.run_dir(run.run_id), flush_every_s=0.01)
    manifest = manifest_of(run)
    writer.write_manifest(manifest)
    for step_id, step, start, existing in _timeline(run):
        _append_step(writer, run, step_id, step, start, existing, ended=step in sealed)
        if step in sealed:
            writer.seal_step(manifest)
    flushed(writer)
    return writer


def flushed(writer: RunWriter) -> None:
    """Wait until what was appended is in the journal, or is known not to get there."""

    def is_flushed() -> bool:
        with writer._journal_lock:  # no flush is under way
            return not writer._pending or writer._failure is not None

    until(is_flushed, "the journal has all rows", every_s=0.002)


def end_run(writer: RunWriter, run: Run) -> None:
    """Seal a run that was begun."""
    writer.seal(manifest_of(replace(run, status="complete")))


def die(writer: RunWriter) -> None:
    """What the kernel does to a runner that was killed: nothing is written any more, its lock is free."""
    writer._stop.set()
    writer._flusher.join()
    assert writer._lock is not None
    writer._lock.close()


def _timeline(run: Run) -> list[tuple[int, str, float, int]]:
    """(step_id, step, start_s, existing rows) of each step of the run."""
    start, existing, found = 1.0, 0, []
    for step_id, step in enumerate(KINDS):
        if step in run.steps:
            found.append((step_id, step, start, existing))
            existing = existing or 20_000
            start += _seconds(run, step) + 1
    return found


def _seconds(run: Run, step: str) -> int:
    return 1 if run.short else {"l.i0": 10, "l.x": 2, "l.i1": run.l_i1_s, "qr100": 5}[step]


def _lasts(run: Run, seconds: int) -> float:
    return 0.5 if run.short else seconds


def _write(workspace: Workspace, run: Run) -> RunWriter:
    writer = RunWriter(workspace.run_dir(run.run_id))
    for step_id, step, start, existing in _timeline(run):
        _append_step(writer, run, step_id, step, start, existing, ended=True)
    for table, row in run.also:
        writer.append(table, **row)
    writer.seal(manifest_of(run))
    return writer


def _append_step(
    writer: RunWriter, run: Run, step_id: int, step: str, start: float, existing: int, *, ended: bool
) -> None:
    key = {"step_id": step_id, "step": step}
    seconds = _seconds(run, step)
    for client in range(1, CLIENTS + 1):
        writer.append(
            "probes", **key, client=client, probe="get_min", start_s=start, seconds=run.get_min_s[step_id] / client,
            result=1,
        )  # fmt: skip
    for number, (client, role, operation, rows, ops) in enumerate(_workers(run, step)):
        # The second client is done with l.i0 two seconds earlier.
        took = seconds - 2 if step == "l.i0" and client == 2 and not run.short else seconds
        where = {**key, "connections": run.connections}
        _append_worker(writer, where, number, client, role, start, _lasts(run, took), rows, ops, ended=ended)
        stall = run.stall if step == "l.i1" else ()
        weak = run.weak if step == "l.i1" else ()
        _append_seconds(
            writer, key, number, client, operation, took, rows, ops, role, stall, weak, run.worker_cpu_s,
            late=run.late and step == "qr100" and operation != "range_query",
        )  # fmt: skip
    failed = run.status not in ("complete", "running") and step == run.failed_step
    end = start + _lasts(run, seconds) if ended else start
    writer.append(
        "steps", **key, kind=KINDS[step], status="running" if not ended else run.status if failed else "complete",
        clients=CLIENTS, insert_rows_per_commit=50, target_rows_per_s=100.0 if step == "qr100" else None,
        existing_rows=existing, start_s=start, end_s=end, duration_s=end - start,
        history_list_length=None if failed or not ended else run.history_list[step_id],
        client_bound=run.client_bound if step == "qr100" else None,
        client_limit_share=run.client_limit_share if step == "qr100" else None,
    )  # fmt: skip
    for second in range(seconds):
        sampled = {name: values[second] for name, values in run.sampled} if step == "l.i1" else {}
        writer.append(
            "server_samples", t_s=start + second + 0.5, **{"history_list_length": run.history_list[step_id], **sampled}
        )


def _workers(run: Run, step: str) -> list[tuple[int, str, str, int, int]]:
    """(client, role, operation, rows, ops) of each worker of a step."""
    half = run.background_rows // CLIENTS
    roles = {
        "l.i0": [("inserter", "insert", 10_000, 100)],
        "l.x": [("indexer", "create_index", 0, 1)],
        "l.i1": [("inserter", "insert", 25_000, 500), ("deleter", "delete", 25_000, 500)],
        "qr100": [
            ("inserter", "insert", half, 10),
            ("deleter", "delete", half, 10),
            ("querier", "range_query", 10 * run.queries // CLIENTS, run.queries // CLIENTS),
        ],
    }
    return [(client, *role) for client in range(1, CLIENTS + 1) for role in roles[step]]


def _append_worker(
    writer: RunWriter, key: dict[str, Any], number: int, client: int, role: str, start: float, took: float, rows: int,
    ops: int, *, ended: bool,
) -> None:  # fmt: skip
    totals: dict[str, Any] = {"status": "running", "end_s": start, "ops": 0, "rows": 0}
    if ended:
        cpu = {"cpu_user_s": 0.25, "cpu_system_s": 0.25}
        totals = {"status": "complete", "end_s": start + took, "ops": ops, "rows": rows, **cpu}
    writer.append(
        "workers", **key, client=client, worker=number, role=role, start_s=start, errors=0, retries=0, unknown=0,
        **totals,
    )  # fmt: skip


def _append_seconds(
    writer: RunWriter, key: dict[str, Any], number: int, client: int, operation: str, took: int, rows: int, ops: int,
    role: str, stall: tuple[int, ...] = (), weak: tuple[int, ...] = (), cpu_s: float | None = None, *,
    late: bool = False,
) -> None:  # fmt: skip
    quarters = [0 if second in stall else 1 if second in weak else 4 for second in range(took)]
    shares, shares_rows = (_shared(total, quarters) for total in (ops, rows))
    for second, (share, share_rows) in enumerate(zip(shares, shares_rows, strict=True)):
        # What waited in a stall is answered in the second after it.
        held = 1 if second and second - 1 in stall and share else 0
        responses = {bin_: n for bin_, n in ((BIN_500_US, share - held), (BIN_2_S, held)) if n}
        writer.append(
            "ops", **key, client=client, worker=number, operation=operation, second=second, ops=share, rows=share_rows,
            errors=0, retries=0, unknown=0, service_sum_us=500.0 * share,
            service_max_us=2.1e6 if held else 2_000.0 if share else None,
            service_bins=list(responses), service_counts=list(responses.values()),
            intended_max_us=2.1e6 if late else None, intended_bins=[BIN_2_S] if late else None,
            intended_counts=[share] if late else None,
            cpu_user_s=cpu_s, cpu_system_s=cpu_s,
        )  # fmt: skip


def _shared(total: int, weights: list[int]) -> list[int]:
    """A total over seconds; what does not divide evenly ends in the last second."""
    shares = [total * weight // sum(weights) for weight in weights[:-1]]
    return [*shares, total - sum(shares)]


OTHER_OPERATIONS = (
    OperationRecord(name="a", family="a", counts="rows", label="as/s"),
    OperationRecord(name="b", family="b", counts="ops", label="bs/s"),
)
OTHER_KINDS = (KindRecord(name="load", main="a", equal_work=True), KindRecord(name="run", main="b"))


def write_other_run(
    workspace: Workspace, run: Run, *, operations: tuple[OperationRecord, ...] = OTHER_OPERATIONS
) -> None:
    """A run of a workload of its own: 10 s of load, 10 s of run, by two clients with one worker each.

    Load: each client has 100 a of 10 rows a second. Run: each has, a second, 10 a of one row, and 50 b that are paced
    by a target of 60; of further `operations` 1 each.
    """
    writer = RunWriter(workspace.run_dir(run.run_id))
    for step_id, (step, target) in enumerate((("load", None), ("run", 60.0))):
        start = 1.0 + 11 * step_id
        key = {"step_id": step_id, "step": step}
        each = {"a": (100, 10)} if step == "load" else {"a": (10, 1), "b": (50, 0)}
        if step == "run":
            each |= {operation.name: (1, 0) for operation in operations if operation.name not in each}
        ops, rows = (sum(n for n, _ in each.values()), sum(n * of_each for n, of_each in each.values()))
        for client in range(1, CLIENTS + 1):
            worker = client - 1
            _append_worker(writer, key, worker, client, "terminal", start, 10, 10 * rows, 10 * ops, ended=True)
            for operation, (n, of_each) in each.items():
                _append_seconds(writer, key, worker, client, operation, 10, 10 * n * of_each, 10 * n, "terminal")
        writer.append(
            "steps", **key, kind=step, status="complete", clients=CLIENTS, insert_rows_per_commit=None,
            target_rows_per_s=target, existing_rows=None, start_s=start, end_s=start + 10, duration_s=10.0,
            history_list_length=step_id, client_bound=None,
        )  # fmt: skip
        for second in range(10):
            writer.append("server_samples", t_s=start + second + 0.5, history_list_length=step_id)
    described = {
        "benchmark": "other",
        "operations": list(operations),
        "kinds": list(OTHER_KINDS),
        "workload": {"clients": CLIENTS, "resolved_steps": [{"name": name, "kind": name} for name in ("load", "run")]},
    }
    writer.seal(manifest_of(run).model_copy(update=described))


def answer(lake: duckdb.DuckDBPyConnection, name: str, experiment: str = "demo", **chosen: Any) -> pl.DataFrame:
    """Ask a question for the latest runs of an experiment, or of some of it as `choose` takes it."""
    return choose(lake, experiment, **chosen).ask(name)


def write_checks(
    writer: RunWriter, step_id: int, step: str, rules: Iterable[str], broken: str = "", broken_by: str | None = None
) -> None:
    """A check of each rule after a step; one row too many violates the rule `broken`."""
    for number, rule in enumerate(rules, 1):
        writer.append(
            "checks", step_id=step_id, step=step, check_number=number, rule=rule, subject=f"what violates {rule}",
            found=int(rule == broken), expected=0, broken_by=broken_by if rule == broken else None, seconds=0.5,
        )  # fmt: skip
