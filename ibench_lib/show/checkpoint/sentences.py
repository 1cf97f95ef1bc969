"""Whose redo log was full, and what that cost."""

from __future__ import annotations

from statistics import median

import polars as pl

from ibench_lib.analysis.frames import by_position, rate_label, rows_of
from ibench_lib.base.wording import shortened
from ibench_lib.show.kit.statements import asks, caveats, columns_of, complete, results


@asks("checkpoint_limit")
def checkpoint_statements(checkpoint_limit: pl.DataFrame) -> list[str]:
    """For each step: with whom the redo log was full, in which second first and how long, and the rate meanwhile.

    The figures are medians over the complete runs, as in the table. Who flushed for a checkpoint is said apart: that
    begins before the log is full.
    """
    sentences = []
    for setup, step, rows in columns_of(results(complete(checkpoint_limit))):
        full, never, unknown, flushed = [], [], [], []
        for name in by_position(rows):
            runs = rows.filter((pl.col("dbms") == name) & pl.col("highest_age_share").is_not_null())
            if len(runs) and runs["flushed_seconds"].sum():
                share = 100 * median(runs["flushed_seconds"] / runs["sampled_seconds"])
                flushed.append(f"{name} ({share:.0f} %{_in_which(runs)})")
            if runs.is_empty():
                unknown.append(name)
            elif runs["full_log_seconds"].sum():
                marks = caveats(rows_of(rows, name, step))
                full.append(f"{name} ({', '.join([_filled(runs, rate_label(rows, step)), *marks])})")
            else:
                never.append((median(runs["highest_age_share"]), name, _in_which(runs)))
        where = f"{setup}, {step}"
        if full:
            sentences.append(f"{where}: the checkpoint age was at its limit{_limit(rows)} with {shortened(full)}.")
        if never:
            share, name, in_which = max(never)
            others = "no other" if full else "no"
            sentences.append(
                f"{where}: {others} checkpoint age reached its limit (highest: {100 * share:.0f} %{in_which}, {name})."
            )
        if flushed:
            sentences.append(
                f"{where}: most of the pages written were flushed for a checkpoint, a part of the time, with "
                f"{shortened(flushed)}. That begins below the limit."
            )
        if unknown:
            sentences.append(f"{where}: the checkpoint age was not captured with {shortened(unknown)}.")
    return sentences


def _filled(runs: pl.DataFrame, label: str) -> str:
    """In which second first, for how long, and at which rate the redo log of the runs of one dbms was full."""
    full = runs.filter(pl.col("full_log_seconds") > 0)
    share = 100 * median(runs["full_log_seconds"] / runs["sampled_seconds"])
    facts = [f"in {len(full)} of {len(runs)} runs"] if len(runs) > 1 else []
    facts.append(f"{share:.0f} % of the time{_in_which(runs)}, first in second {median(full['full_from_s']):,.0f}")
    rated = full.drop_nulls(["rate_full", "rate_else"]).filter(pl.col("rate_else") > 0)
    if len(rated):
        ratios = (rated["rate_full"] / rated["rate_else"]).to_list()
        full_rate, rate = (f"{median(runs[column].drop_nulls()):,.0f}" for column in ("rate_full", "rate_else"))
        text = f"{full_rate} {label} at the limit, {rate} otherwise: {median(ratios):.2f}x"
        facts.append(f"{text} ({min(ratios):.2f} to {max(ratios):.2f})" if len(ratios) > 1 else text)
    return ", ".join(facts)


def _limit(rows: pl.DataFrame) -> str:
    """The limit as a share of the redo log, where it is one for all results."""
    shares = {f"{100 * share:.0f} %" for share in rows["limit_share"].drop_nulls()}
    return f" ({shares.pop()} of the redo log)" if len(shares) == 1 else ""


def _in_which(runs: pl.DataFrame) -> str:
    return " in the median run" if len(runs) > 1 else ""
