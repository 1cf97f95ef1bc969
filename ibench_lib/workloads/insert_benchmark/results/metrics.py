"""Metrics that only the Insert Benchmark has: its rates, and the query that purge lag slows down.

The value of get_min_s is that of `sql/macros/insert_benchmark_metrics.sql`.
"""

from __future__ import annotations

from ibench_lib.metrics import Metric

_MINE = "w.benchmark = 'insert_benchmark'"

METRICS = (
    Metric(
        "ips", "inserts/s", "rows/s", "higher", ",.0f", "rows inserted / T; in l.x rows indexed / T", "rate",
        applies=f"{_MINE} AND (w.kind IS DISTINCT FROM 'query' OR w.ips IS NOT NULL)", families=("insert", "index"),
    ),
    Metric(
        "dps", "deletes/s", "rows/s", "higher", ",.0f", "rows deleted / T", "rate",
        applies=f"{_MINE} AND w.dps IS NOT NULL", families=("delete",),
    ),
    Metric(
        "qps", "queries/s", "queries/s", "higher", ",.0f", "queries / T", "rate",
        applies=f"{_MINE} AND w.kind = 'query'", families=("query",),
    ),
    Metric(
        "get_min_s", "get_min", "s", "lower", ".3f",
        "seconds of the first SELECT min(transactionid) of a step, worst client", "lag",
        of="own", publishable=True,
    ),
)  # fmt: skip
