"""Average throughput of each dbms and step, absolute and relative to a base."""

from __future__ import annotations

import polars as pl

from ibench_lib.analysis.frames import SHORT_S, by_position, short_steps, steps_of
from ibench_lib.analysis.ranks import is_ranked
from ibench_lib.ask.bases import Bases
from ibench_lib.base.wording import joined
from ibench_lib.metrics import METRICS, SLA_SHARE
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Grid
from ibench_lib.show.kit.naming import step_grid
from ibench_lib.show.kit.table_cells import RATE_WORDS, base_head, interval_notes, mark_notes, rate_cells

_MISSED = RATE_WORDS["sla_failed"]


@answers("step_throughput", "No step to show.")
def throughput_table(frame: pl.DataFrame, base: str | Bases = "", ranks: bool | None = None) -> Grid:
    """Throughput of each dbms and step (`step_throughput`), each step in its own unit, and relative to the base.

    Without a base only the throughput. With one, steps that nobody took a second for are left out, unless there are no
    others: they are not compared. `ranks`: whether marks are ranks, by default where each result has one run.
    """
    ranks = is_ranked(frame, ranks)
    cells, ratios = rate_cells(frame, "throughput", METRICS["throughput"].format, base, ranks)
    short = set(short_steps(frame)["step"]) if ratios else set()
    left_out = [step for step in steps_of(frame) if step in short]
    if len(left_out) < frame["step"].n_unique():
        # What is left out still counts for the noise, as on the first screen.
        frame = frame.filter(~pl.col("step").is_in(left_out))
        ratios = {(step, name): ratio for (step, name), ratio in ratios.items() if step not in short}
    steps, grid = step_grid(frame, "throughput", "Average throughput")
    for name in by_position(frame):
        grid.rows.append((base_head(name, base), [cells[step, name] for step in steps]))
    grid.words = RATE_WORDS
    missed = f"{_MISSED}: under {SLA_SHARE} of the rate that an operation was to have."
    grid.notes = [
        *interval_notes(frame, ratios, base, ranks),
        *([f"Too short to compare (under {SHORT_S:.0f} s): {joined(left_out)}."] if left_out else []),
        *([missed] if any(cell.mark == "sla_failed" or _MISSED in cell.text for cell in cells.values()) else []),
        *mark_notes(frame),
    ]
    return grid
