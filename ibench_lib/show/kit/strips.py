"""Small pictures of ratios as SVG: a strip has a row for each of them, a dot and its interval on a logarithmic axis.

They need no script: they are there before anything else of a page is drawn, on paper, and on a narrow screen.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.metrics import Better
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.table_cells import factor_text, relative_text
from ibench_lib.show.kit.theme import Mark

WIDTH_PX = 340
_ROW_PX = 20
_AXIS_PX = 18
_LETTER_PX = 6.6
_BOLD_PX = 7.6
_GAP_PX = 8
_MOST_LETTERS = 22
_MOST_FIGURE_PX = 110

FILLED = "Filled: a difference. Hollow: may be noise."
"""What stands below strips with intervals."""

LEAST_SPAN = 1.25
"""An axis reaches at least from 1 / this to this, so that a difference of a percent does not fill it."""

MOST_SPAN = 16.0
"""An axis ends here; what is further off is an arrow at its end, next to its figure."""

Words = tuple[str, str]
"""What is said of a clear difference that is good, and of one that is bad."""

RATE_WORDS: Words = ("faster", "slower")


@dataclass(frozen=True)
class StripRow:
    """One dbms, or one metric. `found` is None for the base itself, and where there is no ratio: `status` says why.

    `better` is the direction of what is drawn, `words` say which side of 1x a clear difference is on.
    """

    label: str
    found: Ratio | None = None
    status: str = ""
    better: Better = "higher"
    words: Words = ("better", "worse")

    @property
    def clear(self) -> bool:
        """Whether the difference is clear."""
        return self.found is not None and self.found.is_clear

    @property
    def mark(self) -> Mark | None:
        """Of a clear difference: whether it is good or bad; None also where more is neither."""
        if self.found is None or not self.clear or self.better == "neither":
            return None
        return "good" if (self.found.verdict == "better") == (self.better == "higher") else "bad"

    @property
    def text(self) -> str:
        """What stands at the end of the row: the ratio, or the status where there is none."""
        return f"{relative_text(self.found)}{self._verdict}" if self.found else self.status

    @property
    def figure(self) -> str:
        """The same without the interval, which is drawn."""
        if self.found is None or not self.found.value > 0:
            return self.status
        return f"{factor_text(self.found.value)}x{self._verdict}"

    @property
    def _verdict(self) -> str:
        return f" {self.words[self.mark == 'bad']}" if self.mark else ""


def span_of(ratios: Iterable[Ratio]) -> float:
    """The factor to each side of 1 that strips with these ratios need."""
    ends = [LEAST_SPAN]
    for found in ratios:
        known = [end for end in (found.value, found.low, found.high) if end and 0 < end < math.inf]
        ends += [max(end, 1 / end) for end in known]
    return min(1.05 * max(ends), MOST_SPAN)


def strips(titled: Sequence[tuple[str, Sequence[StripRow]]], palette: str = "default") -> list[str]:
    """Strips that stand next to each other, each with its title: all on one axis, so that dots can be compared."""
    every = [row for _, rows in titled for row in rows]
    span = span_of(row.found for row in every if row.found)
    return [strip(title, rows, span, palette, every) for title, rows in titled]


def arrows_said(rows: Iterable[StripRow]) -> str:
    """What stands below strips of these rows on what leaves their axis; empty if nothing does."""
    ratios = [row.found for row in rows if row.found and row.found.value > 0]
    axis = _Axis(0, 1, span_of(ratios))
    leaves = any(
        axis.beyond(end) for found in ratios for end in (found.value, found.low, found.high) if end is not None
    )
    return " Arrow: beyond the axis." if leaves else ""


def strip(
    title: str, rows: Sequence[StripRow], span: float, palette: str = "default", every: Sequence[StripRow] = ()
) -> str:
    """A figure of HTML: the title, and the rows on an axis from 1 / `span` to `span`.

    `every`: the rows of all strips next to it, for which the axis leaves room; by default only its own.
    """
    letters = min(max(len(row.label) for row in every or rows), _MOST_LETTERS)
    figure_px = max(len(row.figure) * (_BOLD_PX if row.clear else _LETTER_PX) for row in every or rows)
    axis = _Axis(max(_LETTER_PX * letters + _GAP_PX, 60), WIDTH_PX - min(figure_px, _MOST_FIGURE_PX) - _GAP_PX, span)
    height = _ROW_PX * len(rows) + _AXIS_PX
    drawn = []
    for tick in _ticks(span):
        x, kind = axis.x(tick), ' class="one"' if tick == 1 else ""
        drawn.append(f'<line{kind} x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - _AXIS_PX}"/>')
        drawn.append(f'<text class="tick" x="{x:.1f}" y="{height - 4}">{tick:g}x</text>')
    drawn += [_drawn(row, axis, _ROW_PX * (place + 0.5), palette) for place, row in enumerate(rows)]
    said = f"{title}: {'; '.join(f'{row.label} {row.text}' for row in rows)}"
    return picture(title, drawn, WIDTH_PX, height, said)


def picture(title: str, shapes: Iterable[str], width: int, height: int, said: str, kind: str = "") -> str:
    """A figure of the first screen: its title, broken to its width, above an SVG; `said` is what it shows in words.

    `kind` is a further class.
    """
    classes = f"strip {kind}".rstrip()
    return (
        f'<figure class="{classes}" style="width: {width}px"><figcaption>{html.escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{html.escape(said)}">{"".join(shapes)}</svg></figure>'
    )


@dataclass(frozen=True)
class _Axis:
    left: float
    right: float
    span: float

    def x(self, value: float) -> float:
        within = min(max(value, 1 / self.span), self.span)
        share = 0.5 + 0.5 * math.log(within) / math.log(self.span)
        return self.left + share * (self.right - self.left)

    def beyond(self, value: float) -> int:
        """-1 left of the axis, 1 right of it, 0 on it."""
        return (value > self.span) - (value < 1 / self.span)


def _drawn(row: StripRow, axis: _Axis, y: float, palette: str) -> str:
    found, colour = row.found, theme.QUIET
    if found and row.clear:
        colour = theme.palette(palette).of(row.mark)[1] if row.mark else theme.INK
    letters = row.label if len(row.label) <= _MOST_LETTERS else f"{row.label[:9]}…{row.label[-12:]}"
    parts = [f'<text x="0" y="{y + 4:.0f}">{html.escape(letters)}</text>']
    if found and found.value > 0:
        fill = colour if row.clear else "#fff"
        if found.low is not None and found.high is not None:
            low, high = axis.x(max(found.low, 1e-9)), axis.x(found.high)
            line = f'x1="{low:.1f}" x2="{high:.1f}" y1="{y:.0f}" y2="{y:.0f}"'
            parts.append(f'<line class="interval" {line} stroke="{colour}"/>')
            ends = {axis.beyond(end) for end in (found.low, found.high)} - {0, axis.beyond(found.value)}
            parts += [_arrow(axis, side, y, "none", colour) for side in sorted(ends)]
        if axis.beyond(found.value):
            parts.append(_arrow(axis, axis.beyond(found.value), y, fill, colour))
        else:
            dot = f'cx="{axis.x(found.value):.1f}" cy="{y:.0f}" r="4.5"'
            parts.append(f'<circle {dot} fill="{fill}" stroke="{colour}"/>')
    kind = ' class="clear"' if row.clear else ""
    place = f'x="{WIDTH_PX}" y="{y + 4:.0f}" text-anchor="end" fill="{colour}"'
    parts.append(f"<text{kind} {place}>{html.escape(row.figure)}</text>")
    return f"<g><title>{html.escape(f'{row.label}: {row.text}')}</title>{''.join(parts)}</g>"


def _arrow(axis: _Axis, side: int, y: float, fill: str, colour: str) -> str:
    """At an end of the axis: `fill` as that of a dot, or none where only the interval goes on."""
    tip = axis.right if side > 0 else axis.left
    path = f"M{tip - 7 * side:.1f} {y - 4.5:.1f}L{tip:.1f} {y:.1f}L{tip - 7 * side:.1f} {y + 4.5:.1f}"
    return f'<path class="beyond" d="{path}{"" if fill == "none" else "Z"}" fill="{fill}" stroke="{colour}"/>'


def _ticks(span: float) -> list[float]:
    """1 and a value on each side of it."""
    fitting = [tick for tick in (1.1, 1.25, 1.5, 2.0, 4.0, 10.0) if tick <= span]
    widest = fitting[-1] if fitting else 1.1
    return [round(1 / widest, 2), 1, widest]
