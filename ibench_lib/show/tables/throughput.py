"""Average throughput of each dbms and step, absolute and relative to a base."""

from __future__ import annotations

from statistics import median

import polars as pl
from great_tables import GT

from ibench_lib.metrics import METRICS
from ibench_lib.show.against import against_base
from ibench_lib.show.frames import SHORT_S, by_position, measured, rows_of, short_steps
from ibench_lib.show.grid import Cell
from ibench_lib.show.table_cells import (
    LOADED,
    about_runs,
    interval_notes,
    mark_notes,
    ratio_cell,
    repeat_notes,
    status_cell,
    value_text,
)
from ibench_lib.show.tables.naming import step_grid
from ibench_lib.show.theme import Mark
from ibench_lib.show.verdicts import BETTER, WORSE, Grade, grade_column, ratio
from ibench_lib.show.wording import joined

_GRADE_MARKS: dict[Grade, Mark] = {"top": "good", "bottom": "bad", "sla_failed": "sla_failed"}


def absolute_throughput(frame: pl.DataFrame, palette: str = "default") -> GT:
    """Throughput of each dbms and step (`step_throughput`), each step in its own unit."""
    steps, grid = step_grid(frame, "throughput-absolute", "Average throughput")
    grades: dict[str, dict[str, Grade]] = {}
    short = set(short_steps(frame)["step"])
    for step in steps:
        values = {name: median(found) for name in by_position(frame) if (found := measured(frame, name, step))}
        failures = set(frame.filter((pl.col("step") == step) & pl.col("sla_failed").fill_null(False))["dbms"])
        loaded = len(frame.filter((pl.col("step") == step) & (pl.col("step_status") == LOADED)))
        if step in short:
            grades[step] = dict.fromkeys(failures, "sla_failed")
        else:
            # The one that loaded for the others is not the best of anything.
            grades[step] = {} if loaded and len(values) == 1 else grade_column(values, failures)
    for name in by_position(frame):
        cells = []
        for step in steps:
            rows = rows_of(frame, name, step)
            grade = grades[step].get(name)
            text = value_text(rows, "throughput", METRICS["throughput"].format)
            cells.append(status_cell(rows) or Cell(text, _GRADE_MARKS.get(grade) if grade else None))
        grid.rows.append((name, cells))
    grid.notes = [
        *repeat_notes(frame),
        "▲ within a quarter of the column's range of its best, ▼ within a quarter of its worst (unless the worst "
        "reaches 80 % of the best), ✕ missed a target rate.",
        *_short_notes(steps, short),
        *mark_notes(frame),
    ]
    return grid.draw(palette)


def relative_throughput(frame: pl.DataFrame, base: str, palette: str = "default") -> GT:
    """Throughput relative to the base dbms (`step_throughput`), two decimals; intervals where there are repeats."""
    names = by_position(frame)
    steps, grid = step_grid(frame, "throughput-relative", f"Throughput relative to {base}")
    found_of = against_base(frame, base, ["throughput"])
    ratios = {(step, name): one for (_, step, _, name), one in found_of.items()}
    short = set(short_steps(frame)["step"])
    for name in names:
        cells = []
        for step in steps:
            rows = rows_of(frame, name, step)
            found = ratios.get((step, name)) or ratio(measured(frame, name, step), measured(frame, base, step))
            about, is_base = about_runs(rows, "throughput"), name == base
            cells.append(status_cell(rows) or ratio_cell(found, about, is_base=is_base, marked=step not in short))
        grid.rows.append((f"{name} (base)" if name == base else name, cells))
    grid.notes = [
        *interval_notes(frame, ratios),
        f"▲ above {BETTER}, ▼ below {WORSE} of the base.",
        *_short_notes(steps, short),
        *mark_notes(frame),
    ]
    return grid.draw(palette)


def _short_notes(steps: list[str], short: set[str]) -> list[str]:
    named = joined([step for step in steps if step in short])
    return [f"No ▲ or ▼ where a step took less than {SHORT_S:.0f} s: {named}."] if named else []
