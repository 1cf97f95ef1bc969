"""Metrics that only TPC-C has. Their values are those of `sql/macros/tpcc_metrics.sql`."""

from __future__ import annotations

from ibench_lib.metrics import Metric

METRICS = (
    Metric(
        "notpm", "NOTPM", "new orders/min", "higher", ",.0f",
        "60 * new-order transactions / T, those that are rolled back as intended included", "rate", of="own",
    ),
    Metric(
        "notpm_committed", "NOTPM committed", "new orders/min", "higher", ",.0f",
        "60 * new-order transactions that were committed / T", "rate", of="own",
    ),
)  # fmt: skip
