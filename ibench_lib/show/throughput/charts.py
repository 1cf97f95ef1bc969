"""Rates and worst responses of one step in every second: a panel for each dbms, one shared y axis."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from ibench_lib.analysis.frames import by_position, distinct, middle_run
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.chart_text import ASIDE
from ibench_lib.show.kit.drawing import (
    Drawing,
    band,
    dip_bands,
    dip_labels,
    drawn,
    flat,
    intervals_said,
    line_mode,
    moments,
    plotted,
    runs_of,
)
from ibench_lib.show.kit.look import look
from ibench_lib.show.kit.theme import inert

_PALE = 0.4
"""How opaque the lines of the repeats are that a panel does not show strong."""

_RunOf = tuple[str, int, pl.DataFrame]
"""As `runs_of` gives it."""


@answers(
    "one_second",
    "No second was recorded.",
    by=["step", "setup", "operation"],
    heading="step",
    anchor="one-second",
    fold=True,
    long=True,
    dips="dips",
    steadiness="steadiness",
)
@drawn
def rate_chart(
    frame: pl.DataFrame,
    *,
    dips: pl.DataFrame | None = None,
    steadiness: pl.DataFrame | None = None,
    palette: str = "default",
) -> Drawing:
    """Rate of one operation in every second of one step (`one_second`): a panel per dbms, one shared y axis.

    Of several repeats, the one with the median rate is strong, with its clients in grey; the others are pale. The rate
    is that of the step's main operations (`steadiness`), or of what is drawn where that is not given. `dips` (`dips`)
    are bands, with the names of their causes where there is room; those of pale repeats are pale. Where only intervals
    of more than a second are known, each is flat, and the name of the dbms says how long they are.
    """
    columns = ("rate_min", "rate_mean", "rate_max")
    label = str(frame["rate_label"][0])
    return _panels(frame, label, label, columns, 1, (dips, steadiness), palette)


@answers(
    "one_second",
    "No second was recorded.",
    by=["step", "setup", "operation"],
    heading="step",
    anchor="one-second",
    fold=True,
    long=True,
    dips="dips",
    steadiness="steadiness",
)
@drawn
def max_response_chart(
    frame: pl.DataFrame,
    *,
    dips: pl.DataFrame | None = None,
    steadiness: pl.DataFrame | None = None,
    palette: str = "default",
) -> Drawing:
    """Worst response of one operation in every second of one step (`one_second`), in milliseconds; panels as above."""
    shown = frame.with_columns(worst_ms=pl.col("max_response_s") * 1e3)
    title = f"max {frame['operation'][0]} response (ms)"
    return _panels(shown, title, "ms", ("worst_ms", "worst_ms", "worst_ms"), 3, (dips, steadiness), palette)


def _panels(
    frame: pl.DataFrame,
    what: str,
    unit: str,
    columns: tuple[str, str, str],
    decimals: int,
    known: tuple[pl.DataFrame | None, pl.DataFrame | None],
    palette: str,
) -> Drawing:
    """One panel per dbms, one below the other, all with the same axes.

    `what` is drawn, in the title; hovering shows the values with their `unit`. `known`: dips and steadiness.
    """
    dips, steadiness = known
    where = f"{frame['step'][0]}, {frame['setup'][0]}"
    title = f"{what}, {where}"
    if frame["rate_mean"].drop_nulls().is_empty():
        return _no_full_second(frame, title)
    names, middle = by_position(frame), _middle_runs(frame, steadiness)
    # Points of intervals stand where they are read.
    lasts_s = float(frame.filter(pl.col("interval_s").is_null())["bucket_s"].max() or 0)  # type: ignore[arg-type]
    layout = _layout(title, len(names), where, what, lasts_s)
    traces: list[dict[str, Any]] = []
    labels: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    causes: list[dict[str, Any]] = []
    decimals = _visible(frame[columns[2]], decimals)
    hover = {"hovertemplate": f"%{{y}} {inert(unit)}"}
    end_s = float((frame["t_s"] + frame["bucket_s"]).max() or 1)  # type: ignore[arg-type]
    runs = list(runs_of(frame))
    lines_of = _by_client(frame)
    dips_of = _by_run(dips, frame)
    for row, name in enumerate(names):
        number = _number(row)
        place = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        at: dict[str, Any] = {"xref": place["xaxis"], "yref": f"{place['yaxis']} domain"}
        mine = [(label, position, rows) for label, position, rows in runs if rows["dbms"][0] == name]
        strong = next((run for run in mine if run[2]["run_id"][0] == middle[name]), mine[0])
        pale = [run for run in mine if run is not strong]
        labels.append(_above(layout[f"yaxis{number}"]["domain"][1], _label(name, strong, pale, columns[1])))
        for run in (*pale, strong):  # later lines are above earlier ones
            of_run = lines_of[name, run[2]["repeat"][0]]
            lines = _lines(run, of_run, columns, decimals, strong=run is strong)
            traces += [{**line, **place, **hover} for line in lines]
        taken: list[float] = []
        for run in (strong, *pale):
            rows = run[2]
            found = dips_of.get((rows["run_id"][0], rows["step_id"][0]), ())
            if run is strong:
                shapes += dip_bands(found, palette, **at)
            else:
                shapes += dip_bands(found, palette, _PALE, **at)
                found = [{**dip, "label": f"r{rows['repeat'][0]}: {dip['label']}"} for dip in found]
            causes += dip_labels(found, end_s, 0.1, taken=taken, **at, yanchor="top")
    return Drawing(traces, {**layout, "annotations": labels + causes, "shapes": shapes})


def _middle_runs(frame: pl.DataFrame, steadiness: pl.DataFrame | None) -> dict[str, str]:
    """By dbms, the run that is drawn strong: of the repeats that completed the step, the one with the median rate.

    It is the same run for all operations of a step, if `steadiness` tells the rate of its main ones.
    """
    if steadiness is None:
        together = frame.filter(pl.col("client").is_null()).group_by("run_id", "step_id")
        steadiness = together.agg(pl.col("rate_mean").median().alias("median_rate"))
    rates = {(run, step): rate for run, step, rate in distinct(steadiness, "run_id", "step_id", "median_rate")}
    columns = ("dbms", "run_id", "repeat", "step_id", "step_status")
    results: dict[str, list[dict[str, Any]]] = {}
    for values in distinct(frame, *columns):
        row = dict(zip(columns, values, strict=True))
        rate = rates.get((row["run_id"], row["step_id"]))
        results.setdefault(row["dbms"], []).append({**row, "median_rate": rate})
    return {name: middle_run(rows, "median_rate")["run_id"] for name, rows in results.items()}


def _label(name: str, strong: _RunOf, pale: list[_RunOf], column: str) -> str:
    """What a panel shows: the dbms, of several repeats which one is strong, and intervals where no second is known."""
    own, *others = [label.removeprefix(f"{name} ") for label, _, _ in (strong, *pale)]
    shown = f"{name} {own} ({', '.join(others)} pale)" if others else strong[0].removesuffix(" r1")
    lengths = intervals_said(strong[2]) and intervals_said(strong[2].drop_nulls(column))
    return f"{shown}, {lengths}, each drawn flat" if lengths else shown


def _by_client(frame: pl.DataFrame) -> dict[tuple[str, int], dict[int | None, pl.DataFrame]]:
    """By dbms and repeat, the rows of each client, and of all together (None): a large post has thousands of lines.

    `several`: the row is of several seconds, or of several intervals.
    """
    marked = frame.with_columns(several=pl.col("bucket_s") > pl.col("interval_s").fill_null(1) * 1.5)
    found: dict[tuple[str, int], dict[int | None, pl.DataFrame]] = {}
    for rows in marked.partition_by("dbms", "repeat", "client", maintain_order=True):
        of_run = found.setdefault((rows["dbms"][0], rows["repeat"][0]), {None: marked.clear()})
        of_run[rows["client"][0]] = rows
    return found


def _by_run(dips: pl.DataFrame | None, frame: pl.DataFrame) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """By run and step, those of the dips of all steps that are in the steps of a frame, as rows."""
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    if dips is not None:
        of_steps = dips.filter(pl.col("step_id").is_in(frame["step_id"].unique().to_list()))
        for dip in of_steps.select("run_id", "step_id", "from_s", "to_s", "lost", "label").iter_rows(named=True):
            found.setdefault((dip["run_id"], dip["step_id"]), []).append(dip)
    return found


def _lines(
    run: _RunOf,
    by_client: dict[int | None, pl.DataFrame],
    columns: tuple[str, str, str],
    decimals: int,
    *,
    strong: bool,
) -> list[dict[str, Any]]:
    """The lines of a run: all clients together, with a band where a point is of several seconds, and each client."""
    label, position, _ = run
    low, middle, high = columns
    colour, _ = theme.series(position)
    total = flat(by_client[None])
    clients = {client: flat(rows) for client, rows in by_client.items() if client is not None} if strong else {}
    lines: list[dict[str, Any]] = [
        {
            "type": "scatter", "x": moments(of_client["at_s"]), "y": plotted(of_client[middle], decimals),
            "mode": line_mode(of_client[middle]), "line": {"color": theme.CLIENT, "width": 1},
            "marker": {"color": theme.CLIENT, "size": 5}, "name": f"client {client}", "meta": ASIDE,
            "showlegend": False,
        }
        for client, of_client in sorted(clients.items())
    ]  # fmt: skip
    times = moments(total["at_s"])
    # A single interval has no least and greatest rate.
    if low != high and total["several"].any():
        # A stall shorter than a bucket is in its lowest second only, also where the run is pale.
        bounds = band(times, plotted(total[low], decimals), plotted(total[high], decimals), colour)
        lines += bounds if strong else [{**bound, "opacity": 0.2} for bound in bounds]
    size = {"width": 2} if strong else {"width": 1.25}
    lines.append(
        {
            "type": "scatter", "x": times, "y": plotted(total[middle], decimals), "mode": line_mode(total[middle]),
            "line": {"color": colour, **size}, "marker": {"color": colour, "size": 7},
            "name": inert(f"all clients, {label}"), "showlegend": False, **({} if strong else {"opacity": _PALE}),
        }
    )  # fmt: skip
    return lines


def _visible(values: pl.Series, decimals: int) -> int:
    """As many decimals, of at most these, as the largest value has of four digits: panels share an axis up to it."""
    most = float(values.max() or 0)  # type: ignore[arg-type]
    return max(min(decimals, 3 - math.floor(math.log10(most))), 0) if most > 0 else decimals


def _layout(title: str, rows: int, where: str, what: str, lasts_s: float) -> dict[str, Any]:
    """The shared look with panels from the top to the bottom, whose axes all show the same ranges."""
    layout = look(title, zero=True, time=where, what=what, lasts_s=lasts_s)
    of_x, of_y = {**layout["xaxis"], "rangemode": "tozero"}, layout["yaxis"]
    for row, height in enumerate(_spans(rows, min(0.12, 0.3 / rows))[::-1]):
        n, bottom = _number(row), row == rows - 1
        x = {**of_x, "domain": [0, 1], "anchor": f"y{n}", "showticklabels": bottom}
        y = {**of_y, "domain": height, "anchor": f"x{n}"}
        if row:  # the first axis leads, the others follow it
            x["matches"], y["matches"] = "x", "y"
        if bottom:
            x["title"] = {"text": "seconds of the step"}
        layout[f"xaxis{n}"], layout[f"yaxis{n}"] = x, y
    return {**layout, "height": 90 + 96 * rows}


def _spans(count: int, gap: float) -> list[list[float]]:
    """From where to where, of 0 to 1, each of some equal parts reaches."""
    size = (1 - gap * (count - 1)) / count
    return [[n * (size + gap), n * (size + gap) + size] for n in range(count)]


def _number(place: int) -> str:
    """The number of an axis as plotly writes it: none for the first."""
    return str(place + 1) if place else ""


def _no_full_second(frame: pl.DataFrame, title: str) -> Drawing:
    """What there is to say of a step that no run took a second for: empty panels alone would look like a fault."""
    broken = [label for label, _, rows in runs_of(frame) if (rows["step_status"] != "complete").any()]
    text = "; ".join(["no run has a full second of this step", *broken])
    note = {
        "text": inert(text), "x": 0, "y": 0.5, "xref": "paper", "yref": "paper", "xanchor": "left", "showarrow": False,
        "font": {"color": theme.QUIET},
    }  # fmt: skip
    layout = look(title)
    hidden = {f"{axis}axis": {**layout[f"{axis}axis"], "visible": False} for axis in ("x", "y")}
    return Drawing([], {**layout, **hidden, "height": 100, "annotations": [note]})


def _above(top: float, label: str) -> dict[str, Any]:
    """The label above a panel's left corner."""
    return {
        "text": inert(label), "x": 0, "y": top, "xref": "paper", "yref": "paper", "xanchor": "left",
        "yanchor": "bottom", "showarrow": False, "font": {"size": 12, "color": theme.QUIET},
    }  # fmt: skip
