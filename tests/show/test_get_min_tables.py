"""The table of get_min."""

import polars as pl

import ibench_lib as ib
from tests.shared import asked
from tests.show.parsed import Parsed, golden
from tests.synthetic import Run


def test_get_min_prints_as_published_and_marks_over_ten_times_the_best() -> None:
    published = [row for row in golden("published_get_min_seconds.csv") if row["setup"] == "cached"]
    names = list(dict.fromkeys(row["dbms"] for row in published))
    steps = ["l.i1", "q100", "q500", "q1000"]
    frame = pl.DataFrame(
        [
            {
                "setup": "cached", "dbms": row["dbms"], "dbms_position": names.index(row["dbms"]), "repeat": 1,
                "run_status": "complete", "step_id": steps.index(row["step"]), "step": row["step"],
                "step_status": "complete", "get_min_s": float(row["get_min_s"]),
            }
            for row in published
        ]
    )  # fmt: skip
    table = Parsed(ib.get_min_table(frame))
    assert table.of("my8033_rel_lto.cy10a_gcp_c2s30") == ["0.033 ▼", "95.307 ▼", "1.915 ▼", "0.001"]
    assert table.of("my8033_rel_lto.cy10a7_gcp_c2s30") == ["0.033 ▼", "92.804 ▼", "0.002", "0.001"]
    assert table.of("my8033_rel_lto.cy10a10_gcp_c2s30")[1:] == ["0.001", "0.001", "0.001"]
    assert table.of("my5651_rel.cy10a_gcp_c2s30") == ["0.000", "450.500 ▼", "368.100 ▼", "126.500 ▼"]


def test_get_min_of_a_step_that_failed_later_is_still_shown() -> None:
    failed = Run(status="failed", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"), get_min_s=(0.001, 0.001, 0.25, 0))
    frame = asked("get_min", failed)
    assert Parsed(ib.get_min_table(frame)).of("system.cy10a")[2:] == ["0.250 †", "not run"]
