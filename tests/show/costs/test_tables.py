"""Tables of the metrics of a step."""

import polars as pl
import pytest

import ibench_lib as ib
from tests.shared import asked, lake_of
from tests.show.parsed import Parsed
from tests.synthetic import Run, answer

pytestmark = pytest.mark.lake


@pytest.mark.slow
def test_the_legend_has_every_metric_of_the_tables() -> None:
    frame = asked("step_metrics", Run()).filter(pl.col("step") == "qr100")
    legend = {row[0] for row in Parsed(ib.metrics_legend()).rows if row}
    drawn = [Parsed(table(frame)) for table in (ib.step_metrics_table, ib.step_storage_table, ib.step_cpu_table)]
    lake = lake_of(Run())
    drawn.append(Parsed(ib.device_table(answer(lake, "device_averages", steps=["qr100"]))))
    sizes = Parsed(ib.sizes_table(answer(lake, "sizes_at_step_end", steps=["qr100"])))
    for table in (*drawn, sizes):
        assert {*table.of("dbms")} <= legend
    assert any("from the server's statistics" in row[0] and "where the statistics lag" in row[0] for row in sizes.rows)


def test_step_metrics_show_what_the_step_has() -> None:
    frame = asked("step_metrics", Run()).filter(pl.col("step") == "qr100")
    table = Parsed(ib.step_metrics_table(frame))
    assert table.of("dbms") == ["T (s)", "ips", "dps", "qps", "rate p50", "rate p99", "maxop", "hll"]
    assert table.of("system.cy10a") == ["5.0", "200", "200", "1,000", "1,000", "1,000", "0.002", "5"]
    cpu = Parsed(ib.step_cpu_table(frame))
    assert dict(zip(cpu.of("dbms"), cpu.of("system.cy10a"), strict=True)) == {
        "csps": "-", "cpups": "-", "cspq": "-", "cpupq": "-", "other_cpu": "-", "ccpupq": "600.0", "scpupq": "-",
        "rss": "-", "dbgb1": "-", "dbgb2": "-",
    }  # fmt: skip
    loading = asked("step_metrics", Run("b", minute=1)).filter(pl.col("step") == "l.i0")
    assert not {"dps", "qps"} & {*Parsed(ib.step_metrics_table(loading)).of("dbms")}
