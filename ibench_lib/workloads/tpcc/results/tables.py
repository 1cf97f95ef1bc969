"""Tables of TPC-C: its rates, its types of transactions, and how steady it was."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import median
from typing import Any

import polars as pl

from ibench_lib.analysis.frames import by_position, is_least, measured, rows_of
from ibench_lib.analysis.ranks import is_ranked
from ibench_lib.ask.bases import Bases
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.table_cells import (
    LEAST,
    RATE_WORDS,
    base_head,
    interval_notes,
    least_notes,
    mark_notes,
    rate_cells,
    repeat_notes,
    status_cell,
    value_cells,
)
from ibench_lib.show.kit.theme import Mark
from ibench_lib.workloads.tpcc.results.statements import compared_new_orders

_LAST_BUCKET = 10


@answers("tpcc_summary", "No step to show.", by=["step", "setup"])
def notpm_table(frame: pl.DataFrame, base: str | Bases, ranks: bool | None = None) -> Grid:
    """New orders per minute of each dbms in one step, absolute and relative to the base (`tpcc_summary`).

    `ranks`: as for `throughput_table`.
    """
    step = frame["step"][0]
    columns = ["NOTPM", "NOTPM committed", "transactions/s", "repeats per 1000", "growth (bytes)"]
    grid = Grid(
        grid_name(f"notpm.{step}", frame), grid_title(f"New orders per minute in {step}", frame), "dbms", columns
    )
    compared = compared_new_orders(frame)
    ranks = is_ranked(frame, ranks)
    rates, ratios = rate_cells(frame, compared, ",.0f", base, ranks)
    others = (("notpm", ",.0f"), ("notpm_committed", ",.0f"), ("tps", ",.1f"), ("repeats_per_1000", ",.2f"))
    for name in by_position(frame):
        rows = rows_of(frame, name, step)
        cells = [*value_cells(rows, *others), status_cell(rows) or _growth(rows)]
        cells[0 if compared == "notpm" else 1] = rates[step, name]
        grid.rows.append((base_head(name, base), cells))
    grid.words = RATE_WORDS
    grid.notes = [
        "NOTPM counts new orders that are rolled back as their input intends, about 1 %; NOTPM committed does not. "
        "NOTPM is not tpmC: nothing here was audited.",
        "growth is how much the database's files grew in the step, per committed new order. Files grow by up to 4 MiB "
        "at a time, so no figure is shown for a step with fewer than 10,000 new orders per set of tables.",
        *interval_notes(frame, ratios, base, ranks),
        *mark_notes(frame),
    ]
    return grid


def _growth(rows: list[dict[str, Any]]) -> Cell:
    """The growth of each new order, of the runs that have one."""
    growth = [row["bytes_per_new_order"] for row in rows if row["bytes_per_new_order"] is not None]
    return Cell(format(median(growth), ",.0f") if growth else "-")


@answers("tpcc_types", "No transaction.", by=["step", "setup"])
def transaction_types_table(frame: pl.DataFrame) -> Grid:
    """The types of transactions of one step (`tpcc_types`), each with a row for each dbms.

    Counts, shares, response times and repeats.
    """
    step, names = frame["step"][0], by_position(frame)
    times = ["p50", "p90", "p99", "p999", "max"]
    if paced := not frame["intended_p90_s"].is_null().all():
        times += ["intended_p90", "intended_p99"]
    heads = {"p999": "p99.9 (ms)", "intended_p90": "p90 (ms)", "intended_p99": "p99 (ms)"}
    columns = ["transactions", "share (%)", *(heads.get(of, f"{of} (ms)") for of in times)]
    repeats = ["deadlock", "lock wait", "changed"]
    of_one = f" of {names[0]}" if len(names) == 1 else ""
    title = grid_title(f"Transactions{of_one} in {step}", frame)
    spanners = [("intended", [len(columns) - 2, len(columns) - 1])] if paced else []
    spanners.append(("repeats after", list(range(len(columns), len(columns) + len(repeats)))))
    columns += repeats
    words: dict[Mark, str] = {"bad": "missed"}
    grid = Grid(grid_name(f"types.{step}", frame), title, "type", columns, spanners=spanners, words=words)
    shown = frame.with_columns(**{f"{column}_ms": 1e3 * pl.col(f"{column}_s") for column in times})
    for operation in frame["operation"].unique(maintain_order=True):
        of_type = shown.filter(pl.col("operation") == operation)
        for name in by_position(of_type):
            head = str(operation).replace("_", " ")
            grid.rows.append((head if of_one else f"{head}: {name}", _type_cells(of_type, name, step, times)))
    grid.notes = [
        "Repeats have the same input: after a deadlock (1213), a lock wait timeout (1205), or a row that has changed "
        "since the transaction's read view (1020).",
        "Response times include all repeats of a transaction. A percentile needs enough responses: p99 needs 100.",
        *(["intended: from when a transaction of the paced terminals was due."] if paced else []),
        *least_notes(frame),
        "missed: a share below what the specification demands (payment 43 %, others 4 %), or a p90 above its limit "
        "(5 s, stock level 20 s), in the median run.",
        *repeat_notes(frame),
        *mark_notes(frame),
    ]
    return grid


def _type_cells(of_type: pl.DataFrame, name: str, step: str, times: Sequence[str]) -> list[Cell]:
    """The cells of one type of transactions and one dbms; its share and its p90 are marked where they miss a limit."""
    rows = rows_of(of_type, name, step)
    cells = value_cells(
        rows, ("done", ",.0f"), ("share", ".1f"), *((f"{p}_ms", ",.1f") for p in times),
        *((column, ",.0f") for column in ("deadlocks", "lock_timeouts", "changed")),
    )  # fmt: skip
    shares = measured(of_type, name, step, "share")
    # Whoever had to wait for a terminal that was late counts from when the transaction was due.
    intended = measured(of_type, name, step, "intended_p90_s")
    limits = intended or measured(of_type, name, step, "p90_s")
    least, limit = rows[0]["least_share"], rows[0]["limit_s"]
    if shares and least is not None and median(shares) < least:
        cells[1] = Cell(cells[1].text, "bad")
    if limits and limit is not None and median(limits) > limit:
        place = 2 + times.index("intended_p90" if intended else "p90")
        cells[place] = Cell(cells[place].text, "bad")
    for column in times[-2:] if intended else ():
        place = 2 + times.index(column)
        if is_least(rows, f"{column}_s"):
            cells[place] = Cell(f"{LEAST}{cells[place].text}", cells[place].mark)
    return cells


@answers("tpcc_stability", "No window of transactions was recorded.", by=["step", "setup"])
def waves_table(frame: pl.DataFrame) -> Grid:
    """How steady the transactions of one step were (`tpcc_stability`): variation, floor, waves and trend."""
    step, window_s = frame["step"][0], max(frame["window_s"].to_list())
    columns = ["cv", "floor", "waves", "depth", "period (s)", "time in waves (%)", "trend"]
    grid = Grid(grid_name(f"waves.{step}", frame), grid_title(f"Waves in {step}", frame), "dbms", columns)
    shown = frame.with_columns(wave_percent=100 * pl.col("wave_share"))
    for name in by_position(frame):
        rows = rows_of(shown, name, step)
        cells = value_cells(
            rows, ("cv", ".3f"), ("floor", ".2f"), ("waves", ",.0f"), ("wave_depth", ".2f"),
            ("wave_period_s", ",.0f"), ("wave_percent", ".1f"), ("trend", ".2f"),
        )  # fmt: skip
        # A depth or period that no run has is none, and nothing that was not captured.
        for place, column in ((3, "wave_depth"), (4, "wave_period_s")):
            values = measured(shown, name, step, column)
            if cells[place].mark is None:
                cells[place] = Cell(format(median(values), ".2f" if place == 3 else ",.0f") if values else "none")
        grid.rows.append((name, cells))
    grid.notes = [
        f"Transactions/s in windows of {window_s} s. cv is their standard deviation divided by their mean, floor the "
        "lowest divided by the median, trend the mean of the last third divided by that of the first.",
        "A wave begins with a window below 0.8 of the median and ends with one above 0.9 of it; one at the edge of the "
        "step does not count. depth is 1 - lowest / median, the mean of all waves.",
        *repeat_notes(frame),
        *mark_notes(frame),
    ]
    return grid


@answers("tpcc_response_buckets", "No response time was recorded.", by=["step", "setup", "operation"])
def response_buckets_table(frame: pl.DataFrame) -> Grid:
    """Shares of response times of one type in one step, in buckets of 0.2 s (`tpcc_response_buckets`)."""
    step, operation = frame["step"][0], str(frame["operation"][0]).replace("_", " ")
    heads = [f"{(bucket + 1) / 5:.1f} s" for bucket in range(_LAST_BUCKET)] + ["more"]
    title = grid_title(f"Response times of {operation} in {step}, % of responses", frame)
    grid = Grid(grid_name(f"buckets.{step}.{operation}", frame), title, "dbms", heads)
    for name in by_position(frame):
        rows = frame.filter((pl.col("dbms") == name) & (pl.col("step_status") == "complete"))
        if rows.is_empty():
            grid.rows.append((name, [status_cell(rows_of(frame, name, step)) or Cell("-")] * len(heads)))
            continue
        total = sum(rows["responses"].to_list())
        counts = dict(rows.group_by("bucket").agg(pl.col("responses").sum()).iter_rows())
        grid.rows.append((name, [Cell(_share(counts.get(bucket, 0), total)) for bucket in range(len(heads))]))
    grid.notes = [
        "Service times, in buckets of 0.2 s as tpcc-mysql prints them; a column's head is its upper edge. Responses of "
        "all repeats together.",
        *mark_notes(frame),
    ]
    return grid


@answers("tpcc_workload", "No run to show.", by=[])
def profile_deviations_table(frame: pl.DataFrame) -> Grid:
    """How the runs' profiles (`tpcc_workload`) differ from the specification."""
    grid = Grid("deviations", "How these runs differ from TPC-C", "what", ["in TPC-C", "in these runs"], left=True)
    several = frame["profile"].n_unique() > 1
    for profile, text in frame.select("profile", "deviations").unique(maintain_order=True).iter_rows():
        of_profile = f" (profile {profile})" if several else ""
        for row in json.loads(text):
            grid.rows.append((row["what"], [Cell(row["specification"]), Cell(row["here"] + of_profile)]))
    if not grid.rows:
        grid.rows.append(("profile", [Cell("-"), Cell("standard: as docs/tpcc.md describes")]))
    return grid


def _share(count: int, total: int) -> str:
    percent = 100 * count / total
    return "0" if not count else "<0.001" if percent < 0.001 else f"{percent:.3f}"
