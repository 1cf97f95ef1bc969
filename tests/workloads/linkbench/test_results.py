"""The reading half, on runs whose rates can be worked out in the head."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.analysis.against import against_base
from ibench_lib.ask.selection import choose
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.store.manifest import KindRecord, OperationRecord
from ibench_lib.store.writer import RunWriter
from ibench_lib.workloads.linkbench.inputs import MIX, OPERATIONS
from ibench_lib.workloads.linkbench.steps import kind_of
from tests.show.parsed import Parsed
from tests.synthetic import BIN_500_US, Run, answer, manifest_of, write_checks

STEPS = {"t2": 2, "t4": 4, "control": 2}


OUTCOMES = {
    "add_link": "inserted", "update_link": "shown", "delete_link": "hidden", "count_link": "found", "get_node": "found",
    "add_node": "inserted", "update_node": "updated", "delete_node": "deleted",
}  # fmt: skip
# Statements of all operations, if each of them is done once.
NEEDED = {
    "com_select": 5, "com_insert": 6, "com_update": 3, "com_delete": 1, "com_begin": 3, "com_commit": 3,
    "com_rollback": 0,
}  # fmt: skip


def write(workspace: Workspace, run: Run, rates: dict[str, int], wrong: int = 0, checked: int = 3) -> None:
    """A run with two processes and steps of 2 s: every second each operation is done so often, by half in a process.

    The server has counted `wrong` updates too many in each step. So many kinds of checks were made.
    """
    writer = RunWriter(workspace.run_dir(run.run_id))
    write_checks(writer, 0, next(iter(rates)), ["rows", "ledger", "counts"][:checked])
    for step_id, (step, rate) in enumerate(rates.items()):
        key, times = {"step_id": step_id, "step": step}, {"start_s": 1.0 + 2 * step_id, "end_s": 3.0 + 2 * step_id}
        for client in (1, 2):
            for second in (0, 1):
                for operation in OPERATIONS:
                    writer.append(
                        "ops", **key, client=client, worker=client - 1, operation=operation, second=second,
                        ops=rate // 2, rows=rate, errors=0, retries=0, deadlocks=0, lock_timeouts=0, changed=0,
                        unknown=0, service_sum_us=500.0 * (rate // 2), service_max_us=600.0, service_bins=[BIN_500_US],
                        service_counts=[rate // 2], intended_max_us=None, intended_bins=None, intended_counts=None,
                    )  # fmt: skip
            for connection in range(STEPS[step] // 2):
                for operation in OPERATIONS:
                    writer.append(
                        "outcomes", **key, client=client, worker=client - 1, connection=connection,
                        operation=operation, outcome=OUTCOMES.get(operation, "1"), ops=2 * rate // STEPS[step],
                    )  # fmt: skip
            writer.append(
                "workers", **key, client=client, worker=client - 1, role="requester", **times, status="complete",
                ops=rate * len(OPERATIONS), rows=0, errors=0, retries=0, unknown=0,
            )  # fmt: skip
        for counter, of_each in NEEDED.items():
            counted = 2 * rate * of_each + (5 if counter == "com_select" else wrong if counter == "com_update" else 0)
            writer.append(
                "step_counters", **key, source="server", name="", counter=counter, start_s=times["start_s"] - 0.01,
                start_value=1000.0, end_s=times["end_s"] + 0.01, end_value=1000.0 + counted,
            )  # fmt: skip
        writer.append(
            "steps", **key, kind=kind_of(step), status="complete", clients=2,
            insert_rows_per_commit=None, target_rows_per_s=None, existing_rows=None, **times, duration_s=2.0,
            history_list_length=None, client_bound=None,
        )  # fmt: skip
    described: dict[str, Any] = {
        "benchmark": "linkbench",
        "operations": [OperationRecord(name=n, family="request", counts="ops", label="ops/s") for n in OPERATIONS],
        "kinds": [
            KindRecord(name="requests", main="request"),
            KindRecord(name="control", main="request", compared=False),
        ],
        "workload": {
            "clients": 2, "nodes_used": 1000, "loaded": {"linktable": 4000}, "degree_tail": "scaled", "tables": "2015",
            "statements": "2015", "partitions": 16, "requesters": [2, 4], "rate": None, "checked_ids": 100,
            "count_rows": True, "mix": MIX,
            "resolved_steps": [
                {"name": s, "kind": kind_of(s), "requesters": STEPS[next(iter(rates)) if s == "control" else s]}
                for s in rates
            ],
        },
    }  # fmt: skip
    writer.seal(manifest_of(run).model_copy(update=described))


@pytest.fixture
def lake(workspace: Workspace) -> Any:
    write(workspace, Run("a"), {"t2": 100, "t4": 160, "control": 80})
    write(workspace, Run("b", minute=1), {"t2": 50, "t4": 80, "control": 50})
    return reader.lake(workspace)


def test_statements_are_totals_of_the_runs_that_the_server_counted(workspace: Workspace) -> None:
    for repeat, rate in ((1, 100), (2, 150), (3, 50)):
        write(workspace, Run("a", repeat=repeat, minute=repeat), {"t2": rate}, wrong=repeat)
    frame = answer(reader.lake(workspace), "linkbench_statements")
    table = Parsed(ib.statements_table(frame))
    (updates,) = [row for row in table.rows if row[0] == "UPDATE"]
    assert updates[1:] == ["1,800", "1,806", "6"], "2 * 3 * (100 + 150 + 50); all runs together"
    assert "3 of 3 of system.a." in " ".join(cell for row in table.rows for cell in row)
    unknown = frame.with_columns(
        pl.when(pl.col("repeat") == 2).then(None).otherwise(pl.col(column)).alias(column)
        for column in ("counted", "unexplained")
    )
    table = Parsed(ib.statements_table(unknown))
    (updates,) = [row for row in table.rows if row[0] == "UPDATE"]
    assert updates[1:] == ["900", "904", "4"]
    assert "2 of 3 of system.a (not captured: r2)." in " ".join(cell for row in table.rows for cell in row)


def test_rates_percentiles_and_fairness(lake: Any) -> None:
    summary = answer(lake, "linkbench_summary").filter(dbms="system.a")
    assert summary.select("step", "requesters", "ops_per_s", "least", "most").rows() == [
        ("t2", 2, 1000.0, 1000.0, 1000.0), ("t4", 4, 1600.0, 800.0, 800.0), ("control.t2", 2, 800.0, 800.0, 800.0),
    ]  # fmt: skip
    found = answer(lake, "linkbench_operations").filter(dbms="system.a", step="t2")
    assert found["operation"].to_list() == list(OPERATIONS)
    first = found.row(0, named=True)
    assert (first["done"], first["share"], first["rows_per_op"]) == (200, 10.0, 2.0)
    assert (first["mean_s"], first["max_s"]) == pytest.approx((500e-6, 600e-6))
    assert first["p25_s"] == first["p50_s"] == first["p99_s"] == pytest.approx(500e-6, rel=0.01)
    assert first["p999_s"] is None


def test_repeats_take_the_steps_in_orders_of_their_own_and_control_is_held_against_the_first_of_its_run(
    workspace: Workspace,
) -> None:
    write(workspace, Run("a"), {"t2": 100, "t4": 160, "control": 90})
    write(workspace, Run("a", minute=1, repeat=2), {"t4": 200, "t2": 120, "control": 100})
    summary = answer(reader.lake(workspace), "linkbench_summary")
    assert summary["step"].unique(maintain_order=True).to_list() == ["t2", "t4", "control.t2", "control.t4"]
    assert summary.filter(step="t2").select("repeat", "place").rows() == [(1, 1), (2, 2)]
    rows = {row[0]: row[1:] for row in Parsed(ib.drift_table(summary)).rows}
    assert rows["system.a r1"] == ["t2", "1,000", "900", "0.90x"]
    assert rows["system.a r2"] == ["t4", "2,000", "1,000", "0.50x"]


def test_steps_that_repeat_different_ones_are_no_repeats_of_each_other(workspace: Workspace) -> None:
    """Two runs of a repeat t2 at the end, and one t4: a figure of control is never the median of all three."""
    for config in ("a", "b"):
        for repeat in (1, 2, 3):
            first, second = ("t2", "t4") if repeat < 3 else ("t4", "t2")
            rates = {first: 100, second: 160, "control": 1000 if repeat == 3 else 100 + repeat}
            write(workspace, Run(config, repeat=repeat, minute=10 * repeat + (config == "b")), rates)
    lake = reader.lake(workspace)
    rates = answer(lake, "step_throughput").filter(dbms="system.a", kind="control")
    assert sorted(rates.select("step", "repeat").rows()) == [("control.t2", 1), ("control.t2", 2), ("control.t4", 3)]
    table = Parsed(ib.requesters_table(answer(lake, "linkbench_summary"), "system.a"))
    heads = next(row for row in table.rows if "control.t2" in row)
    (base,) = [row for row in table.rows if row[0].startswith("system.a") and len(row) == len(heads)]
    assert base[heads.index("control.t2")].startswith("1,010") and base[heads.index("control.t4")].startswith("10,000")
    ratios = against_base(answer(lake, "linkbench_summary"), "system.a", ["ops_per_s"])
    assert ratios["cached", "control.t4", "ops_per_s", "system.b"].low is None, "one run of each: no interval"
    checks = answer(lake, "checks")
    assert not checks.select("step", "rule").is_duplicated().any(), "a row for each step and check, whatever the order"


def test_the_first_screen_compares_no_control_step(workspace: Workspace) -> None:
    for minute, (config, rate) in enumerate((("a", 100), ("b", 50), ("a", 101), ("b", 51))):
        write(workspace, Run(config, minute=minute, repeat=1 + minute // 2), {"t2": rate, "control": rate})
    post = choose(reader.lake(workspace), "demo")
    (screen,) = ib.headline(post).items
    assert "t2, ops/s" in screen.markup and "control" not in screen.markup
    rates = post.ask("step_throughput")
    assert set(rates.filter(~pl.col("compared"))["step"]) == {"control.t2"}
    assert ib.headline_statements(rates, post.bases) == ["Too few repeats to tell a difference from noise."]
    more = pl.concat([rates, rates.with_columns(repeat=pl.col("repeat") + 2)])
    said = " ".join(ib.headline_statements(more, post.bases))
    assert "t2" in said and "control" not in said


def test_the_servers_count_is_held_against_the_outcomes(lake: Any, workspace: Workspace) -> None:
    found = answer(lake, "linkbench_statements").filter(dbms="system.a", step="t2")
    assert found.select("statement", "sent", "unexplained").rows() == [
        ("SELECT", 1000, 5), ("INSERT", 1200, 0), ("UPDATE", 600, 0), ("DELETE", 200, 0), ("BEGIN", 600, 0),
        ("COMMIT", 600, 0), ("ROLLBACK", 0, 0),
    ]  # fmt: skip
    (said,) = ib.counted_statements(answer(lake, "linkbench_statements"))
    assert said.startswith("In 6 steps without repeats, the server counted exactly the statements")
    rows = {row[0]: row[1:] for row in Parsed(ib.statements_table(answer(lake, "linkbench_statements"))).rows}
    assert rows["UPDATE"][:3] == ["600", "600", "0"]
    known = pl.col("dbms").eq("system.b") & pl.col("step").eq("t4")
    unread = answer(lake, "linkbench_statements").with_columns(
        pl.when(known).then(None).otherwise(pl.col(column)).alias(column) for column in ("counted", "unexplained")
    )
    exact, others = ib.counted_statements(unread)
    assert exact.startswith("In 5 steps without repeats") and others == (
        "In 1 other step the server's counters were not read both before the first statement and after the last one, "
        "so they prove nothing: system.b r1 in t4 of cached."
    )
    (none,) = ib.counted_statements(unread.with_columns(counted=pl.lit(None, pl.Int64)))
    assert none.startswith("In 6 steps the server's counters were not read")
    write(workspace, Run("c", minute=2), {"t2": 100}, wrong=3)
    said = ib.counted_statements(answer(reader.lake(workspace), "linkbench_statements"))[0]
    assert said.loud and "system.c, t2: the server counted 603 UPDATE, but the outcomes" in said


def test_outcomes_and_the_mix_that_was_wanted(lake: Any) -> None:
    outcomes = answer(lake, "linkbench_outcomes").filter(step="t4")
    rows = {row[0]: row[1:] for row in Parsed(ib.outcomes_table(outcomes)).rows}
    assert rows["update_link: shown"] == ["100.00", "100.00"] and rows["get_links_list: 1"] == ["100.00", "100.00"]
    operations = answer(lake, "linkbench_operations").filter(dbms="system.a", step="t2")
    assert operations["wanted"].to_list() == pytest.approx(list(MIX.values()))


def test_tables_and_chart_show_every_dbms(lake: Any) -> None:
    summary = answer(lake, "linkbench_summary")
    rows = {row[0]: row for row in Parsed(ib.requesters_table(summary, base="system.a")).rows}
    assert rows["system.a (base)"][1] == "1,000" and rows["system.b"][1].endswith("\n0.50x")
    fair = {row[0]: row for row in Parsed(ib.requester_fairness_table(summary.filter(step="t4"))).rows}
    assert fair["system.b"][1:5] == ["4", "400", "400", "400"]
    operations = answer(lake, "linkbench_operations").filter(dbms="system.b", step="t4")
    names = [row[0] for row in Parsed(ib.linkbench_operations_table(operations)).rows if len(row) > 1]
    assert names[-len(OPERATIONS) :] == list(OPERATIONS)
    chart = ib.requesters_chart(summary)
    assert [(line.name, list(line.x), list(line.y)) for line in chart.data] == [
        ("system.a", [2, 4], [1000.0, 1600.0]),
        ("system.b", [2, 4], [500.0, 800.0]),
    ]
    chart = ib.response_by_throughput_chart(summary)
    assert [(line.name, list(line.x), list(line.text)) for line in chart.data][:2] == [
        ("system.a, p99", [1000, 1600], ["2", "4"]),
        ("system.a, median", [1000, 1600], ["2", "4"]),
    ]
    assert list(chart.data[0].y) == pytest.approx([0.5, 0.5], rel=0.01)


def test_what_is_said(lake: Any) -> None:
    size, verdict = ib.linkbench_statements(answer(lake, "linkbench_workload"), answer(lake, "checks"))
    assert "1,000 nodes and 4,000 links after the load" in size and "2 and 4 requesters in up to 2 processes" in size
    assert "(tables and statements of 2015, " in size, "not 2015 tables"
    assert verdict == (
        "Verdict: all 2 runs passed the checks after each step: the tables have as many rows as the acknowledged "
        "operations leave, as many links are visible as these operations leave and the counts of the checked nodes "
        "equal their links."
    )
    (drift,) = ib.drift_statements(answer(lake, "linkbench_summary"))
    assert "t2 was repeated at the end and reached 0.80 of its first rate with system.a" in drift


def test_a_drift_is_said_with_its_range_and_is_loud_if_it_is_large_in_one_run(workspace: Workspace) -> None:
    for repeat, control in ((1, 100), (2, 140), (3, 98)):
        write(workspace, Run("a", repeat=repeat, minute=repeat), {"t2": 100, "control": control})
    (drift,) = ib.drift_statements(answer(reader.lake(workspace), "linkbench_summary"))
    assert drift == (
        "Attention: cached: t2 was repeated at the end and reached 1.00 (0.98 to 1.40 in 3 runs) of its first rate "
        "with system.a."
    )


def test_a_percentile_of_too_few_responses_is_not_said_to_be_not_captured(workspace: Workspace) -> None:
    write(workspace, Run("a"), {"t2": 600})
    write(workspace, Run("a", repeat=2, minute=1), {"t2": 200})
    table = Parsed(ib.linkbench_operations_table(answer(reader.lake(workspace), "linkbench_operations")))
    (row,) = [row for row in table.rows if row[0] == "add_link"]
    assert row[10] == "0.50 (1 of 2 with too few responses)"


@pytest.mark.parametrize(
    ("checked", "proves"),
    [
        (1, "passed the checks after each step: the tables have as many rows as the acknowledged operations leave."),
        (0, "completed; it is not recorded which checks of the data were made."),
    ],
)
def test_the_verdict_names_only_what_was_checked(workspace: Workspace, checked: int, proves: str) -> None:
    write(workspace, Run("a"), {"t2": 100}, checked=checked)
    lake = reader.lake(workspace)
    _, verdict = ib.linkbench_statements(answer(lake, "linkbench_workload"), answer(lake, "checks"))
    assert verdict == f"Verdict: the run {proves}"


def test_a_step_that_is_not_warm_is_named() -> None:
    row = {"setup": "1x", "dbms": "system.a", "repeat": 1, "step_status": "complete", "kind": "requests"}
    tenths = [
        {**row, "step": "t2", "rates": [100.0, *[110.0] * 8, 115.0]},
        {**row, "step": "t4", "rates": [100.0] * 10},
        {**row, "step": "t8", "rates": None},
        {**row, "step": "load", "kind": "load", "rates": [100.0, *[50.0] * 9]},
    ]
    (said,) = ib.warm_statements(pl.DataFrame(tenths, strict=False))
    assert "not warmed up, or not steady" in said
    assert said.endswith("from that of the first by over 10 % (last / first): system.a r1 in t2 of 1x (1.15).")
    assert ib.warm_statements(pl.DataFrame(tenths[1:], strict=False)) == []
