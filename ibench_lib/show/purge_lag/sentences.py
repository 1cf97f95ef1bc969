"""History lists, and numbers of dead rows, that are more than ten times the smallest: never one against the other."""

from __future__ import annotations

import polars as pl

from ibench_lib.metrics import METRICS
from ibench_lib.show.kit.statements import asks, over_ten_times


@asks("purge_lag_at_step_end")
def purge_lag_statements(purge_lag_at_step_end: pl.DataFrame) -> list[str]:
    """Steps at whose end the history list of some is over ten times the shortest one, and over 1,000.

    Servers of one flavour are compared: they do not all count alike.
    """
    frame = purge_lag_at_step_end
    flavours = sorted(frame["flavour"].drop_nulls().unique()) if "flavour" in frame.columns else []
    alone = [frame.filter(pl.col("flavour") == flavour) for flavour in flavours] if len(flavours) > 1 else [frame]
    found = [
        over_ten_times(
            rows,
            "history_list_length",
            1000,
            lambda value: format(value, METRICS["hll"].format),
            "the history list at the end",
        )
        for rows in alone
    ]
    sentences = list(dict.fromkeys(text for texts in found for text in texts))
    if len(flavours) > 1:
        sentences.insert(
            0, "Flavours of servers count the history differently, so each is only compared with its own kind."
        )
    return sentences


@asks("dead_rows_at_step_end")
def dead_rows_statements(dead_rows_at_step_end: pl.DataFrame) -> list[str]:
    """Steps at whose end the dead rows of some are over ten times those of the best, and over 10,000."""
    return over_ten_times(
        dead_rows_at_step_end,
        "dead_rows",
        10_000,
        lambda value: format(value, METRICS["hll"].format),
        "the number of dead rows at the end",
    )
