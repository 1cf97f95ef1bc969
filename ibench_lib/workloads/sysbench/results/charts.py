"""sysbench by its number of threads, all dbms on shared axes; and the ratios of all tests at a glance."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import polars as pl

from ibench_lib.analysis.frames import by_position
from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.ask.bases import Bases, bases
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.chart_text import UNIT
from ibench_lib.show.kit.drawing import Drawing, categories, drawing, drawn, numbers, runs_of
from ibench_lib.show.kit.look import look
from ibench_lib.show.kit.table_cells import point_text, relative_text
from ibench_lib.show.kit.theme import inert
from ibench_lib.workloads.sysbench.results.tables import compared_names, ratios_of_tests, tests_by_group

_FULL = 1.0
"""The binary logarithm of the ratio from which on colours are full: half as fast, or twice."""

_LABEL = 20
"""Characters in a line of the name of a column."""

_ABREAST = 26
"""Characters of all columns that a phone has room for; with more, names stand upright."""

_ROW_PX, _TITLE_PX, _LETTER_PX = 20, 44, 6.6


@answers("sysbench_summary", "No test to show.", by=["test", "setup"])
@drawn
def sysbench_threads_chart(frame: pl.DataFrame) -> Drawing:
    """Transactions a second of one test by the number of threads (`sysbench_summary`): a line for each run."""
    traces: list[dict[str, Any]] = []
    for label, position, rows in runs_of(frame):
        colour, dash = theme.series(position)
        of_run = rows.sort("threads")
        traces.append(
            {
                "type": "scatter", "x": of_run["threads"].to_list(), "y": numbers(of_run["tps"], 0),
                "mode": "lines+markers", "name": inert(label), "line": {"color": colour, "dash": dash, "width": 2},
            }
        )  # fmt: skip
    where = f"{frame['test'][0]}, {frame['setup'][0]}" if len(frame) else ""
    return drawing(traces, look(f"Transactions/s by threads, {where}", x="threads", y="transactions/s", zero=True))


@drawn
def sysbench_ratios_chart(
    frame: pl.DataFrame, base: str | Bases, palette: str = "default", rates: pl.DataFrame | None = None
) -> Drawing:
    """Each test's transactions/s relative to the base: tests in rows and dbms in columns (`sysbench_summary`).

    One setup and number of threads. Blue is faster, orange slower; colours are full from twice and half the rate on.
    A cell without a ratio is white. `rates`: as for `ratios_of_tests`.
    """
    names = compared_names(frame, base)
    found = ratios_of_tests(frame, base, rates)
    setup, threads = frame["setup"][0], frame["threads"][0]
    said = "1 thread" if threads == 1 else f"{threads} threads"
    title = f"Transactions/s relative to {bases(base)}, {said}, {setup}"
    rows: list[str] = []
    labels: list[str] = []
    cells: list[list[Ratio | None]] = []
    for group, tests in tests_by_group(frame).items() if names else ():
        # The heading of a group is a row without cells.
        rows += [f"{group}:", *(test for test, _ in tests)]
        labels += [f"<b>{inert(group)}</b>", *(inert(test) for test, _ in tests)]
        cells += [[], *([found.get((step, name)) for name in names] for _, step in tests)]
    # One trace: plotly puts the text of cells into wrong rows where a trace does not have all rows of the axis.
    heat: dict[str, Any] = {
        "type": "heatmap", "x": names, "y": rows,
        "z": [[_shade(one) for one in row] or [None] * len(names) for row in cells],
        "text": [[point_text(one) if one else "" for one in row] for row in cells],
        "texttemplate": "%{text}",
        "customdata": [[one and round(one.value, 3) for one in row] for row in cells],
        "hovertext": [
            [_hover(name, test, one) for name, one in zip(names, row, strict=False)]
            for test, row in zip(rows, cells, strict=True)
        ],
        "hovertemplate": "%{hovertext}<extra></extra>", "hoverongaps": False, "name": "ratio",
        "meta": {UNIT: f"times {bases(base)}"}, "coloraxis": "coloraxis", "xgap": 1, "ygap": 1,
    }  # fmt: skip
    columns = _columns(names, by_position(frame))
    lines = max((len(line) for text in columns for line in text.split("<br>")), default=0)
    upright = len(names) * lines > _ABREAST
    tall = lines * _LETTER_PX if upright else 14 * max((text.count("<br>") + 1 for text in columns), default=1)
    top = round(_TITLE_PX + tall + 12)
    good, bad = theme.palette(palette).of("good"), theme.palette(palette).of("bad")
    layout = look(title)
    at_top = {"xref": "container", "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 12, "l": 8}}
    layout |= {
        "title": {**layout["title"], **at_top},
        "margin": {"l": 8, "r": 8, "t": top, "b": 16},
        "hovermode": "closest",
        "showlegend": False,
        "coloraxis": {
            "cmin": -_FULL, "cmax": _FULL, "showscale": False,
            "colorscale": [[0, bad[1]], [0.3, bad[0]], [0.5, "#ffffff"], [0.7, good[0]], [1, good[1]]],
        },
    }  # fmt: skip
    if not names:
        layout["annotations"] = [{"text": "there is no second dbms to compare", "showarrow": False}]
    both = {"showgrid": False, "fixedrange": True, "visible": bool(names)}
    across = {"tickvals": names, "ticktext": columns, "side": "top", "tickangle": -90 if upright else 0}
    down = {"tickvals": rows, "ticktext": labels, "range": [len(rows) - 0.5, -0.5]}
    x, y = {**categories(names), **across, **both}, {**categories(rows), **down, **both}
    height = top + 24 + _ROW_PX * max(len(rows), 4)
    return drawing([heat] if rows else [], layout, x=x, y=y, height=height)


def _shade(found: Ratio | None) -> float | None:
    if found is None or found.value <= 0:
        return None
    return round(max(-_FULL, min(math.log2(found.value), _FULL)), 3)


def _hover(name: str, test: str, found: Ratio | None) -> str:
    return f"{inert(name)}, {inert(test)}: {relative_text(found)}" if found else ""


def _columns(names: list[str], every: list[str]) -> list[str]:
    """The names of columns in lines, without the build or the configuration that every dbms has."""
    parts = {name: name.rpartition(".")[::2] for name in every}
    builds, configs = ({part[place] for part in parts.values()} for place in (0, 1))
    if len(builds) == 1 or len(configs) == 1:
        parts = {name: ("", build if len(builds) > 1 else config) for name, (build, config) in parts.items()}
    whole = [".".join(filter(None, parts[name])) for name in names]
    return ["<br>".join(map(inert, textwrap.wrap(name, _LABEL))) for name in whole]
