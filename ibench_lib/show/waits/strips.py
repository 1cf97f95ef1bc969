"""The picture on the first screen of a page on waits: what all mutexes and locks cost, relative to the base."""

from __future__ import annotations

import polars as pl

from ibench_lib.analysis.frames import by_position, preparing_steps
from ibench_lib.show.headline import Figure, strips_of
from ibench_lib.show.kit.display import Asker, Html
from ibench_lib.show.kit.statements import complete

_RUN = (
    "setup", "dbms", "dbms_position", "repeat", "run_id", "run_status", "step_id", "step", "step_status", "compared",
    "client_bound", "step_kind", "unit",
)  # fmt: skip


def waits_strips(post: Asker) -> Html:
    """A strip for each step: all mutexes and locks together (`waits`), without files.

    Time where every dbms has it, else the number of waits of those that have it: one is no measure of the other. It is
    per 1,000 of what the rate of the step counts, which its title names. Steps whose throughput is no result are left
    out, and those that only prepare others come last.
    """
    locks = complete(post.ask("waits")).filter(pl.col("kind") != "file")
    of_timed = {name: rows["timed"].any() for name in by_position(locks) for rows in [locks.filter(dbms=name)]}
    timed = bool(of_timed) and all(of_timed.values())
    column, unit = ("ms_per_1000", "ms") if timed else ("waits_per_1000", "waits")
    totals = (
        locks.filter(pl.col("timed") == timed)
        .group_by(*_RUN, maintain_order=True)
        .agg(pl.col(column).sum())
        .with_columns(duration_s=pl.lit(None, pl.Float64))  # of no row is then known that its step was short
    )
    if totals.is_empty():
        return Html()
    # How long untimed waits took is not known, so more of them need not be worse.
    words = Figure.words if timed else ("fewer", "more")
    figure = Figure(column, f"mutexes and locks, {unit} per 1,000", "lower", of="unit", words=words)
    return strips_of(totals, post.bases, post.palette, figure, last=preparing_steps(totals, "step_kind"))
