"""Charts of TPC-C, next to its tables."""

from __future__ import annotations

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.paths import Workspace
from ibench_lib.store import reader
from tests.show.parsed import Parsed
from tests.synthetic import Run, answer
from tests.workloads.tpcc.results.runs import KIND, write

pytestmark = pytest.mark.lake


def test_tables_and_charts_show_every_dbms(workspace: Workspace) -> None:
    write(workspace, Run("a"), [100] * 30)
    write(workspace, Run("b", minute=1), [50] * 30)
    lake = reader.lake(workspace)
    rows = {row[0]: row for row in Parsed(ib.notpm_table(answer(lake, "tpcc_summary"), base="system.a")).rows}
    assert rows["system.a (base)"][1] == "6,000 top" and rows["system.b"][1] == "3,000 bottom\n0.50x below"
    plain = Parsed(ib.notpm_table(answer(lake, "tpcc_summary"), base="system.a", ranks=False))
    assert plain.of("system.b")[0] == "3,000\n0.50x"
    types = answer(lake, "tpcc_types").filter(dbms="system.b")
    names = [row[0] for row in Parsed(ib.transaction_types_table(types)).rows if len(row) > 1]
    assert names[-5:] == ["new order", "payment", "order status", "delivery", "stock level"]
    both = Parsed(ib.transaction_types_table(answer(lake, "tpcc_types")))
    heads = [row[0] for row in both.rows if row and row[0].startswith("payment: ")]
    assert heads == ["payment: system.a", "payment: system.b"], "next to each other"
    waves = {row[0]: row for row in Parsed(ib.waves_table(answer(lake, "tpcc_stability"))).rows}
    assert waves["system.a"][1:6] == ["0.000", "1.00", "0", "none", "none"]
    chart = ib.notpm_chart(answer(lake, "notpm_series"))
    assert [(line.name, set(line.y)) for line in chart.data] == [("system.a", {6000.0}), ("system.b", {3000.0})]
    assert chart.layout.title.text.startswith("New orders per minute, every 1 s, run")
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
