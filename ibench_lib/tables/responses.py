"""Response times: shares per bucket, percentiles, the worst."""

from __future__ import annotations

import polars as pl
from great_tables import GT

from ibench_lib.grid import Cell, Grid
from ibench_lib.tables.naming import grid_name, grid_title

_BUCKETS = {
    "le_256us": "≤256us",
    "le_1ms": "≤1ms",
    "le_4ms": "≤4ms",
    "le_16ms": "≤16ms",
    "le_64ms": "≤64ms",
    "le_256ms": "≤256ms",
    "le_1s": "≤1s",
    "le_4s": "≤4s",
    "le_16s": "≤16s",
    "gt_16s": ">16s",
}


def response_time_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """Share of responses per bucket, percentiles and max of one step and operation (`response_time_histogram`)."""
    step, operation = frame["step"][0], frame["operation"][0]
    used = [name for name in _BUCKETS if frame[name].max() != 0]
    columns = [*(_BUCKETS[name] for name in used), "p50", "p90", "p99", "p99.9", "max"]
    grid = Grid(
        grid_name(f"histogram.{step}.{operation}", frame),
        grid_title(f"Response times of {operation} in {step}", frame),
        "dbms",
        columns,
        spanners=[("% of responses", range(len(used))), ("milliseconds", range(len(used), len(columns)))],
    )
    timings = frame["timing"].n_unique()
    for row in frame.to_dicts():
        label = row["dbms"] + (f" r{row['repeat']}" if frame["repeat"].n_unique() > 1 else "")
        label += f", {row['timing']}" if timings > 1 else ""
        label += "" if row["step_status"] == "complete" else f" ({row['step_status']})"
        cells = [Cell(share(row[name])) for name in used]
        cells += [Cell(format(1e3 * row[f"{name}_s"], ",.3f")) for name in ("p50", "p90", "p99", "p999", "max")]
        grid.rows.append((label, cells))
    grid.notes = ["Buckets without any response are left out."]
    if timings > 1:
        grid.notes += [
            "service: sent to answered. intended: due to answered, so that a stall counts for all it delayed."
        ]
    return grid.draw(palette)


def share(percent: float) -> str:
    """A share in per cent to three decimals; one that is not zero but rounds to it is `nonzero`."""
    text = format(percent, ".3f")
    return "nonzero" if percent > 0 and text == "0.000" else ("" if percent == 0 else text)
