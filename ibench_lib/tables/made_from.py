"""What a post is made from: its runs, what differs in their configurations, what is missing or was left out."""

from __future__ import annotations

import polars as pl
from great_tables import GT

from ibench_lib.cells import (
    run_status_cell,
    setting_text,
)
from ibench_lib.frames import by_position
from ibench_lib.grid import Cell, Grid
from ibench_lib.tables.naming import grid_name


def runs_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """What a post is made from (`selected_runs`): build, server version, status and date of every run."""
    rows = frame.to_dicts()
    grid = Grid("made-from", "Runs", "dbms", ["setup", "run", "server", "status", "started (UTC)", "ibench"], left=True)
    for row in rows:
        grid.rows.append(
            (
                row["dbms"],
                [
                    Cell(row["setup"]),
                    Cell(str(row["repeat"])),
                    Cell(f"{row['server_version'] or 'did not start'} ({row['version_comment'] or row['build']})"),
                    run_status_cell(row),
                    Cell(f"{row['origin_wall']:%Y-%m-%d %H:%M}"),
                    Cell(row["tool_version"]),
                ],
            )
        )
    return grid.draw(palette)


def config_table(frame: pl.DataFrame, base: str, palette: str = "default") -> GT:
    """Options whose value differs from the base's (`config_diff`): one row an option, one column a dbms."""
    names = by_position(frame)
    grid = Grid(
        grid_name("configurations", frame), f"Options that differ from {base}", "option", [base, *names], left=True
    )
    for option in frame["option"].unique(maintain_order=True):
        of_option = {row["dbms"]: row for row in frame.filter(pl.col("option") == option).to_dicts()}
        base_value = next(iter(of_option.values()))["base_value"]
        cells = [Cell(setting_text(base_value))]
        for name in names:
            if name in of_option:
                cells.append(Cell(setting_text(of_option[name]["value"]), "status"))
            else:
                cells.append(Cell("as base"))
        grid.rows.append((option, cells))
    return grid.draw(palette)


def gaps_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """What is missing (`gaps`): steps that did not complete, seconds without data, and which older run has them."""
    grid = Grid("gaps", "What is missing", "dbms", ["setup", "run", "step", "missing", "how many"], left=True)
    for row in frame.to_dicts():
        amount = "" if row["amount"] is None else format(row["amount"], ",")
        texts = (row["setup"], str(row["repeat"]), row["step"] or "", row["problem"], amount)
        grid.rows.append((row["dbms"], [Cell(text) for text in texts]))
    return grid.draw(palette)


def skipped_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """Runs and files that could not be read (`skipped`): their rows are in none of the figures."""
    grid = Grid("skipped", "Left out because it cannot be read", "run", ["dbms", "file", "problem"], left=True)
    for row in frame.to_dicts():
        grid.rows.append((row["run_id"], [Cell(row[name] or "") for name in ("dbms", "file", "problem")]))
    return grid.draw(palette)
