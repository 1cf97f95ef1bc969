"""Throughput as rows."""

import pytest

from ibench_lib.analysis.summary import SummaryRow, summary
from ibench_lib.ask.selection import choose
from tests.shared import lake_of
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def rows_of(*runs: Run) -> dict[tuple[str, str], SummaryRow]:
    post = choose(lake_of(*runs), "demo")
    return {(row.step, row.dbms): row for row in summary(post.ask("step_throughput"), post.bases)}


@pytest.mark.slow
def test_a_row_has_median_range_ratio_and_verdict() -> None:
    runs = [
        Run(config, repeat=n, minute=10 * place + n, queries=queries + 100 * n)
        for place, (config, queries) in enumerate([("cy10a", 5000), ("b", 2500), ("c", 5000)])
        for n in (1, 2, 3)
    ]
    found = rows_of(*runs)
    base, slower, same = (found["qr100", f"system.{name}"] for name in ("cy10a", "b", "c"))
    assert (base.verdict, base.base, base.ratio, base.runs) == ("base", "", None, 3)
    assert (base.value, base.lowest, base.highest, base.rate) == (1040.0, 1020.0, 1060.0, "queries/s")
    assert slower.verdict == "slower" and slower.base == "system.cy10a"
    assert slower.ratio == pytest.approx(0.52, abs=0.01)
    assert slower.p is not None and slower.p < 0.001
    assert slower.low is not None and slower.high is not None and slower.low < slower.ratio < slower.high < 0.6
    assert same.verdict in ("same", "unclear") and same.ratio == 1.0


def test_what_cannot_be_compared_says_why() -> None:
    failed = Run("x", minute=1, status="failed", failed_step="l.i1", error="lost", steps=("l.i0", "l.x", "l.i1"))
    found = rows_of(Run(), failed, Run("b", minute=2, queries=2500))
    assert found["qr100", "system.b"].verdict == "one run" and found["qr100", "system.b"].low is None
    assert found["l.i1", "system.x"].verdict == "failed" and found["l.i1", "system.x"].value is None
    assert found["qr100", "system.x"].verdict == "not run"
    two = rows_of(*(Run(name, repeat=n, minute=m + n) for m, name in ((0, "cy10a"), (5, "b")) for n in (1, 2)))
    assert {row.verdict for row in two.values()} <= {"base", "two runs", "same", "unclear"}
