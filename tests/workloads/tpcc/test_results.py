"""The reading half, on runs whose rates can be worked out in the head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import KindRecord, OperationRecord
from ibench_lib.store.writer import RunWriter
from ibench_lib.workloads.tpcc import profiles
from ibench_lib.workloads.tpcc.checks import CONDITIONS
from ibench_lib.workloads.tpcc.inputs import TYPES
from ibench_lib.workloads.tpcc.workload import WORKLOAD
from tests.show.parsed import Parsed
from tests.synthetic import BIN_2_S, BIN_500_US, Run, answer, manifest_of, write_checks
from tests.workloads.tpcc.warehouse import options, setup

KIND = "run"
PER_SECOND = {"payment": 10, "order_status": 1, "delivery": 1, "stock_level": 1}


def write(
    workspace: Workspace,
    run: Run,
    new_orders: list[int],
    *,
    repeats: dict[str, int] | None = None,
    more: dict[str, Any] | None = None,
    step_id: int = 0,
    sizes: list[tuple[int, str, int]] | None = None,
    loaded: Sequence[str] = (),
    checked: Sequence[str] = (*CONDITIONS, "ledger"),
    broken: str = "",
    intended: int | None = None,
    target: float | None = None,
) -> None:
    """A run of TPC-C with one step: new orders second by second, of which one a second is rolled back as intended.

    The other types have their share of 23 for ten new orders. Every response takes 500 us, and one new order a second
    takes 2 s. `repeats` are those of the first second's new orders, `more` what its workload has in the manifest
    besides, `sizes` the bytes of its database after each step, `loaded` and `checked` the rules that were checked after
    the load and after the run, of which a defect has `broken` one. `intended` is the bin of intended times, if
    paced, and `target` how many transactions a second are due.
    """
    writer, seconds = RunWriter(workspace.run_dir(run.run_id)), len(new_orders)
    key = {"step_id": step_id, "step": KIND}
    write_checks(writer, 0, "load", loaded)
    write_checks(writer, step_id, KIND, checked, broken, "profile tpcc_mysql")
    for number, step, size in sizes or []:
        writer.append("sizes", step_id=number, step=step, what="database", name="", bytes=size)
    total = 0
    for second, orders in enumerate(new_orders):
        for operation in TYPES:
            done = orders if operation == "new_order" else PER_SECOND[operation] * orders // 10
            total += done
            rows = done - 1 if operation == "new_order" and done else done
            slow = 1 if operation == "new_order" and done else 0
            bins = {BIN_500_US: done - slow, BIN_2_S: slow}
            errors = {"deadlocks": 0, "lock_timeouts": 0, "changed": 0}
            if operation == "new_order" and second == 0:
                errors |= repeats or {}
            writer.append(
                "ops", **key, client=1, worker=0, operation=operation, second=second, ops=done, rows=rows, errors=0,
                retries=sum(errors.values()), **errors, unknown=0, service_sum_us=0.0,
                service_max_us=2.1e6 if slow else 500.0,
                service_bins=[bin_ for bin_, n in bins.items() if n], service_counts=[n for n in bins.values() if n],
                intended_max_us=intended and 2.1e6, intended_bins=intended and [intended],
                intended_counts=intended and [done],
            )  # fmt: skip
    times: dict[str, Any] = {"start_s": 1.0, "end_s": 1.0 + seconds}
    writer.append(
        "workers", **key, client=1, worker=0, role="terminal", **times, status="complete", ops=total, rows=total,
        errors=0, retries=sum((repeats or {}).values()), unknown=0,
    )  # fmt: skip
    writer.append(
        "steps", **key, kind=KIND, status="complete", clients=1, insert_rows_per_commit=None, target_rows_per_s=target,
        existing_rows=None, **times, duration_s=float(seconds), history_list_length=None, client_bound=None,
    )  # fmt: skip
    described = {
        "benchmark": "tpcc",
        "operations": [OperationRecord(name=n, family="transaction", counts="ops", label="tx/s") for n in TYPES],
        "kinds": [KindRecord(name=KIND, main="transaction")],
        "workload": {
            "clients": 1, "profile": "standard", "setup": {"sets": 1, "terminals": 8}, "warehouses_used": 2,
            "isolation": "repeatable_read", "foreign_keys": "none", "checks": "auto", "count_rows": True,
            "resolved_steps": [{"name": KIND, "kind": KIND, "seconds": float(seconds)}],
            **(more or {}),
        },
    }  # fmt: skip
    writer.seal(manifest_of(run).model_copy(update=described))


def square(high: int, low: int, period: int, low_for: int, seconds: int, first: int = 0) -> list[int]:
    """A rate that is low for `low_for` of every `period` seconds."""
    return [low if (second + first) % period >= period - low_for else high for second in range(seconds)]


def test_a_square_wave_has_its_exact_number_depth_and_period(workspace: Workspace) -> None:
    """Five waves of 4 s every 12 s, to 30 %; the sixth is cut off by the end of the step and does not count."""
    write(workspace, Run("waves"), [*square(100, 30, 12, 4, 60), *[100] * 8, *[30] * 4])
    (found,) = answer(reader.lake(workspace), "tpcc_stability").to_dicts()
    assert (found["window_s"], found["windows"], found["waves"]) == (1, 72, 5)
    assert found["wave_depth"] == pytest.approx(0.7) and found["wave_period_s"] == 12
    assert found["wave_share"] == pytest.approx(20 / 72)
    assert found["floor"] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("rates", "waves"),
    [
        ([100] * 60, 0),
        ([100] * 20 + [81] * 20 + [100] * 20, 0),  # not below 0.8
        ([100] * 30 + [70] * 3 + [85] * 3 + [70] * 3 + [100] * 30, 1),  # 0.85 is no recovery
        ([100] * 30 + [70] * 3 + [95] * 3 + [70] * 3 + [100] * 30, 2),
        ([50] * 10 + [100] * 50, 0),  # begins low
    ],
)
def test_a_wave_begins_and_ends_at_its_thresholds(workspace: Workspace, rates: list[int], waves: int) -> None:
    write(workspace, Run(), rates)
    assert answer(reader.lake(workspace), "tpcc_stability")["waves"].to_list() == [waves]


def test_windows_grow_with_the_step_up_to_ten_seconds(workspace: Workspace) -> None:
    write(workspace, Run("short"), [100] * 30)
    write(workspace, Run("long", minute=1), square(100, 30, 200, 40, 1000))
    found = answer(reader.lake(workspace), "tpcc_stability").sort("windows")
    assert found.select("window_s", "windows", "waves").rows() == [(1, 30, 0), (10, 100, 4)]


def test_rates_shares_and_repeats(workspace: Workspace) -> None:
    write(workspace, Run(), [100] * 20, repeats={"deadlocks": 3, "changed": 1})
    lake = reader.lake(workspace)
    (summary,) = answer(lake, "tpcc_summary").to_dicts()
    assert (summary["tps"], summary["notpm"], summary["notpm_committed"]) == (230.0, 6000.0, 5940.0)
    assert summary["repeats_per_1000"] == pytest.approx(1000 * 4 / 4600)
    types = answer(lake, "tpcc_types")
    assert types["operation"].to_list() == list(TYPES)
    assert types["share"].to_list() == pytest.approx([100 * n / 23 for n in (10, 10, 1, 1, 1)])
    first = types.row(0, named=True)
    assert (first["deadlocks"], first["lock_timeouts"], first["changed"]) == (3, 0, 1)
    assert first["intended_rollbacks"] == 20 and types["intended_rollbacks"][1:].null_count() == 4
    of_step = answer(lake, "metric_values").filter(pl.col("operation").is_null())
    values = dict(of_step.select("metric", "value").rows())
    assert (values["notpm"], values["waves"], values["tps_trend"]) == (6000.0, 0.0, 1.0)
    series = answer(lake, "notpm_series")
    assert series["t_s"].to_list() == list(range(20)) and set(series["notpm"]) == {6000.0}


def with_sizes(workspace: Workspace, run: Run, gained: int, new_orders: int, sets: int = 1) -> Run:
    """A run of two steps, between whose ends the files of the database gained that many bytes."""
    sizes = [(0, "ramp_up", 500 << 20), (1, KIND, (500 << 20) + gained)]
    write(workspace, run, [new_orders // 10] * 10, step_id=1, sizes=sizes, more={"setup": {"sets": sets}})
    return run


@pytest.mark.long
def test_growth_is_that_of_the_files_for_each_committed_new_order(workspace: Workspace) -> None:
    with_sizes(workspace, Run("a"), 24 << 20, 12_000)
    with_sizes(workspace, Run("few", minute=1), 24 << 20, 9_000)
    with_sizes(workspace, Run("sets", minute=2), 24 << 20, 12_000, sets=2)
    write(workspace, Run("unknown", minute=3), [1_200] * 10)
    lake = reader.lake(workspace)
    frame = answer(lake, "tpcc_summary")
    committed = 12_000 - 10  # one new order a second is rolled back as intended
    grown = dict(frame.select("dbms", "bytes_per_new_order").rows())
    assert grown == {
        "system.a": pytest.approx((24 << 20) / committed), "system.few": None, "system.sets": None,
        "system.unknown": None,
    }  # fmt: skip
    values = answer(lake, "metric_values").filter(metric="bytes_per_new_order")
    assert values["value"].to_list() == [grown["system.a"]]
    table = Parsed(ib.notpm_table(frame, base="system.a"))
    rows = {row[0]: row for row in table.rows}
    assert rows["system.a (base)"][-1] == "2,099" and rows["system.few"][-1] == "-"


def test_buckets_of_a_fifth_of_a_second(workspace: Workspace) -> None:
    write(workspace, Run(), [100] * 10)
    found = answer(reader.lake(workspace), "tpcc_response_buckets").filter(operation="new_order")
    assert found.select("bucket", "up_to_s", "responses", "share").rows() == [(0, 0.2, 990, 99.0), (10, None, 10, 1.0)]
    (cells,) = (row for row in Parsed(ib.response_buckets_table(found)).rows if row[0] == "system.cy10a")
    assert cells[1] == "99.000" and cells[-1] == "1.000" and cells[5] == "0"


def test_a_rate_that_falls_for_good_is_no_wave_and_is_said(workspace: Workspace) -> None:
    write(workspace, Run("steady"), [100] * 60)
    write(workspace, Run("steady", repeat=2, minute=1), [100] * 60)
    for repeat, low in ((1, 40), (2, 50)):
        write(workspace, Run("full", repeat=repeat, minute=1 + repeat), [100] * 20 + [low] * 40)
    for repeat, low in ((1, 40), (2, 95)):
        write(workspace, Run("once", repeat=repeat, minute=4 + repeat), [100] * 20 + [low] * 40)
    waves, fell = ib.wave_statements(answer(reader.lake(workspace), "tpcc_stability"))
    assert waves == "cached, run: the rate of transactions had no wave."
    assert fell == (
        "Attention: cached, run: the rate was lower in the last third than in the first, "
        "with system.full (0.40x to 0.50x)."
    )


def test_time_in_waves_is_the_median_that_the_table_has(workspace: Workspace) -> None:
    for repeat, low_for in ((1, 0), (2, 1), (3, 4)):
        write(workspace, Run("a", repeat=repeat, minute=repeat), square(100, 30, 12, low_for, 66, first=6))
    frame = answer(reader.lake(workspace), "tpcc_stability")
    (rows,) = [row for row in Parsed(ib.waves_table(frame)).rows if row[0] == "system.a"]
    (said,) = ib.wave_statements(frame)
    assert "system.a (waves in 2 of 3 runs, 5 each, " in said and rows[6] == "7.6"
    assert said.endswith(f", {rows[6]} % of the time in the median run).")


def test_what_is_said(workspace: Workspace) -> None:
    write(workspace, Run("a"), [100] * 60)
    write(workspace, Run("b", minute=1), square(60, 20, 12, 4, 66, first=6), repeats={"deadlocks": 2})
    lake = reader.lake(workspace)
    first, *_, verdict = said_of(lake)
    assert first.startswith("cached: 2 warehouses, 8 terminals in 1 process (profile standard, repeatable read")
    assert verdict == (
        "Verdict: all 2 runs passed these checks after the run: all consistency conditions of TPC-C "
        "that were checked (C1 to C12) and the ledger of acknowledged transactions."
    )
    said = ib.notpm_statements(answer(lake, "tpcc_summary"), "system.a")
    assert any(
        "cached: system.a ran 6,000 new orders per minute (NOTPM). Relative to that: 0." in text for text in said
    )
    (waves,) = ib.wave_statements(answer(lake, "tpcc_stability"))
    assert "recovered: system.b (" in waves and "67 % deep, about 12 s apart" in waves and "system.a" not in waves
    repeated = ib.transaction_statements(answer(lake, "tpcc_types"))
    assert any("system.b (2 deadlocks in " in text for text in repeated)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "as fast as possible, without thinking"),
        ({"rate": 1500.0}, "1,500 transactions/s"),
        ({"think_time": 0.1}, "keying and think times 0.1 times those of TPC-C"),
    ],
)
def test_a_page_says_what_paces_the_terminals(workspace: Workspace, more: dict[str, Any], said: str) -> None:
    write(workspace, Run(), [100] * 10, more=more)
    first, *_ = said_of(reader.lake(workspace))
    assert f", {said}); " in first


def said_of(lake: Any, experiment: str = "demo") -> list[str]:
    return ib.tpcc_statements(answer(lake, "tpcc_workload", experiment), answer(lake, "checks", experiment))


@pytest.mark.parametrize(
    ("checked", "said"),
    [
        (["C1", "C2", "C3", "rows"], "checked (C1 to C3) and the number of rows of each table."),
        (["C1", "C5", "C6", "ledger"], "checked (C1 and C5 to C6) and the ledger of acknowledged transactions."),
        ([], "Verdict: the run completed; it is not recorded which checks of the data were made."),
    ],
)
def test_the_verdict_names_the_checks_that_were_made(workspace: Workspace, checked: list[str], said: str) -> None:
    write(workspace, Run(), [100] * 10, checked=checked)
    *_, verdict = said_of(reader.lake(workspace))
    assert said in verdict


@pytest.mark.parametrize(
    ("sets", "said"), [(1, "(C1 to C12, C4 to C12 of 10 drawn warehouses only)"), (2, "(C1 to C12)")]
)
def test_the_verdict_says_what_was_checked_of_drawn_warehouses_only(workspace: Workspace, sets: int, said: str) -> None:
    """As the workload describes itself: 21 warehouses in one set, or 10 in each of two."""
    size = setup(sets=sets, warehouses=21 if sets == 1 else 10)
    described = WORKLOAD.describe(options(), size, WORKLOAD.steps(options(), size, 1.0))
    more = {name: described[name] for name in ("drawn_conditions", "drawn_warehouses")}
    write(workspace, Run(), [100] * 10, more=more)
    *_, verdict = said_of(reader.lake(workspace))
    assert said in verdict


def test_a_run_from_a_snapshot_has_the_checks_of_the_load_in_the_run_that_loaded(workspace: Workspace) -> None:
    write(workspace, Run("a"), [100] * 10, step_id=1, loaded=["C1", "C11"], checked=["C1", "ledger"])
    write(workspace, Run("b", minute=1), [100] * 10, step_id=1, checked=["C1", "ledger"])
    *_, verdict = said_of(reader.lake(workspace))
    passed = "passed these checks after the run, as did the loaded tables before it (C11 after the load only): "
    assert f"{passed}the consistency conditions of TPC-C" in verdict
    lake = reader.lake(workspace)
    of_run = answer(lake, "checks").filter(step="run")
    *_, of_the_run = ib.tpcc_statements(answer(lake, "tpcc_workload"), of_run)
    assert "passed these checks after the run: " in of_the_run, "a page of the step run knows nothing of the load"
    assert verdict.endswith("that were checked (C1 and C11) and the ledger of acknowledged transactions.")
    write(workspace, Run("old", minute=2), [100] * 10, step_id=1, checked=[])
    *_, verdict = said_of(reader.lake(workspace))
    assert verdict == "Verdict: all 3 runs completed; it is not recorded which checks of the data were made."


def test_a_page_says_what_leaves_the_specification_and_what_that_breaks(workspace: Workspace) -> None:
    write(workspace, Run("a"), [100] * 30)
    frame = answer(reader.lake(workspace), "tpcc_workload")
    assert frame["protocol"].to_list() == ["text"]
    assert Parsed(ib.profile_deviations_table(frame)).rows[-1][0] == "profile"
    deviations = profiles.deviations("tpcc_mysql")
    of_peer = {"profile": "tpcc_mysql", "protocol": "prepared", "deviations": deviations}
    write(workspace, Run("b", experiment="peer", minute=1), [100] * 30, more=of_peer, broken="C12")
    lake = reader.lake(workspace)
    frame = answer(lake, "tpcc_workload", "peer")
    said = said_of(lake, "peer")
    assert "(profile tpcc_mysql, prepared statements, " in said[0]
    assert any("cached: C12 did not hold; defects of profile tpcc_mysql break this" in text for text in said)
    assert any(": the consistency conditions of TPC-C that were checked (C1 to C11)" in text for text in said)
    rows = Parsed(ib.profile_deviations_table(frame)).rows
    whats = [row["what"] for row in profiles.deviations("tpcc_mysql")]
    assert [row[0] for row in rows if len(row) == 3][-len(whats) :] == whats


def test_tables_and_charts_show_every_dbms(workspace: Workspace) -> None:
    write(workspace, Run("a"), [100] * 30)
    write(workspace, Run("b", minute=1), [50] * 30)
    lake = reader.lake(workspace)
    rows = {row[0]: row for row in Parsed(ib.notpm_table(answer(lake, "tpcc_summary"), base="system.a")).rows}
    assert rows["system.a (base)"][1] == "6,000" and rows["system.b"][1] == "3,000\n0.50x"
    types = answer(lake, "tpcc_types").filter(dbms="system.b")
    names = [row[0] for row in Parsed(ib.transaction_types_table(types)).rows if len(row) > 1]
    assert names[-5:] == ["new order", "payment", "order status", "delivery", "stock level"]
    waves = {row[0]: row for row in Parsed(ib.waves_table(answer(lake, "tpcc_stability"))).rows}
    assert waves["system.a"][1:6] == ["0.000", "1.00", "0", "none", "none"]
    chart = ib.notpm_chart(answer(lake, "notpm_series"))
    assert [(line.name, set(line.y)) for line in chart.data] == [("system.a", {6000.0}), ("system.b", {3000.0})]
    disk = pl.DataFrame(
        [
            {**TPCC_RUN, "source": "device", "series": series, "t_s": t_s, "low": None, "middle": middle, "high": None}
            for t_s, of_moment in ((0.5, (None, None)), (1.5, (None, 1 << 20)), (2.5, (3 << 20, 1 << 20)))
            for series, middle in zip(("read_bytes_per_s", "written_bytes_per_s"), of_moment, strict=True)
        ],
        infer_schema_length=None,
    )
    (line,) = ib.disk_throughput_chart(disk).data
    assert list(line.y) == [None, None, 4.0], "what is not known is no 0"
    cpu = disk.filter(series="read_bytes_per_s").with_columns(source=pl.lit("host"), series=pl.lit("cpu_per_s"))
    (line,) = ib.server_cpu_chart(cpu.with_columns(middle=pl.lit(1.5))).data
    assert set(line.y) == {1.5}


TPCC_RUN = {
    "setup": "cached", "dbms": "system.a", "dbms_position": 0, "repeat": 1, "run_id": "a", "run_status": "complete",
    "step_id": 0, "step": KIND, "step_status": "complete", "bucket_s": 1,
}  # fmt: skip


def test_seconds_in_which_terminals_only_wait_for_their_last_answers_are_in_no_window(workspace: Workspace) -> None:
    planned = {"resolved_steps": [{"name": KIND, "kind": KIND, "seconds": 60.0}]}
    write(workspace, Run("tail"), [100] * 60 + [1, 1], more=planned)
    found = answer(reader.lake(workspace), "tpcc_stability").row(0, named=True)
    assert (found["windows"], found["floor"], found["trend"]) == (60, 1.0, 1.0)


def test_intended_times_of_paced_terminals_are_shown_and_judged(workspace: Workspace) -> None:
    write(workspace, Run("a"), [100] * 30, intended=BIN_2_S)
    write(workspace, Run("b", minute=1), [100] * 30)
    types = answer(reader.lake(workspace), "tpcc_types")
    of_a = types.filter(dbms="system.a", operation="payment").row(0, named=True)
    assert of_a["p90_s"] == pytest.approx(0.0005, rel=0.01)
    assert of_a["intended_p90_s"] == of_a["intended_p99_s"] == pytest.approx(2.06, rel=0.01)
    assert types.filter(dbms="system.b")["intended_p90_s"].null_count() == 5
    paced = Parsed(ib.transaction_types_table(types.filter(dbms="system.a")))
    (payment,) = (row for row in paced.rows if row[0] == "payment")
    assert payment[3:10] == ["0.5", "0.5", "0.5", "0.5", "0.5", "2,056.2", "2,056.2"]
    (plain,) = (
        row for row in Parsed(ib.transaction_types_table(types.filter(dbms="system.b"))).rows if row[0] == "payment"
    )
    assert len(plain) == len(payment) - 2
    strict = types.with_columns(limit_s=pl.lit(1.0))
    assert any("system.a (new order, payment" in text for text in ib.transaction_statements(strict))
    assert any("and stock level in 1 of 1 run)" in text for text in ib.transaction_statements(strict))
    assert not any("system.b (" in text for text in ib.transaction_statements(strict))


def test_a_type_over_its_limit_is_said_with_how_many_runs_have_it() -> None:
    def said(*p90_s: float) -> list[str]:
        rows = [
            {"setup": "s", "dbms": "a", "dbms_position": 1, "repeat": n, "run_id": f"r{n}", "run_status": "complete",
             "step_id": 1, "step": KIND, "step_status": "complete", "operation": kind, "p90_s": value,
             "intended_p90_s": None, "limit_s": 5, "done": 1, "deadlocks": 0, "lock_timeouts": 0, "changed": 0}
            for n, value in enumerate(p90_s, start=1) for kind in ("new_order", "payment")
        ]  # fmt: skip
        frame = pl.DataFrame(rows, schema_overrides={"intended_p90_s": pl.Float64})
        return [text for text in ib.transaction_statements(frame) if "over the limit" in text]

    assert said(4.0, 4.9, 0.1) == []
    assert said(10.4, 3.4, 0.1)[0].endswith("p90 is over the limit of TPC-C: a (new order and payment in 1 of 3 runs).")
    assert "in 3 of 3 runs" in said(10.4, 6.0, 5.1)[0]


def test_percentiles_of_a_queue_that_was_not_worked_off_are_lower_bounds(workspace: Workspace) -> None:
    write(workspace, Run("a"), [100] * 30, intended=BIN_2_S)
    types = answer(reader.lake(workspace), "tpcc_types")
    assert types["unsent_share"].null_count() == len(types), "without a target nothing is due"

    def table(unsent: float) -> tuple[list[str], str]:
        parsed = Parsed(ib.transaction_types_table(types.with_columns(unsent_share=pl.lit(unsent))))
        (payment,) = [row for row in parsed.rows if row[0] == "payment"]
        return payment[8:10], " ".join(cell for row in parsed.rows for cell in row)

    cells, notes = table(0.331)
    assert cells == ["≥2,056.2", "≥2,056.2"] and "never sent are in no percentile (r1 33.1 % of those due)" in notes
    cells, notes = table(0.0)
    assert cells == ["2,056.2", "2,056.2"] and "never sent" not in notes


def test_what_was_due_and_never_sent_is_counted(workspace: Workspace) -> None:
    """23 transactions a second are sent for ten new orders, of 30 that are due."""
    planned = {"resolved_steps": [{"name": KIND, "kind": KIND, "seconds": 10.0}]}
    write(workspace, Run("a"), [10] * 10, more=planned, intended=BIN_2_S, target=30.0)
    write(workspace, Run("b", minute=1), [10] * 10, more=planned, intended=BIN_2_S, target=23.0)
    found = dict(answer(reader.lake(workspace), "tpcc_types").select("dbms", "unsent_share").unique().iter_rows())
    assert found == {"system.a": pytest.approx(1 - 23 / 30), "system.b": 0.0}
