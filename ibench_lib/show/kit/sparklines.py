"""Small pictures of rates over time as SVG: a line for each run of a step, and bands for its dips, with their causes.

Like strips they need no script, so they are there before any chart of the page is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from ibench_lib.analysis.frames import middle_runs, repeats
from ibench_lib.base.wording import count
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.drawing import intervals_said
from ibench_lib.show.kit.pieces import Band, Html, OnTime, RateOverTime, Word
from ibench_lib.show.kit.strips import below_each_other

ALONE_PX, WIDTH_PX = 350, 285
"""The least width of a picture, in which its labels have room; that of one alone is a phone's."""

MOST = 6
"""Pictures of a first screen, at most."""

_OF_SECONDS = "Dashes: the median rate. Bands: dips, with their causes."
_OF_INTERVALS = "A rate of an interval is flat over its length: what happened within it, such as a dip, is not known."

_HIGH_PX, _LABELS_PX, _AXIS_PX = 74, 16, 16
_LEFT_PX = 46
_LETTER_PX = 6.2
_LEAST_BAND_PX = 2.0
_GAP_PX = 4.0
_MOST_TICKS = 5
_ROUND_S = [digit * 10**power for power in range(1, 5) for digit in (1, 2, 5)]


@dataclass(frozen=True)
class _Drawing:
    """The least width of a picture (pixels), the seconds that it shows, and the largest rate."""

    width: int
    end_s: float
    most: float

    def x(self, second: float) -> float:
        return _LEFT_PX + (self.width - _LEFT_PX) * min(max(second / self.end_s, 0), 1)

    def y(self, rate: float) -> float:
        return _LABELS_PX + _HIGH_PX * (1 - rate / self.most)


def sparklines(rates: pl.DataFrame, steadiness: pl.DataFrame, dips: pl.DataFrame, palette: str = "default") -> Html:
    """The rate of the main operation over time for each run and step, the same axes for all of a step.

    Of more than `MOST` pictures, those of each result's repeat with the median rate are shown, then the first ones; the
    text below them says how many are not. Steps without a full second have none, unless intervals of more than a second
    are known: these are flat, and have neither a median nor dips.

    Parameters
    ----------
    rates : `one_second`, of which the lines of all clients together are drawn.
    steadiness : `steadiness`, a row for each picture.
    dips : `dips`, with their causes.
    """
    together = rates.filter(pl.col("client").is_null() & pl.col("rate_mean").is_not_null())
    of_intervals = set(together.filter(pl.col("interval_s").is_not_null()).select("step_id", "run_id").iter_rows())
    rows = [
        row for row in steadiness.to_dicts()
        if row["median_rate"] is not None or (row["step_id"], row["run_id"]) in of_intervals
    ]  # fmt: skip
    chosen = rows
    if len(rows) > MOST:
        places = set(middle_runs(steadiness, "median_rate").iter_rows())
        chosen = [row for row in rows if (row["step_id"], row["run_id"]) in places][:MOST]
    several = len(steadiness) > 0 and repeats(steadiness) > 1
    setups = steadiness["setup"].n_unique() > 1
    drawn, notes = [], dict[str, None]()
    for row in chosen:
        of_step = together.filter(step_id=row["step_id"], setup=row["setup"], operation=row["main_operation"])
        mine = of_step.filter(run_id=row["run_id"])
        if mine.is_empty() or not (most := float(of_step["rate_max"].max() or 0)):  # type: ignore[arg-type]
            continue
        end_s = float((of_step["t_s"] + of_step["bucket_s"]).max() or 1)  # type: ignore[arg-type]
        drawing = _Drawing(ALONE_PX if len(chosen) == 1 else WIDTH_PX, end_s, most)
        name = row["dbms"] + (f" r{row['repeat']}" if several else "") + (f", {row['setup']}" if setups else "")
        bands = dips.filter(run_id=row["run_id"], step_id=row["step_id"])
        drawn.append(_picture(name, mine, bands, row, drawing, palette))
        notes[_OF_INTERVALS if intervals_said(mine) else _OF_SECONDS] = None
    if not drawn:
        return Html()
    note = " ".join(notes)
    if len(chosen) < len(rows):
        note += f" {count(len(rows) - len(chosen), 'more run')} below."
    return below_each_other(drawn, note)


def _picture(
    name: str, rates: pl.DataFrame, dips: pl.DataFrame, row: dict[str, Any], drawing: _Drawing, palette: str
) -> RateOverTime:
    lengths = intervals_said(rates)
    title = f"{name}: {row['rate_label']} in {row['step']}" + (f", {lengths}" if lengths else "")
    token = theme.palette(palette).token("bad")
    bottom, height = _LABELS_PX + _HIGH_PX, _LABELS_PX + _HIGH_PX + _AXIS_PX
    read = (str(row["rate_label"]), name, _read(rates))
    bands = []
    for dip in dips.to_dicts():
        left, right = drawing.x(dip["from_s"]), drawing.x(dip["to_s"])
        width = max(right - left, _LEAST_BAND_PX)
        what = f"{dip['from_s']:,.0f} to {dip['to_s']:,.0f} s: {dip['label']}"
        bands.append(Band(_px(left), _LABELS_PX, _px(width), _HIGH_PX, what))
    points = tuple(_points(rates, drawing))
    last_s = float((rates["t_s"] + rates["bucket_s"]).max() or 0)  # type: ignore[arg-type]
    lines: list[tuple[float, float, float, bool]] = [(_LEFT_PX, drawing.width, bottom, False)]
    said = title
    if row["median_rate"] is not None:
        lines.append((_LEFT_PX, drawing.width, _px(drawing.y(row["median_rate"])), True))
        causes = "; ".join(f"{dip['label']} at {dip['from_s']:,.0f} s" for dip in dips.to_dicts())
        said = f"{title}: median {row['median_rate']:,.0f}; {causes or 'no dip'}"
    return RateOverTime(
        caption=title,
        said=said,
        size=(drawing.width, height),
        points=points,
        colour=theme.line_token(int(rates["dbms_position"][0]) - 1),
        bands=tuple(bands),
        band_colour=token,
        lines=tuple(lines),
        words=(
            *_labels(dips, drawing, f"{token}-ink"),
            Word(_LEFT_PX, height - 4, "0 s", "from"),
            *(Word(_px(drawing.x(t_s)), height - 4, f"{t_s:,} s", "middle") for t_s in _between(drawing.end_s)),
            Word(drawing.width, height - 4, f"{drawing.end_s:,.0f} s", "to"),
            Word(_LEFT_PX - 4, _LABELS_PX + 8, _short(drawing.most), "to"),
            Word(_LEFT_PX - 4, bottom, "0", "to"),
            *_end("done" if row["step_status"] == "complete" else row["step_status"], points[-1], last_s, drawing),
        ),
        left=_LEFT_PX,
        time=OnTime(f"{row['step']}, {row['setup']}", 0.0, drawing.end_s, (read,)),
    )


def _between(end_s: float) -> range:
    """Up to four round seconds between the ends of an axis, none of them close to its end; none on a short axis."""
    step = next((step for step in _ROUND_S if end_s / step <= _MOST_TICKS), round(end_s))
    return range(step, int(end_s - 0.6 * step) + 1, step)


def _px(length: float) -> float:
    """As exact as anybody can see."""
    return round(length, 1)


def _points(rates: pl.DataFrame, drawing: _Drawing) -> Iterator[tuple[float, float]]:
    """Each second at its middle; where several share a point, both their smallest and their largest rate.

    Of intervals both ends have their mean.
    """
    columns = ("t_s", "bucket_s", "rate_min", "rate_max", "rate_mean", "interval_s")
    for t_s, bucket_s, low, high, mean, interval_s in rates.select(columns).iter_rows():
        if interval_s is not None:
            yield _px(drawing.x(t_s)), _px(drawing.y(mean))
            yield _px(drawing.x(t_s + bucket_s)), _px(drawing.y(mean))
            continue
        x = _px(drawing.x(t_s + bucket_s / 2))
        for rate in [high] if low == high else [high, low]:
            yield x, _px(drawing.y(rate))


def _read(rates: pl.DataFrame) -> tuple[tuple[float, float], ...]:
    """Each second, or the middle of the seconds that share a point, with its mean rate."""
    columns = rates.select("t_s", "bucket_s", "rate_mean").iter_rows()
    return tuple((round(t_s + bucket_s / 2, 2), float(f"{rate:.4g}")) for t_s, bucket_s, rate in columns)


def _end(how: str, point: tuple[float, float], last_s: float, drawing: _Drawing) -> list[Word]:
    """How the step has ended, behind a line that ends long before its axis: the server need not be down."""
    room = drawing.width - point[0] - 2 * _GAP_PX
    fitting = [text for text in (f"{how}, {last_s:,.0f} s", how) if _LETTER_PX * len(text) <= room]
    return [Word(point[0] + _GAP_PX, point[1] + 4, text, "from") for text in fitting[:1]]


def _labels(dips: pl.DataFrame, drawing: _Drawing, ink: str) -> list[Word]:
    """The names of causes above their bands, or a question mark: the costliest dips first, as far as there is room."""
    taken: list[tuple[float, float]] = []
    labels = []
    for dip in dips.sort("lost", descending=True, maintain_order=True).to_dicts():
        for label in (dip["label"], "?") if dip["cause"] is None else (dip["label"],):
            half = _LETTER_PX * len(label) / 2
            x = (drawing.x(dip["from_s"]) + drawing.x(dip["to_s"])) / 2
            x = min(max(x, _LEFT_PX + half), drawing.width - half)
            if all(x + half < left or x - half > right for left, right in taken):
                taken.append((x - half, x + half))
                labels.append(Word(_px(x), _LABELS_PX - 4, label, "middle", ink))
                break
    return labels


def _short(value: float) -> str:
    """Such as 95, 1.2k, 34k, 1.5M: an axis has little room."""
    if value < 1000:
        return f"{value:.3g}"
    power = min(int(math.log10(value) // 3), 3)
    scaled = value / 1000**power
    return f"{scaled:.1f}{' kMG'[power]}" if scaled < 10 else f"{scaled:.0f}{' kMG'[power]}"
