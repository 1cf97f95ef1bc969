"""Metrics that only TPC-C has. Their values are those of `sql/macros/tpcc_metrics.sql`."""

from __future__ import annotations

from ibench_lib.metrics import Metric

METRICS = (
    Metric(
        "notpm", "NOTPM", "new orders/min", "higher", ",.0f",
        "60 * new-order transactions / T, those that are rolled back as intended included", "rate", of="own",
        publishable=True,
    ),
    Metric(
        "notpm_committed", "NOTPM committed", "new orders/min", "higher", ",.0f",
        "60 * new-order transactions that were committed / T", "rate", of="own",
        publishable=True,
    ),
    Metric(
        "repeats_per_1000", "repeats", "per 1000 tx", "lower", ",.2f",
        "repeats after deadlocks, lock wait timeouts and changed rows, per 1000 transactions", "evenness", of="own",
    ),
    Metric(
        "bytes_per_new_order", "growth", "bytes/new order", "lower", ",.0f",
        "growth of the database's files / committed new orders, in steps with 10,000 of them for each set", "cost",
        of="own",
    ),
    Metric(
        "tps_cv", "cv", "", "lower", ",.3f",
        "standard deviation / mean of transactions/s over windows of 1 to 10 s", "evenness", of="own",
    ),
    Metric(
        "tps_floor", "floor", "", "higher", ",.2f", "lowest / median window of transactions/s", "evenness", of="own",
    ),
    Metric(
        "tps_trend", "trend", "", "higher", ",.2f",
        "mean transactions/s of the last third of the step / mean of the first", "evenness", of="own",
    ),
    Metric(
        "waves", "waves", "waves", "lower", ",.0f",
        "times that transactions/s fell below 0.8 of their median and rose above 0.9 again", "evenness", of="own",
    ),
    Metric(
        "wave_share", "time in waves", "%", "lower", ",.1f", "share of the step's time in waves", "evenness", of="own",
    ),
)  # fmt: skip
