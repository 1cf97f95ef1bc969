"""Tables of published figures next to what their files give."""

import polars as pl

import ibench_lib as ib
from tests.show.parsed import Parsed


def figures(**changes: object) -> pl.DataFrame:
    """Two published figures of a result: one is what its files give, the other is divided by whole seconds."""
    shared = {
        "setup": "20m", "dbms": "my8033.cy10a", "dbms_position": 1, "repeat": 1, "run_id": "r", "origin": "imported",
        "step_status": "complete", "metric": "qps", "amount": 1_000_000, "duration_s": 61.3, "clients": 1,
        **dict.fromkeys(("lines", "lines_amount", "windows", "first_rate", "host_samples", "scan_rows")),
        "latency_avg_ms": None,
    }  # fmt: skip
    rows = [
        {**shared, "step_id": 0, "step": "qr100", "published": 16_313.2, "recomputed": 16_313.21},
        {**shared, "step_id": 1, "step": "qr500", "published": 15_625.0, "recomputed": 16_313.21},
        {**shared, "step_id": 2, "step": "qr1000", "published": 15_000.0, "recomputed": 16_313.21},
        {**shared, "step_id": 3, "step": "qp100", "published": 900.5, "recomputed": None},
    ]
    return pl.DataFrame([{**row, **changes} for row in rows], infer_schema_length=None)


def test_each_published_figure_stands_next_to_ours_with_the_difference_and_its_reason() -> None:
    table = Parsed(ib.recomputed_table(figures()))
    assert table.of("qr100") == ["16,313.2", "16,313.21", "equal", "-"]
    assert table.of("qr500") == [
        *("15,625", "16,313.2", "-4.22 %", "whole seconds: divided by 64 s, not 61.30 s"),
    ]
    assert table.of("qr1000") == ["15,000", "16,313.2", "-8.05 %", "no known reason"]
    assert table.of("qp100") == ["900.5", "-", "-", "nothing to recompute it from"]


def test_figures_of_different_units_have_no_difference() -> None:
    scans = figures(published=4_501.0, recomputed=0.09, scan_rows=50_000_000, latency_avg_ms=11_108.39, step="scan.t1")
    cells = Parsed(ib.recomputed_table(scans.head(1))).of("scan.t1")
    assert cells[:3] == ["4,501", "0.1", "-"] and cells[3].startswith("another unit: ")


def test_a_row_says_its_figure_and_repeat_where_there_are_several() -> None:
    two = pl.concat([figures(), figures(metric="cpups", repeat=2)])
    table = Parsed(ib.recomputed_table(two))
    assert table.of("qr100, queries/s, r1")[2] == "equal" and table.of("qr100, CPU, r2")[2] == "equal"


def test_a_reason_that_rests_on_other_results_is_named_too() -> None:
    end = figures(published=7_487.3, recomputed=7_954.6, amount=None, windows=[{"last_s": 1000, "rate": 7_487.3}])
    other = figures(dbms="ma1011.cy10a", published=4_910.3, recomputed=4_910.31)
    alone = Parsed(ib.recomputed_table(end)).of("qr100")
    assert alone[3] == "mean of the last 1,000 s"
    mixed = Parsed(ib.recomputed_table(end, pl.concat([other, end], how="vertical_relaxed"))).of("qr100")
    assert mixed[3].startswith("mixed windows: mean of the last 1,000 s")
