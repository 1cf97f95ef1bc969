"""History lists that are more than ten times the shortest of their column."""

from __future__ import annotations

import polars as pl

from ibench_lib.metrics import METRICS
from ibench_lib.show.statements.common import asks, over_ten_times


@asks("purge_lag_at_step_end")
def purge_lag_statements(purge_lag_at_step_end: pl.DataFrame) -> list[str]:
    """Steps at whose end the history list of some is over ten times the shortest one, and over 1,000."""
    return over_ten_times(
        purge_lag_at_step_end,
        "history_list_length",
        1000,
        lambda value: format(value, METRICS["hll"].format),
        "the history list at the end",
    )
