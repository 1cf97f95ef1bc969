"""Rates from cumulative samples, and what a step took of the machine, worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.metrics import METRICS
from ibench_lib.paths import Workspace
from ibench_lib.schema import TABLES
from ibench_lib.show.costs.sentences import cost_statements
from ibench_lib.store import reader
from ibench_lib.store.writer import RunWriter
from tests.show.parsed import Parsed
from tests.synthetic import Run, answer, manifest_of, write_runs

pytestmark = pytest.mark.lake

MEAN = ["rps", "wps", "rmbps", "wmbps", "csps", "cpups"]
PER_OPERATION = ["rpq", "rkbpq", "wpi", "wkbpi", "cspq", "cpupq", "scpupq"]
SIZE = ["other_cpu", "rss", "dbgb1", "dbgb2"]
GIB = 2**30
_NOTHING: dict[pa.DataType, Any] = {pa.bool_(): False, pa.string(): ""}
VIEWS = {
    "host_samples": "host_seconds",
    "device_samples": "device_seconds",
    "network_samples": "network_seconds",
    "process_samples": "process_seconds",
    "server_samples": "server_seconds",
}


def _nothing(of: pa.DataType) -> Any:
    return [] if pa.types.is_list(of) else _NOTHING.get(of, 0)


def lake_with(
    workspace: Workspace, logical_cpus: int | None = None, **tables: Iterable[dict[str, Any]]
) -> duckdb.DuckDBPyConnection:
    """A lake of one sealed run with these rows; columns not given are NULL, or 0 where they may not be."""
    run = Run()
    writer = RunWriter(workspace.run_dir(run.run_id))
    for name, rows in tables.items():
        nothing = {c.name: None if c.nullable else _nothing(c.type) for c in TABLES[name].columns}
        nothing.pop("run_id")
        for row in rows:
            writer.append(name, **{**nothing, **row})
    manifest = manifest_of(run)
    manifest.host["logical_cpus"] = logical_cpus
    writer.seal(manifest)
    lake = reader.lake(workspace)
    assert reader.sql(lake, "FROM problems").is_empty()
    return lake


def column(lake: duckdb.DuckDBPyConnection, view: str, name: str) -> list[Any]:
    return reader.sql(lake, f"SELECT {name} FROM {view} ORDER BY t_s")[name.split()[-1]].to_list()


@pytest.mark.parametrize("table", VIEWS)
def test_every_cumulative_column_has_a_rate_and_the_others_are_as_sampled(workspace: Workspace, table: str) -> None:
    declared = {c.name: f"{c.name}_per_s" if c.counts_up else c.name for c in TABLES[table].columns}
    found = reader.sql(reader.lake(workspace), f"FROM {VIEWS[table]}").columns
    assert sorted(found) == sorted([*declared.values(), "seconds"])


def test_a_difference_belongs_to_the_interval_that_ends_at_its_sample(workspace: Workspace) -> None:
    times, switches = [1.0, 2.0, 5.0, 6.0], [1000, 1100, 1700, 1650]
    lake = lake_with(
        workspace,
        host_samples=[
            {"tick": round(t), "t_s": t, "context_switches": n, "runnable": n // 100}
            for t, n in zip(times, switches, strict=True)
        ],
    )
    assert column(lake, "host_seconds", "seconds") == [None, 1.0, 3.0, 1.0]
    # 600 over the three seconds without a sample; a counter that went down has no rate.
    assert column(lake, "host_seconds", "context_switches_per_s") == [None, 100.0, 200.0, None]
    assert column(lake, "host_seconds", "runnable") == [10, 11, 17, 16]
    of_runs = "WITH these AS (FROM runs WHERE {}) FROM host_seconds_of(these) ORDER BY t_s"
    assert reader.sql(lake, of_runs.format("true")).equals(reader.sql(lake, "FROM host_seconds ORDER BY t_s"))
    assert reader.sql(lake, of_runs.format("false")).is_empty()


def test_devices_and_interfaces_are_kept_apart(workspace: Workspace) -> None:
    lake = lake_with(
        workspace,
        device_samples=[
            {"device": name, "tick": t, "t_s": float(t), "reads": t * n, "flushes": None}
            for t in (1, 2, 3)
            for name, n in (("sda", 10), ("sdb", 1000))
        ],
        network_samples=[
            {"interface": name, "tick": t, "t_s": float(t), "sent_bytes": t * n}
            for t in (1, 2)
            for name, n in (("eth0", 7), ("lo", 70))
        ],
    )
    found = reader.sql(lake, "SELECT device, list(reads_per_s ORDER BY tick) AS r FROM device_seconds GROUP BY ALL")
    assert dict(found.rows()) == {"sda": [None, 10.0, 10.0], "sdb": [None, 1000.0, 1000.0]}
    assert column(lake, "device_seconds", "flushes_per_s") == [None] * 6
    found = reader.sql(lake, "SELECT interface, max(sent_bytes_per_s) FROM network_seconds GROUP BY ALL")
    assert dict(found.rows()) == {"eth0": 7.0, "lo": 70.0}


@pytest.mark.measurement("M13")
def test_nothing_is_subtracted_across_a_restart_of_the_server(workspace: Workspace) -> None:
    lake = lake_with(
        workspace,
        process_samples=[
            {"tick": t, "t_s": float(t), "pid": pid, "cpu_user_s": cpu}
            # The new process has used more already than the old one had.
            for t, pid, cpu in ((1, 7, 1.0), (2, 7, 1.5), (3, 8, 9.0), (4, 8, 9.25))
        ],
        server_samples=[
            {"tick": t, "t_s": float(t), "incarnation": incarnation, "questions": n, "history_list_length": 5}
            for t, incarnation, n in (
                (1, 0, 100), (2, 0, 150), (3, None, None), (4, 0, 300), (5, 1, 400), (6, 1, 410),
            )
        ],
    )  # fmt: skip
    assert column(lake, "process_seconds", "cpu_user_s_per_s") == [None, 0.5, None, 0.25]
    assert column(lake, "server_seconds", "questions_per_s") == [None, 50.0, None, None, None, 10.0]
    assert column(lake, "server_seconds", "history_list_length") == [5] * 6


def test_a_counter_that_is_stored_when_it_changes_has_the_rate_of_its_last_second(workspace: Workspace) -> None:
    changes: dict[str, list[tuple[int, int, int | None, float | None]]] = {
        "Questions": [(1, 0, 100, None), (2, 0, 110, None), (5, 0, 170, None), (8, 1, 999, None), (9, 1, 1009, None)],
        "Threads_running": [(1, 0, 4, None), (2, 0, 2, None)],
        "real": [(1, 0, None, 0.5), (2, 0, 1, None)],
    }
    lake = lake_with(
        workspace,
        # Tick 6 had no answer; between 7 and 8 the server was restarted; tick 5 came half a second late.
        server_samples=[
            {"tick": t, "t_s": t + (0.5 if t == 5 else 0.0), "incarnation": i}
            for t, i in zip(range(1, 10), (0, 0, 0, 0, 0, None, 0, 1, 1), strict=True)
        ],
        server_counters=[
            {"source": "status", "name": name, "tick": t, "incarnation": i, "value": value, "real_value": real}
            for name, rows in changes.items()
            for t, i, value, real in rows
        ],
    )

    def rates(name: str) -> list[float | None]:
        return column(lake, f"(FROM counter_seconds WHERE name = '{name}')", "per_s")

    # 60 in tick 5 alone, which is 1.5 s long: in 3 and 4 nothing changed.
    assert rates("Questions") == [None, 10.0, 40.0, None, 10.0]
    assert rates("Threads_running") == [None, None]
    assert rates("real") == [None, 0.5]


def samples(step_s: float, seconds: int) -> dict[str, list[dict[str, Any]]]:
    """Samples at half seconds around a step: before and after it the machine is much busier than in it."""
    host: list[dict[str, Any]] = []
    device: list[dict[str, Any]] = []
    process: list[dict[str, Any]] = []
    switches = reads = 0
    busy = idle = 0.0
    for tick in range(-2, seconds + 3):
        t_s = step_s + tick + 0.5
        inside = 0 < tick < seconds  # whether the interval that ends here has both ends in the step
        at = {"tick": round(t_s - 0.5), "t_s": t_s}
        switches += 500 if inside else 90_000
        reads += 20 if inside else 7_000
        busy += 0.5 if inside else 2.0
        idle += 1.5 if inside else 0.0
        host.append(
            {**at, "cpu_user_s": busy * 0.75, "cpu_system_s": busy * 0.25, "cpu_idle_s": idle,
             "context_switches": switches}
        )  # fmt: skip
        for name, holds in (("sda", True), ("sda1", True), ("sdb", False)):
            n = reads if name == "sda1" else 100 * reads
            device.append(
                {**at, "device": name, "holds_data": holds, "reads": n, "read_bytes": n * 16384, "writes": 2 * n,
                 "written_bytes": n * 32768, "flushes": None, "flush_s": None}
            )  # fmt: skip
        resident = 3 * GIB if 0 <= tick < seconds else 8 * GIB
        process.append({**at, "pid": 7, "cpu_user_s": busy / 2, "cpu_system_s": 0.0, "resident_bytes": resident})
    return {"host_samples": host, "device_samples": device, "process_samples": process}


def step(step_id: int, name: str, kind: str, start_s: float, seconds: float) -> dict[str, Any]:
    return {
        "step_id": step_id, "step": name, "kind": kind, "status": "complete", "clients": 1, "start_s": start_s,
        "end_s": start_s + seconds, "duration_s": seconds, "existing_rows": 0, "history_list_length": 1,
    }  # fmt: skip


def test_what_a_long_step_took_from_its_first_sample_to_its_last(workspace: Workspace) -> None:
    key = {"step_id": 3, "step": "qr100", "client": 1, "status": "complete", "start_s": 21.0, "end_s": 61.0}
    lake = lake_with(
        workspace,
        steps=[step(3, "qr100", "query", 21.0, 40.0)],
        workers=[
            {**key, "worker": 0, "role": "inserter", "ops": 40, "rows": 2000},
            {**key, "worker": 1, "role": "querier", "ops": 4000, "rows": 40_000},
        ],
        sizes=[
            {"step_id": 3, "step": "qr100", "what": what, "name": name, "bytes": size}
            for what, name, size in (
                ("database", "", 2 * GIB), ("datadir", "", 5 * GIB), ("table_data", "pi1", GIB), ("undo", "", None),
            )
        ],
        **samples(21.0, 40),
    )  # fmt: skip
    row = answer(lake, "step_resources", steps=["qr100"]).row(0, named=True)
    assert row["covered"] == 39 / 40
    assert {name: row[name] for name in MEAN} == pytest.approx(
        {"rps": 20, "wps": 40, "rmbps": 20 * 16 / 1024, "wmbps": 20 * 32 / 1024, "csps": 500, "cpups": 25}
    )
    # 100 queries/s, 50 rows inserted a second; half a CPU busy in all, a quarter of one in the server.
    assert {name: row[name] for name in PER_OPERATION} == pytest.approx(
        {"rpq": 0.2, "rkbpq": 3.2, "wpi": 0.8, "wkbpi": 12.8, "cspq": 5, "cpupq": 5000, "scpupq": 2500}
    )
    assert {name: row[name] for name in SIZE} == {"other_cpu": None, "rss": 3, "dbgb1": 2, "dbgb2": 5}


def test_a_cost_divides_by_the_operations_of_the_seconds_that_the_samples_cover(workspace: Workspace) -> None:
    """The samples leave out half a second at both ends of the step, in which the clients do little, or much."""
    key = {"step_id": 3, "step": "qr100", "client": 1}
    both = {**key, "status": "complete", "start_s": 21.0, "end_s": 61.0}
    queries = {second: 10 if second in (0, 39) else 110 for second in range(40)}
    rows = {second: 100 if second == 39 else 50 for second in range(40)}
    lake = lake_with(
        workspace,
        logical_cpus=2,
        steps=[step(3, "qr100", "query", 21.0, 40.0)],
        workers=[
            {**both, "worker": 0, "role": "inserter", "ops": 40, "rows": sum(rows.values())},
            {**both, "worker": 1, "role": "querier", "ops": sum(queries.values()), "rows": 40_000},
        ],
        ops=[
            *({**key, "worker": 0, "operation": "insert", "second": at, "ops": 1, "rows": n} for at, n in rows.items()),
            *({**key, "worker": 1, "operation": "range_query", "second": at, "ops": n} for at, n in queries.items()),
        ],
        thread_samples=[
            {"tick": at, "t_s": at + 22.5, "seconds": 1.0, "name": "", "threads": 3, "queued_s": 0.5}
            for at in range(39)
        ],
        **samples(21.0, 40),
    )  # fmt: skip
    row = answer(lake, "step_resources", steps=["qr100"]).row(0, named=True)
    # 39 s were sampled, and half of the operations of the first and of the last second are theirs.
    asked, written = 38 * 110 + 10, 38 * 50 + 25 + 50
    assert {name: row[name] for name in PER_OPERATION} == pytest.approx(
        {"rpq": 39 * 20 / asked, "rkbpq": 39 * 20 * 16 / asked, "wpi": 39 * 40 / written,
         "wkbpi": 39 * 40 * 16 / written, "cspq": 39 * 500 / asked, "cpupq": 39 * 0.5e6 / asked,
         "scpupq": 39 * 0.25e6 / asked}
    )  # fmt: skip
    assert {name: row[name] for name in MEAN} == pytest.approx(
        {"rps": 20, "wps": 40, "rmbps": 20 * 16 / 1024, "wmbps": 20 * 32 / 1024, "csps": 500, "cpups": 25}
    ), "means are of the seconds that were sampled"
    why = answer(lake, "explain_steps", steps=["qr100"]).row(0, named=True)
    assert why["cpu_us"] == pytest.approx(row["cpupq"]) and why["server_user_us"] == pytest.approx(row["scpupq"])
    assert why["throughput"] == pytest.approx(1e6 * why["cpus_used"] / why["cpu_us"])
    # Half of the first second and half of the last one were not sampled. Inserts are statements, too.
    assert why["queued_us"] == pytest.approx(1e6 * 39 * 0.5 / (asked + 39))


@pytest.mark.measurement("M13")
def test_a_restart_in_a_step_costs_the_interval_it_lies_in(workspace: Workspace) -> None:
    key = {"step_id": 2, "step": "l.i1", "client": 1, "status": "complete", "start_s": 1.0, "end_s": 41.0}
    used = [(1, 7, 10.0), (2, 7, 10.5), *((t, 8, 0.1 + 0.5 * (t - 3)) for t in range(3, 42))]
    lake = lake_with(
        workspace,
        steps=[step(2, "l.i1", "write", 1.0, 40.0)],
        workers=[{**key, "worker": 0, "role": "inserter", "ops": 10, "rows": 40_000}],
        process_samples=[{"tick": t, "t_s": float(t), "pid": pid, "cpu_user_s": cpu} for t, pid, cpu in used],
    )
    row = answer(lake, "step_resources", steps=["l.i1"]).row(0, named=True)
    assert row["scpupq"] == pytest.approx(0.5e6 / 1000)
    assert {row[name] for name in [*MEAN, *PER_OPERATION[:-1], "dbgb1", "dbgb2"]} == {None}


QR100 = {"step_id": 3, "step": "qr100", "client": 1, "status": "complete", "start_s": 21.0, "end_s": 25.0}
FOUR_SECONDS: dict[str, Any] = {
    "steps": [step(3, "qr100", "query", 21.0, 4.0)],
    "workers": [
        {**QR100, "worker": 0, "role": "inserter", "ops": 4, "rows": 200},
        {**QR100, "worker": 1, "role": "querier", "ops": 400, "rows": 4000},
    ],
}
"""100 queries and 50 inserted rows a second."""


@pytest.mark.long
@pytest.mark.slow
def test_samples_that_leave_out_much_of_a_step_give_no_mean_and_no_cost(workspace: Workspace) -> None:
    lake = lake_with(workspace, **FOUR_SECONDS, **samples(21.0, 4))
    row = answer(lake, "step_resources", steps=["qr100"]).row(0, named=True)
    assert row["covered"] == 3 / 4
    assert {row[name] for name in [*MEAN, *PER_OPERATION]} == {None} and row["rss"] == 3
    (averages,) = answer(lake, "device_averages", steps=["qr100"]).filter(device="sda").to_dicts()
    assert averages["covered"] == 3 / 4 and averages["rps"] is None and averages["read_kb"] is None
    values = answer(lake, "metric_values", steps=["qr100"]).filter(metric="cpupq")
    assert values.select("value", "covered").rows() == [(None, 3 / 4)]
    post = choose(lake, "demo")
    said = cost_statements(post.ask("step_metrics"), post.bases)
    assert (
        said[0] == "Costs taken from samples are left out where these cover less than 95 % of a step: qr100 in cached."
    )
    for table in (ib.step_cpu_table, ib.step_storage_table):
        notes = [cells[0] for cells in Parsed(table(post.ask("step_metrics"))).rows]
        assert any("No means or costs for qr100 where the samples cover less than 95 % of the step" in n for n in notes)
    work = Parsed(ib.step_metrics_table(post.ask("step_metrics")))
    assert not any("samples cover" in cells[0] for cells in work.rows)


def counters(start_s: float, end_s: float, source: str, name: str = "", **grown: float) -> list[dict[str, Any]]:
    """Rows of `step_counters` of qr100 in which counters grew by so much."""
    key = {"step_id": 3, "step": "qr100", "source": source, "name": name, "start_s": start_s, "end_s": end_s}
    return [{**key, "counter": counter, "start_value": 7.0, "end_value": 7.0 + by} for counter, by in grown.items()]


def test_the_counters_at_the_ends_of_a_step_are_its_costs_however_short_it_is(workspace: Workspace) -> None:
    lake = lake_with(
        workspace,
        **FOUR_SECONDS,
        **samples(21.0, 4),
        step_counters=[
            *counters(21.0, 25.0, "host", context_switches=4000, cpu_user_s=3, cpu_system_s=1, cpu_iowait_s=0,
                      cpu_steal_s=0, cpu_idle_s=4, cpu_some_pressed_s=3),
            *counters(21.0, 25.0, "process", cpu_user_s=1.5, cpu_system_s=0.5),
            *counters(21.0, 25.0, "device", "sda1", reads=80, read_bytes=80 * 16384, writes=160,
                      written_bytes=160 * 32768, read_s=0.4, busy_s=1, queue_s=2, write_s=0.8),
            *counters(21.0, 25.0, "device", "sdb", reads=9999),
            *counters(21.0, 25.0, "server", questions=9999),
        ],
    )  # fmt: skip
    row = answer(lake, "step_resources", steps=["qr100"]).row(0, named=True)
    assert {name: row[name] for name in [*MEAN, *PER_OPERATION, "covered"]} == pytest.approx(
        {"rps": 20, "wps": 40, "rmbps": 20 * 16 / 1024, "wmbps": 40 * 32 / 1024, "csps": 1000, "cpups": 50,
         "rpq": 0.2, "rkbpq": 3.2, "wpi": 0.8, "wkbpi": 25.6, "cspq": 10, "cpupq": 10_000, "scpupq": 5000,
         "covered": 1}
    )  # fmt: skip
    averages = {row["device"]: row for row in answer(lake, "device_averages", steps=["qr100"]).to_dicts()}
    assert averages.keys() == {"sda1"}
    assert averages["sda1"]["read_wait_ms"] == pytest.approx(5) and averages["sda1"]["flushes_per_s"] is None
    assert averages["sda1"]["busy_pct"] == pytest.approx(25)


@pytest.mark.parametrize(("logical_cpus", "share"), [(2, 50.0), (4, 25.0), (None, 100 * 4 / 7.7)])
def test_the_use_of_the_cpus_is_their_work_over_exact_time(
    workspace: Workspace, logical_cpus: int | None, share: float
) -> None:
    """The kernel accounts for 7.7 of the 8 s of two CPUs."""
    lake = lake_with(
        workspace,
        logical_cpus,
        **FOUR_SECONDS,
        step_counters=counters(21.0, 25.0, "host", cpu_user_s=3, cpu_system_s=1, cpu_iowait_s=0, cpu_steal_s=0,
                               cpu_idle_s=3.7),
    )  # fmt: skip
    row = answer(lake, "step_metrics", steps=["qr100"]).row(0, named=True)
    assert row["cpups"] == pytest.approx(share)
    if logical_cpus:
        assert row["cpups"] == pytest.approx(100 * row["cpupq"] * row["throughput"] / 1e6 / logical_cpus)


@pytest.mark.long
@pytest.mark.slow
def test_what_neither_server_nor_clients_used_is_told_and_marked(workspace: Workspace) -> None:
    four = {
        **FOUR_SECONDS,
        "workers": [{**row, "cpu_user_s": 0.25, "cpu_system_s": 0.0} for row in FOUR_SECONDS["workers"]],
    }
    host = counters(21.0, 25.0, "host", cpu_user_s=3, cpu_system_s=1, cpu_idle_s=4, context_switches=9)
    shares = {}
    for minute, server_s in enumerate((1.5, 3.25, 3.75)):
        place = Workspace(workspace.root / str(minute))
        of_server = counters(21.0, 25.0, "process", cpu_user_s=server_s, cpu_system_s=0)
        lake = lake_with(place, **four, host_samples=[], step_counters=[*host, *of_server])
        row = answer(lake, "step_resources", steps=["qr100"]).row(0, named=True)
        shares[server_s] = row["other_cpu"]
        post = choose(lake, "demo")
        said = "\n".join(cost_statements(post.ask("step_metrics"), post.bases))
        table = Parsed(ib.step_cpu_table(post.ask("step_metrics").filter(step="qr100")))
        cells = dict(zip(table.of("dbms"), table.of("system.cy10a"), strict=True))
        assert (
            (cells["other_cpu"].endswith(" high"))
            == ("Other processes used over 10 %" in said)
            == (row["other_cpu"] > 10)
        )
    # Of 4 s of CPU the clients used 0.5: the rest is the server's, or another's.
    assert shares == {1.5: pytest.approx(50), 3.25: pytest.approx(6.25), 3.75: 0}


def test_the_peak_of_memory_is_the_kernels_where_it_was_reset(workspace: Workspace) -> None:
    peak = counters(21.0, 25.0, "process", peak_resident_bytes=4 * GIB)
    lake = lake_with(workspace, **FOUR_SECONDS, **samples(21.0, 4), step_counters=peak)
    assert answer(lake, "step_resources", steps=["qr100"])["rss"].to_list() == [pytest.approx(4)]


def test_counters_that_were_read_long_after_a_step_are_not_of_it(workspace: Workspace) -> None:
    late = counters(21.0, 25.5, "process", cpu_user_s=1.5, cpu_system_s=0.5)
    lake = lake_with(workspace, **FOUR_SECONDS, **samples(21.0, 4), step_counters=late)
    row = answer(lake, "step_resources", steps=["qr100"]).row(0, named=True)
    assert row["scpupq"] is None


def test_what_was_not_captured_is_null(workspace: Workspace) -> None:
    write_runs(workspace, Run())
    frame = answer(reader.lake(workspace), "step_resources")
    assert frame["step"].to_list() == ["l.i0", "l.x", "l.i1", "qr100"]
    assert all(frame[name].null_count() == 4 for name in [*MEAN, *PER_OPERATION, *SIZE])


def test_every_resource_is_a_declared_metric() -> None:
    assert {*MEAN, *PER_OPERATION, *SIZE} <= METRICS.keys()
