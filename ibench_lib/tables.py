"""One function per table of a post: a frame of one setup (and step) in, a great_tables object out.

The frames are answers to the questions in `ibench_lib/sql/`. A step that did not complete shows its status in the place
of a number.
"""

from __future__ import annotations

from statistics import median

import polars as pl
from great_tables import GT

from ibench_lib.cells import (
    mark_notes,
    ratio_cell,
    repeat_notes,
    run_status_cell,
    setting_text,
    status_cell,
    value_text,
)
from ibench_lib.frames import by_position, main_metric, measured, rows_of, steps_of
from ibench_lib.grades import Grade, grade_column, ratio
from ibench_lib.grid import Cell, Grid
from ibench_lib.metrics import METRICS
from ibench_lib.theme import Mark

_GRADE_MARKS: dict[Grade, Mark] = {"top": "good", "bottom": "bad", "sla_failed": "sla_failed"}
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
    grid = Grid(_name("configurations", frame), f"Options that differ from {base}", "option", [base, *names], left=True)
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


def absolute_throughput(frame: pl.DataFrame, palette: str = "default") -> GT:
    """Throughput of each dbms and step (`step_throughput`): inserts/s in write steps, queries/s in query steps."""
    steps, grid = _step_grid(frame, "throughput-absolute", "Average throughput")
    grades: dict[str, dict[str, Grade]] = {}
    for step in steps:
        values = {name: median(found) for name in by_position(frame) if (found := measured(frame, name, step))}
        failures = set(frame.filter((pl.col("step") == step) & pl.col("sla_failed").fill_null(False))["dbms"])
        grades[step] = grade_column(values, failures)
    for name in by_position(frame):
        cells = []
        for step in steps:
            rows = rows_of(frame, name, step)
            grade = grades[step].get(name)
            text = value_text(rows, "throughput", METRICS[main_metric(frame, step)].format)
            cells.append(status_cell(rows) or Cell(text, _GRADE_MARKS.get(grade) if grade else None))
        grid.rows.append((name, cells))
    grid.notes = [
        *repeat_notes(frame),
        "▲ within a quarter of the column's range of its best, ▼ within a quarter of its worst (unless the worst "
        "reaches 80 % of the best), ✕ missed the target rate of inserts or deletes.",
        *mark_notes(frame),
    ]
    return grid.draw(palette)


def relative_throughput(frame: pl.DataFrame, base: str, palette: str = "default") -> GT:
    """Throughput relative to the base dbms (`step_throughput`), two decimals; intervals where there are repeats."""
    names = by_position(frame)
    steps, grid = _step_grid(frame, "throughput-relative", f"Throughput relative to {base}")
    for name in names:
        cells = []
        for step in steps:
            rows = rows_of(frame, name, step)
            found = ratio(measured(frame, name, step), measured(frame, base, step))
            cells.append(status_cell(rows) or ratio_cell(found, is_base=name == base))
        grid.rows.append((f"{name} (base)" if name == base else name, cells))
    grid.notes = [*repeat_notes(frame), "▲ above 1.05, ▼ below 0.95 of the base.", *mark_notes(frame)]
    return grid.draw(palette)


def sla_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """Achieved insert and delete rates of rate-limited steps beside their target (`sla`)."""
    steps = steps_of(frame)
    columns = [what for _ in steps for what in ("inserts/s", "deletes/s")]
    spanners = [(step, (2 * position, 2 * position + 1)) for position, step in enumerate(steps)]
    grid = Grid(
        _name("sla", frame), _title("Background inserts and deletes", frame), "dbms", columns, spanners=spanners
    )
    targets = []
    for step in steps:
        known = frame.filter((pl.col("step") == step) & pl.col("target_per_s").is_not_null())["target_per_s"]
        targets += [Cell(format(known[0], ",.0f") if len(known) else "unknown")] * 2
    grid.rows.append(("target", targets))
    for name in by_position(frame):
        cells = []
        for step in steps:
            rows = rows_of(frame, name, step)
            status = status_cell(rows)
            for metric in ("ips", "dps"):
                missed = any(row["step_status"] == "complete" and row[f"{metric}_missed"] for row in rows)
                text = value_text(rows, metric, METRICS[metric].format)
                cells.append(status or Cell(text, "sla_failed" if missed else None))
        grid.rows.append((name, cells))
    grid.notes = ["✕ under 0.95 of the target, which is clients x rate.", *mark_notes(frame)]
    return grid.draw(palette)


def fairness_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """How far apart the clients of a write step finished (`fairness`): seconds and per cent of the fastest."""
    step = frame["step"][0]
    title = _title(f"Clients of {step}", frame)
    grid = Grid(_name(f"fairness.{step}", frame), title, "dbms", ["fastest (s)", "slowest (s)", "diff (s)", "pct (%)"])
    shortest = frame["min_duration_s"].min()
    # As published where steps take hours: whole seconds. Short steps would lose their difference that way.
    style = ",.0f" if isinstance(shortest, float) and shortest >= 1000 else "," + METRICS["fairness_diff_s"].format
    for name in by_position(frame):
        rows = rows_of(frame, name, step)
        status = status_cell(rows)
        figures = [value_text(rows, column, style) for column in ("min_duration_s", "max_duration_s", "diff_s")]
        figures.append(value_text(rows, "pct", METRICS["fairness_pct"].format))
        grid.rows.append((name, [status or Cell(figure) for figure in figures]))
    grid.notes = [
        "Seconds from the common start to the end of the fastest and of the slowest client; diff is their difference, "
        "pct is diff as a share of the fastest.",
        *mark_notes(frame),
    ]
    return grid.draw(palette)


def get_min_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """Seconds of the first SELECT min(transactionid) of each step, worst client (`get_min`), to three decimals."""
    steps = steps_of(frame)
    grid = Grid(_name("get-min-seconds", frame), _title("Seconds of get_min", frame), "dbms", steps)
    best: dict[str, float] = {}
    for step in steps:
        of_step = [median(found) for name in by_position(frame) if (found := measured(frame, name, step, "get_min_s"))]
        if of_step:
            best[step] = min(of_step)
    for name in by_position(frame):
        cells = []
        for step in steps:
            found = measured(frame, name, step, "get_min_s", any_status=True)
            if found:
                slow = step in best and median(found) > 10 * best[step]
                cells.append(Cell(format(median(found), ",.3f"), "bad" if slow else None))
            else:
                cells.append(status_cell(rows_of(frame, name, step)) or Cell("not measured", "status"))
        grid.rows.append((name, cells))
    grid.notes = ["▼ over 10 times the best of its column. The slowest client counts.", *mark_notes(frame)]
    return grid.draw(palette)


def response_time_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """Share of responses per bucket, percentiles and max of one step and operation (`response_time_histogram`)."""
    step, operation = frame["step"][0], frame["operation"][0]
    used = [name for name in _BUCKETS if frame[name].max() != 0]
    columns = [*(_BUCKETS[name] for name in used), "p50", "p90", "p99", "p99.9", "max"]
    grid = Grid(
        _name(f"histogram.{step}.{operation}", frame),
        _title(f"Response times of {operation} in {step}", frame),
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


def step_metrics_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """Further metrics of one step (`step_throughput`): T, rates, worst response, history list, client CPU."""
    step = frame["step"][0]
    known = {"ips": "ips", "dps": "dps", "qps": "qps", "maxop": "maxop_s", "hll": "history_list_length"}
    known["ccpupq"] = "ccpupq_us"
    shown = {metric: column for metric, column in known.items() if frame[column].is_not_null().any()}
    units = {"s": " (s)", "us": " (us)"}
    columns = ["T (s)", *(METRICS[metric].label + units.get(METRICS[metric].unit, "") for metric in shown)]
    grid = Grid(_name(f"metrics.{step}", frame), _title(f"Metrics of {step}", frame), "dbms", columns)
    for name in by_position(frame):
        rows = rows_of(frame, name, step)
        figures = [value_text(rows, "duration_s", ",.1f")]
        figures += [value_text(rows, column, METRICS[metric].format) for metric, column in shown.items()]
        grid.rows.append((name, [status_cell(rows) or Cell(figure) for figure in figures]))
    grid.notes = [*repeat_notes(frame), *mark_notes(frame)]
    return grid.draw(palette)


def gaps_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """What is missing (`gaps`): steps that did not complete, seconds without data."""
    grid = Grid("gaps", "What is missing", "dbms", ["setup", "run", "step", "missing", "how many"], left=True)
    for row in frame.to_dicts():
        amount = "" if row["amount"] is None else format(row["amount"], ",")
        texts = (row["setup"], str(row["repeat"]), row["step"], row["problem"], amount)
        grid.rows.append((row["dbms"], [Cell(text) for text in texts]))
    return grid.draw(palette)


def skipped_table(frame: pl.DataFrame, palette: str = "default") -> GT:
    """Runs and files that could not be read (`skipped`): their rows are in none of the figures."""
    grid = Grid("skipped", "Left out because it cannot be read", "run", ["dbms", "file", "problem"], left=True)
    for row in frame.to_dicts():
        grid.rows.append((row["run_id"], [Cell(row[name] or "") for name in ("dbms", "file", "problem")]))
    return grid.draw(palette)


def share(percent: float) -> str:
    """A share in per cent to three decimals; one that is not zero but rounds to it is `nonzero`."""
    text = format(percent, ".3f")
    return "nonzero" if percent > 0 and text == "0.000" else ("" if percent == 0 else text)


def _title(text: str, frame: pl.DataFrame) -> str:
    return f"{text}, {frame['setup'][0]}"


def _name(text: str, frame: pl.DataFrame) -> str:
    return f"{text}.{frame['setup'][0]}"


def _step_grid(frame: pl.DataFrame, name: str, title: str) -> tuple[list[str], Grid]:
    """The steps of a frame and an empty grid of dbms x steps, each step under its metric."""
    steps = steps_of(frame)
    spanners = []
    for metric in ("ips", "qps"):
        positions = [position for position, step in enumerate(steps) if main_metric(frame, step) == metric]
        if positions:
            spanners.append((METRICS[metric].label, positions))
    return steps, Grid(_name(name, frame), _title(title, frame), "dbms", steps, spanners=spanners)
