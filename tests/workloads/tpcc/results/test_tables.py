"""Tables of TPC-C, and the answers that they print."""

from __future__ import annotations

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from ibench_lib.workloads.tpcc import profiles
from ibench_lib.workloads.tpcc.mix import TYPES
from tests.show.parsed import Parsed
from tests.synthetic import BIN_2_S, Run, answer
from tests.workloads.tpcc.results.runs import KIND, said_of, square, write

pytestmark = pytest.mark.lake


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


def test_seconds_in_which_terminals_only_wait_for_their_last_answers_are_in_no_window(workspace: Workspace) -> None:
    planned = {"resolved_steps": [{"name": KIND, "kind": KIND, "seconds": 60.0}]}
    write(workspace, Run("tail"), [100] * 60 + [1, 1], more=planned)
    found = answer(reader.lake(workspace), "tpcc_stability").row(0, named=True)
    assert (found["windows"], found["floor"], found["trend"]) == (60, 1.0, 1.0)


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
