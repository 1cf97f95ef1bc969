"""Tables of LinkBench: its rates by requesters, and its operations with their response times."""

from __future__ import annotations

from typing import Any

import polars as pl

from ibench_lib.analysis.frames import by_position, rows_of, steps_of
from ibench_lib.analysis.ranks import is_ranked
from ibench_lib.ask.bases import Bases
from ibench_lib.base.wording import joined
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.table_cells import (
    RATE_WORDS,
    base_head,
    interval_notes,
    mark_notes,
    rate_cells,
    repeat_notes,
    status_cell,
    value_cells,
)

_TIMES = ("p25", "p50", "p75", "p95", "p99", "p999", "max", "mean")


@answers("linkbench_summary", "No step to show.")
def requesters_table(frame: pl.DataFrame, base: str | Bases, ranks: bool | None = None) -> Grid:
    """Operations a second by requesters, absolute and relative to the base (`linkbench_summary`).

    `ranks`: as for `throughput_table`.
    """
    steps = steps_of(frame)
    title = grid_title("Operations/s by requesters", frame)
    grid = Grid(grid_name("requesters", frame), title, "dbms", steps)
    ranks = is_ranked(frame, ranks)
    cells, ratios = rate_cells(frame, "ops_per_s", ",.0f", base, ranks)
    for name in by_position(frame):
        grid.rows.append((base_head(name, base), [cells[step, name] for step in steps]))
    grid.words = RATE_WORDS
    grid.notes = [
        "A step is named after its number of requesters. The step control repeats the first measured step of its run "
        "after all others: control.t4 repeats t4.",
        *interval_notes(frame, ratios, base, ranks),
        *mark_notes(frame),
    ]
    return grid


@answers("linkbench_operations", "No operation.", by=["step", "setup"])
def linkbench_operations_table(frame: pl.DataFrame) -> Grid:
    """The operations of one step, each with a row for each dbms (`linkbench_operations`).

    Counts, shares, rows and response times.
    """
    step, every = frame["step"][0], by_position(frame)
    heads = [
        "operations",
        "share (%)",
        "mix (%)",
        "rows/op",
        "p25 (ms)",
        "p50",
        "p75",
        "p95",
        "p99",
        "p99.9",
        "max",
        "mean",
        "repeats",
    ]
    of_one = f" of {every[0]}" if len(every) == 1 else ""
    title = grid_title(f"Operations{of_one} in {step}", frame)
    grid = Grid(grid_name(f"operations.{step}", frame), title, "operation", heads)
    shown = frame.with_columns(**{f"{column}_ms": 1e3 * pl.col(f"{column}_s") for column in _TIMES})
    for operation in shown["operation"].unique(maintain_order=True):
        of_type = shown.filter(pl.col("operation") == operation)
        for name in by_position(of_type):
            cells = value_cells(
                rows_of(of_type, name, step), ("done", ",.0f"), ("share", ".2f"), ("wanted", ".2f"),
                ("rows_per_op", ",.2f"), *((f"{column}_ms", ",.2f") for column in _TIMES), ("repeats", ",.0f"),
            )  # fmt: skip
            grid.rows.append((operation if of_one else f"{operation}: {name}", cells))
    grid.notes = [
        "Share: share of the operations sent. Mix: the share that LinkBench specifies.",
        "Response times include all statements and all repeats of an operation. A percentile needs enough responses: "
        "p99 needs 100.",
        "Rows of a write: 1 if it showed or hid a link or changed a node, else 0.",
        *repeat_notes(frame),
        *mark_notes(frame),
    ]
    return grid


@answers("linkbench_summary", "No step to show.", by=["step", "setup"])
def requester_fairness_table(frame: pl.DataFrame) -> Grid:
    """Operations of the requesters that did least and most, and the median, in one step (`linkbench_summary`)."""
    step = frame["step"][0]
    heads = ["requesters", "least", "median", "most", "repeats per 1000"]
    grid = Grid(
        grid_name(f"fairness.{step}", frame), grid_title(f"Operations of a requester in {step}", frame), "dbms", heads
    )
    for name in by_position(frame):
        rows = rows_of(frame, name, step)
        cells = value_cells(
            rows, ("requesters", ",.0f"), ("least", ",.0f"), ("median_ops", ",.0f"), ("most", ",.0f"),
            ("repeats_per_1000", ",.2f"),
        )  # fmt: skip
        grid.rows.append((name, cells))
    grid.notes = [
        *(
            []
            if frame["by_requester"].all()
            else [
                "Without a median: averages over the requesters of the process in which they are lowest and highest; "
                "these runs do not distinguish the requesters of one process."
            ]
        ),
        "An operation is repeated with the same input after a deadlock (1213), a lock wait timeout (1205), or a row "
        "that has changed since its read view (1020).",
        *repeat_notes(frame),
        *mark_notes(frame),
    ]
    return grid


@answers("linkbench_summary", "No run has a step control.")
def drift_table(frame: pl.DataFrame) -> Grid:
    """The first measured step of each run, and the step control, which repeats it at the end (`linkbench_summary`)."""
    heads = ["repeated step", "first (operations/s)", "control (operations/s)", "control/first"]
    grid = Grid(grid_name("drift", frame), grid_title("Drift during a run", frame), "run", heads)
    for name in by_position(frame):
        for control in frame.filter(kind="control", dbms=name).sort("repeat").to_dicts():
            step = f"t{control['requesters']}"
            first = [row for row in rows_of(frame, name, step) if row["run_id"] == control["run_id"]]
            rates = [row["ops_per_s"] for row in (*first, control) if row["step_status"] == "complete"]
            texts = [step, *(f"{rate:,.0f}" for rate in rates), f"{rates[1] / rates[0]:.2f}x" if rates[0] else "-"]
            if len(rates) == 2:
                grid.rows.append((f"{name} r{control['repeat']}", [Cell(text) for text in texts]))
    grid.notes = [
        "Both steps have the same requesters. Between them the graph has grown, and the buffer pool has become warmer.",
        "The first repeat takes the steps in the order of the experiment file; each other repeat has a random order. "
        "That spreads drift over the steps, though not evenly over a few repeats.",
    ]
    return grid


@answers("linkbench_statements", "These runs have no outcomes.", by=["step", "setup"])
def statements_table(frame: pl.DataFrame) -> Grid:
    """Statements by the outcomes of operations and by the server's own count, in one step (`linkbench_statements`)."""
    step = frame["step"][0]
    names = by_position(frame)
    title = grid_title(f"Statements in {step}, by outcomes and as the server counts them", frame)
    heads = [head for _ in names for head in ("by outcomes", "counted", "unexplained")]
    spanners = [(name, list(range(3 * place, 3 * place + 3))) for place, name in enumerate(names)]
    grid = Grid(grid_name(f"statements.{step}", frame), title, "statement", heads, spanners=spanners)
    for statement in frame["statement"].unique(maintain_order=True):
        cells = []
        for name in names:
            rows = rows_of(frame.filter(pl.col("statement") == statement), name, step)
            cells += _totals(rows)
        grid.rows.append((statement, cells))
    grid.notes = [
        "By outcomes: what the acknowledged operations took. Counted: the change of the server's Com_* counters.",
        "ibench's own collectors send SELECTs, which the server counts as well.",
        "An attempt that is repeated after a deadlock leaves statements that no outcome explains, and one ROLLBACK.",
        f"Totals of the runs whose counters were read: {joined([_counted_runs(frame, name) for name in names])}.",
        *mark_notes(frame),
    ]
    return grid


def _totals(rows: list[dict[str, Any]]) -> list[Cell]:
    """Sent, counted and the difference, all of the same runs: those of which the server's count is known."""
    if status := status_cell(rows):
        return [status] * 3
    known = [row for row in rows if row["step_status"] == "complete" and row["counted"] is not None]
    if not known:
        return [Cell("-")] * 3
    return [Cell(f"{sum(row[column] for row in known):,.0f}") for column in ("sent", "counted", "unexplained")]


def _counted_runs(frame: pl.DataFrame, name: str) -> str:
    """Such as: 1 of 3 of mariadb-10.1.23.lb13 (not captured: r1 and r2)."""
    done = frame.filter((pl.col("dbms") == name) & (pl.col("step_status") == "complete"))
    runs = done.group_by("repeat").agg(pl.col("counted").is_not_null().all()).sort("repeat")
    missing = [f"r{repeat}" for repeat, known in runs.iter_rows() if not known]
    left_out = f" (not captured: {joined(missing)})" if missing else ""
    return f"{len(runs) - len(missing)} of {len(runs)} of {name}{left_out}"


@answers("linkbench_outcomes", "These runs have no outcomes.", by=["step", "setup"])
def outcomes_table(frame: pl.DataFrame) -> Grid:
    """How the operations of one step ended, in % of each operation (`linkbench_outcomes`)."""
    step, names = frame["step"][0], by_position(frame)
    title = grid_title(f"Outcomes of operations in {step} (%)", frame)
    grid = Grid(grid_name(f"outcomes.{step}", frame), title, "operation: outcome", names)
    for (operation, outcome), of_outcome in frame.group_by("operation", "outcome", maintain_order=True):
        rows_of_each = [rows_of(of_outcome, name, step) for name in names]
        cells = [value_cells(rows, ("share", ",.2f"))[0] if rows else Cell("-") for rows in rows_of_each]
        grid.rows.append((f"{operation}: {outcome}", cells))
    grid.notes = [
        "Links: inserted if new, shown if they were hidden, updated if they were shown. For lists: the number of "
        "links.",
        "The more operations a server has done, the more of the requested links exist.",
        *repeat_notes(frame),
        *mark_notes(frame),
    ]
    return grid
