"""Tables of sysbench: transactions by test and dbms, by threads, and its statements next to the server's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

import polars as pl

from ibench_lib.analysis.against import against_base
from ibench_lib.analysis.frames import by_position, rows_of
from ibench_lib.analysis.ranks import is_ranked
from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.ask.bases import Bases, bases
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.grid import Cell, Grid
from ibench_lib.show.kit.naming import grid_name, grid_title
from ibench_lib.show.kit.table_cells import (
    RATE_WORDS,
    base_head,
    factor_text,
    interval_notes,
    mark_notes,
    rate_cells,
    repeat_notes,
    status_cell,
    value_cells,
)

GROUPS = ("points", "ranges", "ranges with aggregation", "reads and writes", "writes", "before the writes")
"""What tests do (`test_group`), in the order of tables and charts."""

_GROUPED_FROM = 2
"""So many tests with a ratio make a row for their group."""


@answers("sysbench_summary", "No test to show.", by=["threads", "setup"], rates="step_throughput")
def sysbench_table(
    frame: pl.DataFrame, base: str | Bases, ranks: bool | None = None, rates: pl.DataFrame | None = None
) -> Grid:
    """Transactions a second with one number of threads, a row for each test, relative to the base (`sysbench_summary`).

    Below the tests of a group stand the geometric mean, the lowest and the highest of their ratios. `ranks`: as for
    `throughput_table`. `rates`: as for `ratios_of_tests`.
    """
    threads, names = frame["threads"][0], by_position(frame)
    title = grid_title(f"Transactions/s with {_threads(threads)}", frame)
    heads = [base_head(name, base) for name in names]
    grid = Grid(grid_name(f"sysbench.t{threads}", frame), title, "test", heads)
    ranks = is_ranked(frame, ranks)
    cells, ratios = rate_cells(frame, "tps", ",.0f", base, ranks, ratios_of_tests(frame, base, rates))
    has_groups = False
    for group, tests in tests_by_group(frame).items():
        for test, step in tests:
            grid.rows.append((test, [cells[step, name] for name in names]))
        means = _group_cells([step for _, step in tests], names, ratios, base)
        if any(cell.text != "-" for cell in means):
            grid.rows.append((f"all {len(tests)} of {group}", means))
            has_groups = True
    grid.words = RATE_WORDS
    grid.notes = [
        "A transaction is one event of the test: with oltp_point_select it is a single SELECT.",
        *(
            [f"Rows of several tests: the mean, lowest and highest ratio to {bases(base).said}; the mean is geometric."]
            if has_groups
            else []
        ),
        *interval_notes(frame, ratios, base, ranks),
        *mark_notes(frame),
    ]
    return grid


def _group_cells(
    steps: list[str], names: list[str], ratios: Mapping[tuple[str, str], Ratio], base: str | Bases
) -> list[Cell]:
    cells = []
    for name in names:
        values = list(_of_group(steps, name, ratios, base).values())
        if not values:
            cells.append(Cell("-"))
            continue
        ends = f"{factor_text(min(values))} to {factor_text(max(values))}"
        cells.append(Cell(f"{factor_text(_mean(values))}x\n({ends})"))
    return cells


def sysbench_groups_table(frame: pl.DataFrame, base: str | Bases, rates: pl.DataFrame | None = None) -> Grid:
    """Average, median, lowest and highest ratio of each group of tests (`sysbench_summary`).

    One setup and number of threads. A dbms has no figures in a group where one of its tests has no ratio. `rates`: as
    for `ratios_of_tests`.
    """
    ratios = ratios_of_tests(frame, base, rates)
    names = compared_names(frame, base)
    title = grid_title(f"Ratios of transactions/s to {bases(base)} with {_threads(frame['threads'][0])}", frame)
    grid = Grid(grid_name(f"sysbench-groups.t{frame['threads'][0]}", frame), title, "tests", names)
    for group, tests in tests_by_group(frame).items():
        called = {step: test for test, step in tests}
        values_of = [_of_group(list(called), name, ratios, base) for name in names]
        if not any(values_of):
            continue
        for place, what in enumerate(("average", "median", "lowest", "highest")):
            cells = [_group_cell(place, values, called) for values in values_of]
            grid.rows.append((f"{group}, {len(tests)} tests: {what}" if not place else what, cells))
    grid.notes = [
        "Average: the geometric mean, which does not depend on which side is the base.",
        *repeat_notes(frame),
        *mark_notes(frame),
    ]
    return grid


def ratios_of_tests(
    frame: pl.DataFrame, base: str | Bases, rates: pl.DataFrame | None = None
) -> dict[tuple[str, str], Ratio]:
    """Step and dbms -> its ratio to the base, of the tests of one setup (`sysbench_summary`).

    With `rates` (`step_throughput`) it is the ratio that the first screen has: judged together with all steps of the
    setup, also those with other numbers of threads, with the noise of all.
    """
    column, every = ("tps", frame) if rates is None else ("throughput", rates.filter(setup=frame["setup"][0]))
    steps = set(frame["step"])
    return {
        (step, name): one for (_, step, _, name), one in against_base(every, base, [column]).items() if step in steps
    }


def tests_by_group(frame: pl.DataFrame) -> dict[str, list[tuple[str, str]]]:
    """Group -> its tests with their steps, in the order of the run; groups in the order of posts."""
    groups = frame["test_group"].unique(maintain_order=True).to_list()
    groups.sort(key=lambda group: GROUPS.index(group) if group in GROUPS else len(GROUPS))
    return {
        group: frame.filter(pl.col("test_group").eq_missing(pl.lit(group)))
        .select("test", "step")
        .unique(maintain_order=True)
        .rows()
        for group in groups
    }


def compared_names(frame: pl.DataFrame, base: str | Bases) -> list[str]:
    """The dbms that are compared with another one."""
    return [name for name in by_position(frame) if bases(base).of(name) not in ("", name)]


def _of_group(
    steps: Sequence[str], name: str, ratios: Mapping[tuple[str, str], Ratio], base: str | Bases
) -> dict[str, float]:
    """Step -> ratio of all tests of a group; nothing where one is missing, or where there are too few."""
    values = {step: ratios[step, name].value for step in steps if (step, name) in ratios}
    is_base = bases(base).of(name) in ("", name)
    return {} if is_base or len(values) < max(_GROUPED_FROM, len(steps)) or min(values.values()) <= 0 else values


def _group_cell(place: int, values: Mapping[str, float], called: Mapping[str, str]) -> Cell:
    if not values:
        return Cell("-")
    if place < 2:
        return Cell(f"{factor_text(_mean(list(values.values())) if place == 0 else median(values.values()))}x")
    step = (min if place == 2 else max)(values, key=lambda step: values[step])
    return Cell(f"{factor_text(values[step])}x\n{called[step]}")


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


@answers("sysbench_summary", "No test to show.", by=["test", "setup"])
def sysbench_scale_up_table(frame: pl.DataFrame) -> Grid:
    """Transactions a second of one test by threads, over those with the fewest threads (`sysbench_summary`)."""
    test, shown = frame["test"][0], frame.with_columns(percent=100 * pl.col("efficiency"))
    numbers = sorted(shown["threads"].unique().to_list())
    title = grid_title(f"{test}: transactions/s by threads, relative to {_threads(numbers[0])}", shown)
    heads = ["transactions/s", *(head for _ in numbers[1:] for head in ("scale-up", "efficiency (%)"))]
    spanners = [(_threads(numbers[0]), [0])]
    spanners += [(_threads(number), [2 * place - 1, 2 * place]) for place, number in enumerate(numbers) if place]
    grid = Grid(grid_name(f"scale_up.{test}", shown), title, "dbms", heads, spanners=spanners)
    for name in by_position(shown):
        of_dbms = {number: shown.filter(threads=number, dbms=name).to_dicts() for number in numbers}
        cells = value_cells(of_dbms[numbers[0]], ("tps", ",.0f"))
        for number in numbers[1:]:
            cells += value_cells(of_dbms[number], ("scale_up", ".2f"), ("percent", ".0f"))
        grid.rows.append((name, cells))
    grid.notes = [
        "Scale-up: how many times the transactions/s with the fewest threads, in the same run. Efficiency: scale-up "
        "over how many times as many threads there are.",
        "Where sysbench and the server share a host, both take its CPUs: a low efficiency may be the host's.",
        *repeat_notes(shown),
        *mark_notes(shown),
    ]
    return grid


@answers("sysbench_summary", "No test to show.", by=["test", "setup"])
def sysbench_times_table(frame: pl.DataFrame) -> Grid:
    """Response times of the transactions of one test by threads (`sysbench_summary`)."""
    test = frame["test"][0]
    grid = Grid(
        grid_name(f"times.{test}", frame), grid_title(f"Response times of {test}", frame), "dbms, threads",
        ["p50 (ms)", "p95", "p99", "sent again per 1,000", "reconnects"],
    )  # fmt: skip
    shown = frame.with_columns(**{f"{column}_ms": 1e3 * pl.col(f"{column}_s") for column in ("p50", "p95", "p99")})
    steps = shown.sort("threads")["step"].unique(maintain_order=True).to_list()
    for name in by_position(shown):
        for step in steps:
            rows = rows_of(shown, name, step)
            if rows:
                cells = value_cells(
                    rows, ("p50_ms", ",.2f"), ("p95_ms", ",.2f"), ("p99_ms", ",.2f"), ("retries_per_1000", ",.2f"),
                    ("reconnects", ",.0f"),
                )  # fmt: skip
                grid.rows.append((f"{name}, {rows[0]['threads']}", cells))
    due = "became due" if "intended" in frame["timing"].to_list() else "was sent"
    grid.notes = [
        f"From the moment at which a transaction {due}. sysbench counts response times in bins that are 1.8 % wide.",
        "Sent again: after an error that sysbench ignores, such as a deadlock.",
        *repeat_notes(frame),
        *mark_notes(frame),
    ]
    return grid


@answers("sysbench_statements", "No statement was counted.", by=["step", "setup"])
def sysbench_statements_table(frame: pl.DataFrame) -> Grid:
    """Statements by sysbench's count and by the server's, in one step (`sysbench_statements`)."""
    step, names = frame["step"][0], by_position(frame)
    heads = [head for _ in names for head in ("sysbench", "server", "unexplained")]
    spanners = [(name, list(range(3 * place, 3 * place + 3))) for place, name in enumerate(names)]
    title = grid_title(f"Statements in {step}, as sysbench and as the server counts them", frame)
    grid = Grid(grid_name(f"statements.{step}", frame), title, "statement", heads, spanners=spanners)
    for statement in frame["statement"].unique(maintain_order=True):
        cells: list[Cell] = []
        for name in names:
            rows = [row for row in rows_of(frame, name, step) if row["statement"] == statement]
            known = [row for row in rows if row["step_status"] == "complete" and row["counted"] is not None]
            if status := status_cell(rows):
                cells += [status] * 3
            elif known:
                cells += [
                    Cell(f"{sum(row[column] for row in known):,}") for column in ("sent", "counted", "unexplained")
                ]
            else:
                cells += [Cell("-")] * 3
        grid.rows.append((statement, cells))
    grid.notes = [
        "Totals over the runs whose counters were read before the first statement and after the last one. Read: "
        "SELECT. Write: INSERT, UPDATE, DELETE. Other: BEGIN, COMMIT. The server's are Com_*.",
        "sysbench counts a write that changes no row, such as a DELETE of a row that is gone, among the others.",
        "ibench's own collectors send SELECTs, which the server counts as well. What a transaction had done that was "
        "sent again, only the server counts.",
        *mark_notes(frame),
    ]
    return grid


def _threads(number: int) -> str:
    return "1 thread" if number == 1 else f"{number} threads"
