"""What a post is made from: its runs, what differs in their configurations, what is missing or was left out."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.analysis.frames import by_position
from ibench_lib.base.wording import shortened
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name
from ibench_lib.show.kit.table_cells import run_status_cell, setting_text
from ibench_lib.show.kit.wording import comment, without_brackets

MOST_COLUMNS = 4


@answers("selected_runs", "There is no run.", by="experiment")
def runs_table(frame: pl.DataFrame) -> Grid:
    """What a post is made from (`selected_runs`): server version, status and date of every run of an experiment.

    Repeats of a dbms that differ in nothing but their number and time share a row.
    """
    experiment = frame["experiment"][0]
    columns = ["setup", "run", "server", "status", "started (UTC)", "ibench"]
    grid = Grid(f"made-from.{experiment}", f"Runs of {experiment}", "dbms", columns, left=True, words={})
    alike: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in frame.to_dicts():
        is_ours = row["source"] is None or row["status"] != "complete"
        status = run_status_cell(row) if is_ours else Cell(f"{row['origin']}, not measured here", "status")
        alike.setdefault((row["dbms"], row["setup"], _server(row), status, row["tool_version"]), []).append(row)
    for (dbms, setup, server, status, tool_version), rows in alike.items():
        numbers = ", ".join(str(row["repeat"]) for row in rows)
        texts = (setup, numbers, server), (_started(rows), tool_version)
        before, after = ([Cell(text) for text in part] for part in texts)
        grid.rows.append((dbms, [*before, status, *after]))
    grid.notes = ["dbms: a build with a configuration, <build>.<config>; here and in all tables."]
    return grid


def _started(rows: list[dict[str, Any]]) -> str:
    """When the first and the last of some runs began."""
    if rows[0]["source"] is not None:
        return "-"
    first, last = (f"{pick(row['origin_wall'] for row in rows):%Y-%m-%d %H:%M}" for pick in (min, max))
    return first if first == last else f"{first} to {last.removeprefix(first[:11])}"


def _server(row: dict[str, Any]) -> str:
    if row["source"] is not None:
        return "-"
    version = row["server_version"] or ("starting" if row["status"] == "running" else "did not start")
    return f"{version} ({without_brackets(row['version_comment'] or row['build'])})"


@answers(
    "config_diff",
    "No option that is known here differs from the base.",
    by=["setup", "base"],
    once=["dbms", "option", "base_value", "value"],
)
def config_table(frame: pl.DataFrame) -> Grid:
    """Options whose value differs from the base's (`config_diff`, one base): one row an option, one column a dbms.

    Setups in which the same options differ share a table.
    With more than MOST_COLUMNS dbms, each has a row with all its options, so that nobody has to scroll sideways.
    """
    base, names = frame["base"][0], by_position(frame)
    if len(names) > MOST_COLUMNS:
        return _by_dbms(frame, base, names)
    title = f"Options that differ from {base} in {frame['setup'][0]}"
    grid = Grid(grid_name("configurations", frame), title, "option", [base, *names], left=True)
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
    return grid


def _by_dbms(frame: pl.DataFrame, base: str, names: list[str]) -> Grid:
    title = f"Options that differ from {base} in {frame['setup'][0]}"
    grid = Grid(grid_name("configurations", frame), title, "dbms", ["option: base → here"], left=True)
    for name in names:
        changes = [
            f"{row['option']}: {setting_text(row['base_value'])} → {setting_text(row['value'])}"
            for row in frame.filter(pl.col("dbms") == name).to_dicts()
        ]
        grid.rows.append((name, [Cell("\n".join(changes), "status")]))
    return grid


@answers("fragments", "No fragment is known.", by=[])
def fragments_table(frame: pl.DataFrame) -> Grid:
    """What configurations are made of (`fragments`): each file, the results that have it, and its description."""
    title = "Fragments that the configurations are made of"
    grid = Grid("fragments", title, "file", ["in", "description"], left=True)
    results = {name for names in frame["dbms"] for name in names}
    for row in frame.to_dicts():
        names = row["dbms"]
        places = "all" if len(names) == len(results) > 1 else shortened(names, ", ")
        grid.rows.append((row["fragment"], [Cell(places), Cell(comment(row["text"]))]))
    grid.notes = ["A later fragment overrides an earlier one."]
    return grid


@answers("gaps", "Complete: no failed step, no missing second.", by=[])
def gaps_table(frame: pl.DataFrame) -> Grid:
    """What is missing (`gaps`): steps that did not complete, seconds without data, and which older run has them."""
    grid = Grid("gaps", "What is missing", "dbms", ["setup", "run", "step", "missing", "how many"], left=True)
    for row in frame.to_dicts():
        amount = "" if row["amount"] is None else format(row["amount"], ",")
        texts = (row["setup"], str(row["repeat"]), row["step"] or "", row["problem"], amount)
        grid.rows.append((row["dbms"], [Cell(text) for text in texts]))
    return grid


@answers("skipped", "No file is left out.", by=[])
def skipped_table(frame: pl.DataFrame, title: str = "Left out because it cannot be read") -> Grid:
    """Runs and files that could not be read (`skipped`): their rows are in none of the figures."""
    # Two tables of a page may not have the same name.
    name = "skipped" if frame["selected"].all() else "skipped.others"
    grid = Grid(name, title, "run", ["dbms", "file", "problem"], left=True)
    for row in frame.to_dicts():
        grid.rows.append((row["run_id"], [Cell(row[name] or "") for name in ("dbms", "file", "problem")]))
    return grid
