"""What all charts share: lines of runs, numbers for plotly, bands between min and max, the look."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
import polars as pl

from ibench_lib.analysis.frames import by_position, distinct, repeats
from ibench_lib.base.later import later
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.chart_text import ASIDE
from ibench_lib.show.kit.look import height_of

if TYPE_CHECKING:
    import plotly.graph_objects as go  # type: ignore[import-untyped]
else:
    go = later("plotly.graph_objects")

MOST_POINTS = 2000
"""Points of a trace, at most; the questions' `points` may ask for fewer."""

_P = ParamSpec("_P")


@dataclass(frozen=True)
class Drawing:
    """A chart as plotly's JSON, of plain values: a figure of plotly's copies each point several times on the way."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]

    def figure(self) -> go.Figure:
        """What plotly makes of it. Not checked: a check takes longer than to draw it; the tests do that."""
        return go.Figure({"data": self.data, "layout": self.layout}, _validate=False)


def drawing(
    traces: list[dict[str, Any]],
    layout: dict[str, Any],
    *,
    x: Mapping[str, Any] = MappingProxyType({}),
    y: Mapping[str, Any] = MappingProxyType({}),
    height: int | None = None,
) -> Drawing:
    """The drawing of traces with a layout that was made by `look`, to whose axes `x` and `y` are added.

    Unless its `height` is known, it is as high as its names need.
    """
    axes = {"xaxis": {**layout["xaxis"], **x}, "yaxis": {**layout["yaxis"], **y}}
    named = sum(trace.get("showlegend") is not False for trace in traces)
    return Drawing(traces, {**layout, "height": height or height_of(named), **axes})


def categories(names: Iterable[str]) -> dict[str, Any]:
    """An axis with a place for each name (markup), in this order."""
    return {"type": "category", "categoryorder": "array", "categoryarray": list(names)}


def in_the_middle(text: str) -> dict[str, Any]:
    """An annotation, markup, in the middle of a chart that has nothing else to show."""
    return {"text": text, "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False}


def drawn(function: Callable[_P, Drawing]) -> Callable[_P, go.Figure]:
    """A function that gives the figure of a drawing; `each` takes the drawing itself (`drawing_of`)."""

    @wraps(function)
    def figure(*args: _P.args, **options: _P.kwargs) -> go.Figure:
        return function(*args, **options).figure()

    figure.drawing = function  # type: ignore[attr-defined]
    figure.__signature__ = inspect.signature(function).replace(return_annotation="go.Figure")  # type: ignore[attr-defined]
    return figure


def drawing_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a drawing if it is `drawn`, else the function itself."""
    drawing: Callable[..., Any] = getattr(function, "drawing", function)
    return drawing


def runs_of(frame: pl.DataFrame) -> Iterator[tuple[str, int, pl.DataFrame]]:
    """(label, colour position, rows) of each run, dbms by dbms; the label tells what did not complete."""
    several = repeats(frame) > 1 if len(frame) else False
    parts = {(rows["dbms"][0], rows["repeat"][0]): rows for rows in _parts(frame, ["dbms", "repeat"])}
    broken: dict[tuple[str, int], tuple[str, str]] = {}
    for name, repeat, step, status in distinct(frame, "dbms", "repeat", "step", "step_status"):
        if status != "complete":
            broken.setdefault((name, repeat), (step, status))
    for name in by_position(frame):
        for repeat in sorted(number for dbms, number in parts if dbms == name):
            rows = parts[name, repeat]
            label = f"{name} r{repeat}" if several else name
            if (name, repeat) in broken:
                label += " ({}: {})".format(*broken[name, repeat])
            elif rows["run_status"][0] != "complete":
                label += f" (run: {rows['run_status'][0]})"
            yield label, int(rows["dbms_position"][0]) - 1, rows


def _parts(frame: pl.DataFrame, by: list[str]) -> list[pl.DataFrame]:
    return frame.partition_by(by, maintain_order=True) if len(frame) else []


def dbms_of(frame: pl.DataFrame) -> Iterator[tuple[str, int, pl.DataFrame]]:
    """(label, colour position, rows) of each dbms with all of its runs; the label tells how many did not complete."""
    for name in by_position(frame):
        rows = frame.filter(pl.col("dbms") == name)
        runs, broken = (part["repeat"].n_unique() for part in (rows, rows.filter(pl.col("run_status") != "complete")))
        label = f"{name} ({broken} of {runs} runs not complete)" if broken else name
        yield label, int(rows["dbms_position"][0]) - 1, rows


def line_mode(values: pl.Series) -> str:
    """How plotly draws a series: a single value has no line, so it is a marker."""
    return "lines" if len(values) - values.null_count() > 1 else "markers"


def numbers(values: pl.Series, decimals: int) -> list[Any]:
    """Plain numbers for plotly, rounded to what can be seen; NULL stays a gap in the line."""
    return [None if value is None else round(float(value), decimals) for value in values]


def moments(values: pl.Series) -> list[Any]:
    """Times in seconds for plotly, to a millisecond: whole ones as whole numbers, which are short as text."""
    known = values.cast(pl.Float64).to_numpy()
    if (known == np.floor(known)).all():  # most series: seconds, of which a large post has a million
        return list(known.astype(np.int64).tolist())
    rounded = [round(value, 3) for value in known.tolist()]
    return [int(value) if value.is_integer() else value for value in rounded]


def plotted(values: pl.Series, decimals: int) -> list[Any]:
    """Numbers of a line of hundreds of points: at most so many decimals, and four digits, since more are not seen."""
    if values.len() == values.null_count():
        return [None] * values.len()
    known = values.cast(pl.Float64).to_numpy()
    rounded = np.round(known, decimals)
    size = np.floor(np.log10(np.abs(rounded), where=rounded != 0, out=np.zeros_like(rounded)))
    up, down = 10 ** np.maximum(3 - size, 0), 10 ** np.maximum(size - 3, 0)
    # A whole number divided by a power of ten is the nearest to the decimal fraction, which is short as text.
    four = np.round(rounded * up / down) * down / up
    if (four == np.floor(four)).all():  # no gap and no fraction: most rates of whole posts
        return list(four.astype(np.int64).tolist())
    return [None if value != value else int(value) if value.is_integer() else value for value in four.tolist()]


def flat(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of intervals, each at its beginning, middle and end (`at_s`), so that its line is flat between them.

    Where time is missing between two intervals, there is a row of NULLs, which is a gap in a line. Other rows (without
    `interval_s`) stay as they are, at `t_s`.
    """
    if not intervals_said(rows):
        return rows.hstack([rows["t_s"].cast(pl.Float64).alias("at_s")])  # a post has hundreds: no plan for each
    # A crosshair reads the nearest point: of two intervals that touch, that is only one if each ends a little earlier.
    begins, lasts, edge = pl.col("t_s"), pl.col("bucket_s"), pl.col("bucket_s") / 200
    placed = rows.sort("t_s").with_columns(place=pl.int_range(pl.len()), next_s=pl.col("t_s").shift(-1))
    times = (begins + edge, begins + lasts / 2, begins + lasts - edge)
    gaps = placed.filter(pl.col("next_s") - begins - lasts > pl.col("interval_s") / 10)
    pieces = [*(placed.with_columns(at_s=at) for at in times), gaps.select("place", at_s=begins + lasts)]
    joined = pl.concat([piece.with_columns(part=n) for n, piece in enumerate(pieces)], how="diagonal")
    return joined.sort("place", "part").drop("place", "part", "next_s")


def intervals_said(rows: pl.DataFrame) -> str:
    """How long intervals are, such as: intervals of 10 s. Empty where the rows are of seconds."""
    if "interval_s" not in rows.columns or rows["interval_s"].null_count() == len(rows):
        return ""
    known = rows["interval_s"]
    least, most = float(known.min()), float(known.max())  # type: ignore[arg-type]
    length = f"{most:.3g}" if most - least <= most / 10 else f"{least:.3g} to {most:.3g}"
    return f"intervals of {length} s"


def band(x: Sequence[Any], lower: Sequence[Any], upper: Sequence[Any], colour: str) -> list[dict[str, Any]]:
    """The two lines, of plotly's scatter, that bound the band between them."""
    line = {"width": 0.5, "color": colour}
    common = {
        "type": "scatter",
        "x": x,
        "mode": "lines",
        "showlegend": False,
        "line": line,
        "opacity": 0.5,
        "meta": ASIDE,
    }
    return [{"y": lower, "name": "min", **common}, {"y": upper, "name": "max", "fill": "tonexty", **common}]


def dip_bands(
    dips: Iterable[Mapping[str, Any]], palette: str = "default", opacity: float = 1, **place: Any
) -> list[dict[str, Any]]:
    """A shape for each dip (a row of `dips`), from its first second to its last.

    Its edge keeps it visible where it is less than a pixel wide.

    `place`: the axes of the shapes; without them they are on the first x axis and reach through all panels.
    """
    fill, ink = theme.palette(palette).of("bad")
    known = {"xref": "x", "yref": "paper", "y0": 0, "y1": 1, **place}
    return [
        {
            "type": "rect", "x0": row["from_s"], "x1": row["to_s"], "fillcolor": fill, "opacity": 0.55 * opacity,
            "layer": "below", "line": {"color": ink, "width": 0.5}, **known,
        }
        for row in dips
    ]  # fmt: skip


def dip_labels(
    dips: Iterable[Mapping[str, Any]],
    end_s: float,
    apart: float = 0.1,
    *,
    taken: list[float] | None = None,
    **place: Any,
) -> list[dict[str, Any]]:
    """What dips (rows of `dips`) are put down to, above their bands: the costliest where there is no room for all.

    `apart` is the room that a label takes, as a share of the axis, which ends at `end_s`; `taken` are the places of
    labels that are there already, and gets those of the new ones.
    """
    taken = [] if taken is None else taken
    labels = []
    for row in sorted(dips, key=lambda row: -row["lost"]):
        middle = (row["from_s"] + row["to_s"]) / 2
        if all(abs(middle - other) >= apart * end_s for other in taken):
            taken.append(middle)
            labels.append(
                {
                    "text": theme.inert(row["label"]), "x": middle, "y": 1, "xref": "x", "yref": "paper",
                    "xanchor": "center", "yanchor": "bottom", "showarrow": False,
                    "font": {"size": 10, "color": theme.QUIET}, **place,
                }
            )  # fmt: skip
    return labels
