"""Tables of response times."""

from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.analysis.comparison import compared
from ibench_lib.analysis.summary import tails
from ibench_lib.ask.bases import bases
from ibench_lib.show.compare.comparison import reservations, side_text
from ibench_lib.show.responses.tables import _BUCKETS, _share
from tests.shared import asked
from tests.show.parsed import Parsed
from tests.synthetic import Run

pytestmark = pytest.mark.lake


@pytest.mark.parametrize(
    ("percent", "text"), [(0.0, ""), (0.0001, "nonzero"), (0.0005001, "0.001"), (99.9999, "100.000"), (5.875, "5.875")]
)
def test_a_share_that_is_not_zero_never_prints_as_zero(percent: float, text: str) -> None:
    assert _share(percent) == text


def test_response_time_table() -> None:
    frame = asked("response_time_histogram", Run())
    queries = frame.filter(pl.col("operation") == "range_query")
    cells = Parsed(ib.response_time_table(queries)).of("system.cy10a")
    assert cells == ["100.000", "0.502", "0.502", "0.502", "0.502", "2.000"]


def test_response_times_of_repeats_share_a_row_and_a_failed_run_has_its_own() -> None:
    shares = dict.fromkeys(_BUCKETS, 0.0)

    def one(repeat: int, responses: int, le_1ms: float, p50_s: float, step_status: str = "complete") -> dict[str, Any]:
        times = {"p50_s": p50_s, "p90_s": 0.002, "p99_s": 0.003, "p999_s": 0.003, "max_s": 0.001 * repeat}
        known = {"setup": "cached", "dbms": "m.a", "step": "s", "operation": "insert", "timing": "service"}
        known |= {"run_status": step_status}
        counted = {**shares, "le_1ms": le_1ms, "le_4ms": 100 - le_1ms, "responses": responses}
        return {**known, **counted, **times, "repeat": repeat, "step_status": step_status}

    runs = [one(1, 300, 100.0, 0.0005), one(2, 100, 20.0, 0.0015), one(3, 90, 50.0, 0.0002, "failed")]
    table = Parsed(ib.response_time_table(pl.DataFrame([*runs, one(4, 200, 50.0, 0.0007)])))
    # (300 x 100 + 100 x 20 + 200 x 50) / 600; the median of 0.5, 1.5 and 0.7 ms.
    assert table.of("m.a") == ["70.000", "30.000", "0.700", "2.000", "3.000", "-", "4.000"]
    assert table.of("m.a r3 (failed)") == ["50.000", "50.000", "0.200", "2.000", "-", "-", "3.000"]


def test_response_times_of_a_run_that_did_not_complete_are_marked() -> None:
    failed = Run(repeat=2, minute=1, status="interrupted", failed_step="qr100")
    frame = asked("response_time_histogram", Run(), failed, Run("b", minute=2))
    for step, heads in (
        ("l.i1", ["system.cy10a †", "system.b"]),
        ("qr100", ["system.cy10a", "system.cy10a r2 (interrupted)", "system.b"]),
    ):
        table = Parsed(ib.response_time_table(frame.filter(pl.col("step") == step, pl.col("operation") == "insert")))
        assert [row[0] for row in table.rows if row[0].startswith("system")] == heads
        assert (["† of a run that did not complete."] in table.rows) == (step == "l.i1")


LATE = (
    Run("a", late=True),
    Run("b", minute=1, late=True, background_rows=600),
    Run("c", minute=2, late=True, background_rows=900),
)
"""Of 1,000 rows that are due; each client may have one statement, of 50 rows, left at the end."""


def test_percentiles_of_a_queue_that_was_not_worked_off_are_lower_bounds() -> None:
    frame = asked("response_time_histogram", *LATE, steps=["qr100"]).filter(operation="insert")
    intended = frame.filter(timing="intended")
    shares = dict(intended.select("dbms", "unsent_share").iter_rows())
    assert shares == {"system.a": 0.0, "system.b": pytest.approx(0.4), "system.c": 0.0}
    assert frame.filter(timing="service")["unsent_share"].is_null().all()
    table = Parsed(ib.response_time_table(intended))
    # 20, 12 and 18 statements: enough for p50 and p90, not for p99 and p99.9.
    assert table.of("system.a")[-5:] == table.of("system.c")[-5:] == ["2,056.192", "2,056.192", "-", "-", "2,100.000"]
    assert table.of("system.b")[-5:] == ["≥2,056.192", "≥2,056.192", "-", "-", "≥2,100.000"]
    notes = " ".join(cell for row in table.rows for cell in row)
    assert "≥ at least: operations that were due and never sent are in no percentile (system.b r1 40.0 % of" in notes
    worked_off = Parsed(ib.response_time_table(intended.filter(pl.col("dbms") != "system.b")))
    assert "≥" not in " ".join(cell for row in worked_off.rows for cell in row)


def test_a_comparison_and_a_summary_call_such_a_percentile_a_lower_bound() -> None:
    values = asked("metric_values", *LATE, steps=["qr100"]).filter(operation="insert", timing="intended")
    found = {name: compared(values, "system.a", f"system.{name}") for name in "bc"}
    (least,), (known,) = ([one for one in of if one.metric.name == "response_p90_ms"] for of in found.values())
    assert least.label == "p90 of insert, intended, at least" and known.label == "p90 of insert, intended"
    assert (side_text(least, least.a_rows)[0], side_text(least, least.b_rows)[0]) == ("2", "≥")
    assert any(note.startswith("≥ at least: ") for note in reservations(values, "system.a", "system.b"))
    frame = asked("response_time_histogram", *LATE, steps=["qr100"])
    paced = frame.with_columns(of_main=pl.col("operation") == "insert")
    rows = tails(paced, asked("step_throughput", *LATE, steps=["qr100"]), bases("system.a"))
    assert {row.dbms: row.at_least for row in rows} == {"system.a": False, "system.b": True, "system.c": False}
