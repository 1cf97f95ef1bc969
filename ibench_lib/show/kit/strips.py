"""Pictures of ratios: a strip has a row for each of them, a dot and its interval on a logarithmic axis, and words.

They need no script: they are there before anything else of a page is drawn, on paper, and on a narrow screen.
"""

from __future__ import annotations

import html
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from ibench_lib.analysis.verdicts import Ratio
from ibench_lib.base.wording import MOST_NAMED, capital, joined, shortened
from ibench_lib.metrics import Better
from ibench_lib.show.kit import pieces, theme
from ibench_lib.show.kit.pieces import Beyond, Html, Sentence, Strip
from ibench_lib.show.kit.table_cells import bounds_text, factor_text, point_text, relative_text
from ibench_lib.show.kit.theme import Mark

NOT_TOLD = "Too few runs to tell a difference from noise"

_FINDING = "{figure} with {names}{than}{rest}"

_AGAINST: dict[Mark, Mark] = {"good": "bad", "bad": "good"}

_MOST_NAMED, _MOST_OTHERS = 4, 2
"""Rows that a finding names, if it cannot tell which of them is first, and of the others."""

_LEAST_APART = 0.22
"""Of half an axis, what is between two values that it names, at least."""

FILLED = "Filled: a difference. Hollow: none that is clear."
"""What stands above strips with intervals."""

_MOST_ABREAST = 5
"""Columns of a heat map that has room for another one next to it."""

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

    A ratio without an interval may have a `status`, too, which stands behind it.

    `better` is the direction of what is drawn, `words` say which side of 1x a clear difference is on.
    """

    label: str
    found: Ratio | None = None
    status: str = ""
    better: Better = "higher"
    words: Words = ("better", "worse")
    name: str = ""
    """What a sentence calls it, if its label is only a part of that."""
    base: str = ""
    """What it is relative to, for sentences; empty if nobody has to be told."""
    at_target: bool = False
    """Whether a target is all that both could reach, and both did."""
    twin: str = ""
    """The name of the row, or of the base, that the server ran alike: sentences then rank only that one."""

    @property
    def clear(self) -> bool:
        """Whether the difference is clear."""
        return self.found is not None and self.found.is_clear

    @property
    def small(self) -> bool:
        """Whether there is a difference that is too small to count."""
        found = self.found
        return found is not None and not self.clear and found.p is not None and found.p <= found.level

    @property
    def mark(self) -> Mark | None:
        """Of a clear difference: whether it is good or bad; None also where more is neither."""
        if self.found is None or not self.clear or self.better == "neither":
            return None
        return "good" if (self.found.verdict == "better") == (self.better == "higher") else "bad"

    @property
    def text(self) -> str:
        """What stands at the end of the row: the ratio, or the status where there is none."""
        return f"{relative_text(self.found)}{self.verdict}" if self.found else self.status

    @property
    def figure(self) -> str:
        """The same without the interval."""
        if self.found is None or not self.found.value > 0:
            return self.status
        return f"{point_text(self.found)}x{self.verdict}"

    @property
    def between(self) -> str:
        """The interval, or the range; empty without either."""
        return bounds_text(self.found).strip() if self.found else ""

    @property
    def verdict(self) -> str:
        """Such as " faster", or ", slower" after a ratio that would read as a gain; of one run its status.

        "3.66x more" could mean a sum, so there is a comma before more, too.
        """
        ratio = self.found
        if ratio is None or ratio.low is None:
            return f", {self.status}" if ratio and self.status else ""
        if self.clear:
            words = self.words if self.mark else ("more", "less")
            word = words[self.mark == "bad" if self.mark else ratio.value < 1]
            return f"{'' if ratio.value > 1 and word != 'more' else ','} {word}"
        if self.at_target:
            return ", both at their target"
        return ", too small to count" if self.small else ", may be noise"


def span_of(ratios: Iterable[Ratio]) -> float:
    """The factor to each side of 1 that strips with these ratios need."""
    ends = [LEAST_SPAN]
    for ratio in ratios:
        known = [end for end in (ratio.value, ratio.low, ratio.high) if end and 0 < end < math.inf]
        ends += [max(end, 1 / end) for end in known]
    return min(1.05 * max(ends), MOST_SPAN)


def strips(titled: Sequence[tuple[str, Sequence[StripRow]]], palette: str = "default") -> list[Strip]:
    """Strips that stand below each other, each with its title: all on one axis, so that dots can be compared."""
    span = span_of(row.found for _, rows in titled for row in rows if row.found)
    return [strip(title, rows, span, palette) for title, rows in titled]


def heat(titled: Sequence[tuple[str, Sequence[StripRow]]], caption: str, palette: str = "default") -> list[str]:
    """Figures of HTML that stand next to each other: a row for each title and a column for each label, without axes.

    What is clear has the colours of its mark; its interval is the cell's title. For more titles than a screen has room
    for as strips.
    """
    labels = list(dict.fromkeys(row.label for _, rows in titled for row in rows))
    abreast = 2 if len(labels) <= _MOST_ABREAST else 1
    share = math.ceil(len(titled) / abreast)
    heads = "".join(f'<th scope="col">{pieces.named(label)}</th>' for label in labels)
    figures = []
    for start in range(0, len(titled), share):
        part = titled[start : start + share]
        body = "".join(
            f'<tr><th scope="row">{html.escape(title)}</th>{_heat_cells(labels, rows, palette)}</tr>'
            for title, rows in part
        )
        numbers = " to ".join(dict.fromkeys(str(number) for number in (start + 1, start + len(part))))
        title_of = f"{caption}, {numbers} of {len(titled)}" if abreast == 2 else caption
        figures.append(
            f'<figure class="heat" tabindex="0"><table><caption>{html.escape(title_of)}</caption>'
            f"<thead><tr><td></td>{heads}</tr></thead><tbody>{body}</tbody></table></figure>"
        )
    return figures


def _heat_cells(labels: Sequence[str], rows: Sequence[StripRow], palette: str) -> str:
    of_label = {row.label: row for row in rows}
    cells = []
    for label in labels:
        row = of_label.get(label)
        style = ' class="small"' if row and row.small else ""
        if row and row.mark:
            fill, ink = theme.palette(palette).paints(row.mark)
            style = f' style="background-color: {fill}; color: {ink}"'
        shown = f"{point_text(row.found)}x" if row and row.found and row.found.value > 0 else row.status if row else ""
        told = f' title="{html.escape(row.text)}"' if row else ""
        cells.append(f"<td{style}{told}>{html.escape(shown)}</td>")
    return "".join(cells)


def coloured(palette: str, words: Words, rows: Iterable[StripRow]) -> str:
    """What the colours of a heat map of these rows stand for, as markup: what is good, what is bad, and the rest."""
    marks: tuple[Mark, Mark] = ("good", "bad")
    samples = (
        f'<span class="sample" style="background-color: {fill}; color: {ink}">{word}</span>'
        for (fill, ink), word in zip(map(theme.palette(palette).paints, marks), words, strict=True)
    )
    rows = list(rows)
    small = " Black: a difference too small to count." if any(row.small for row in rows) else ""
    return f"{' '.join(samples)} Grey: may be noise.{small}{_middle_interval(rows)}"


def _middle_interval(rows: Iterable[StripRow]) -> str:
    """How wide the intervals of a heat map are, which has no room for them; empty without any."""
    known = [row.found for row in rows if row.found and row.found.bounds == "interval"]
    widths = [math.log(one.high / one.low) / 2 for one in known if one.low and one.high and one.high < math.inf]
    if not widths:
        return ""
    width = math.exp(median(widths))
    middle = f"{factor_text(1 / width)} to {factor_text(width)} times the ratio"
    return f" Each figure has a 95 % interval of its own (median: {middle}), so one further from 1x can be grey."


def finding(titled: Sequence[tuple[str, Sequence[StripRow]]], pattern: str = _FINDING) -> str:
    """What strips show in one sentence: the largest clear gain, the largest clear loss; or that there is neither.

    Such as: qr100: 8.60x to 8.00x faster with a21 and a20 than with base, 2.10x with a13; l.i1: 0.82x, slower with a10,
    but 1.50x faster with a20. Rows whose intervals overlap with that of the largest are named with it; those with
    another base are in the picture alone. `pattern` is what stands behind a title.
    """
    every = [(title, row) for title, rows in titled for row in rows]
    ranked = [(title, row) for title, row in every if not row.twin] or every
    marked = {mark: [(title, row) for title, row in ranked if row.mark == mark] for mark in _AGAINST}
    firsts = {mark: max(rows, key=lambda one: _size(one[1])) for mark, rows in marked.items() if rows}
    sentences, said, told = list[str](), "", ""
    same = set[str]()
    for mark, (title, first) in firsts.items():
        than = f" than with {first.base}" if first.base != said else ""
        said = first.base
        alike = {of: [row for other, row in marked[of] if other == title and row.base == first.base] for of in _AGAINST}
        again = [row for other, rows in titled if other == title for row in rows if row.twin]
        parts, against = _largest(alike[mark], again, same), _AGAINST[mark]
        opposite = alike[against]
        if opposite and firsts[against][0] != title:  # else it has a sentence of its own
            parts["rest"] += f", but {_FINDING.format(**_largest(opposite, again, same), than='')}"
        sentences.append(f"{_again(title, told)}: {pattern.format(**parts, than=than)}")
        told = title
    if sentences:
        return "; ".join(sentences)
    judged = {title: known for title, rows in titled if (known := _judged(rows))}
    if judged:
        reach = _reach([one for known in judged.values() for one in known])
        return f"{_places(list(judged))}: no difference found{reach}"
    ratios = [(title, row) for title, rows in titled for row in rows if row.found and row.found.value > 0]
    if not ratios:
        return NOT_TOLD
    title, largest = max(ratios, key=lambda one: _size(one[1]))
    of = f" the {'rate' if largest.words == RATE_WORDS else 'figure'} of {largest.base}" if largest.base else ""
    return f"{title}: {largest.name or largest.label} has {largest.figure}{of}; {NOT_TOLD.lower()}"


def _again(title: str, before: str) -> str:
    """A title such as `words (code)`, of which the words are left out if the one before has them, too."""
    words, _, code = title.removesuffix(")").partition(" (")
    return code if code and title != before and before.startswith(f"{words} (") else title


def _judged(rows: Iterable[StripRow]) -> list[Ratio]:
    """The ratios whose noise is known."""
    return [row.found for row in rows if row.found is not None and row.found.p is not None]


def _places(titles: Sequence[str]) -> str:
    """Titles, of which the last part is said once if all have the same: p99 in l.i1 and l.i2."""
    parts = [title.rpartition(", ") for title in titles]
    if len({of for _, _, of in parts}) > 1 or not all(place for place, _, _ in parts) or len(titles) == 1:
        return listed_places(titles)
    return f"{parts[0][2]} in {listed_places([place for place, _, _ in parts])}"


def _codes_together(titles: Sequence[str]) -> list[str]:
    """Titles of which some have the same words: `inserts (l.i1)` and `inserts (l.i2)` are `inserts (l.i1 and l.i2)`."""
    codes: dict[str, list[str]] = {}
    for title in titles:
        words, bracket, code = title.rpartition(" (")
        codes.setdefault(words if bracket and code.endswith(")") else title, []).append(code.removesuffix(")"))
    return [title if title in titles else f"{title} ({joined(found)})" for title, found in codes.items()]


def listed_places(names: Sequence[str]) -> str:
    """All of a few names; of many the first, and how many more there are."""
    together = _codes_together(names)
    return joined(together) if len(together) <= MOST_NAMED else shortened(together, ", ")


def _reach(ratios: Iterable[Ratio]) -> str:
    """From where to where the intervals of these ratios reach: what may still be there; empty without any."""
    ends = [(one.low, one.high) for one in ratios if one.bounds == "interval"]
    if not ends:
        return ""
    low, high = min(low or 0 for low, _ in ends), max(high or 0 for _, high in ends)
    what = "interval" if len(ends) == 1 else "intervals from"
    return f" ({what} {factor_text(low)}x to {factor_text(high)}x)"


def _largest(marked: Sequence[StripRow], twins: Sequence[StripRow], named: set[str]) -> dict[str, str]:
    """Figure and names of the largest of these rows and of those that are like it, and of the rest.

    Their `twins` follow with their own figures, so that the noise between the two shows, unless they are `named` yet.
    """
    rows = sorted(marked, key=_size, reverse=True)
    largest = rows[0]
    alike = [row for row in rows if row is largest or _overlap(row, largest)]
    others = [row for row in rows if row not in alike]
    rest = f", {_range(others)} with {_others(others)}" if others else ""
    same = [twin for twin in twins if twin.mark == largest.mark and twin.twin in {_name(row) for row in alike}]
    figure = largest.figure if len({row.figure for row in alike}) == 1 else f"{_range(alike)}{largest.verdict}"
    new = [row for row in same if _name(row) not in named]
    named.update(_name(row) for row in new)
    again = [f"{_name(row)}, the same server as {row.twin}: {_range([row])}" for row in new]
    also = f" ({'; '.join(again)})" if again else ""
    return {"figure": figure, "names": f"{_names(alike)}{also}", "rest": rest}


def _name(row: StripRow) -> str:
    return row.name or row.label


def _range(rows: Sequence[StripRow]) -> str:
    """The ratios of the first and the last: of rows in the order of their size, in which sentences name them."""
    values = [row.found.value for row in rows if row.found]
    return " to ".join(dict.fromkeys(f"{factor_text(end)}x" for end in (values[0], values[-1])))


def _names(rows: Sequence[StripRow]) -> str:
    named = [_name(row) for row in rows]
    return joined(named if len(named) <= _MOST_NAMED else [named[0], f"{len(named) - 1} others"])


def _others(rows: Sequence[StripRow]) -> str:
    return _names(rows) if len(rows) <= _MOST_OTHERS else f"{len(rows)} others"


def _overlap(row: StripRow, other: StripRow) -> bool:
    """Whether the intervals of two rows that have the same base overlap: then the order of the two is not known."""
    a, b = row.found, other.found
    if a is None or b is None or row.base != other.base or None in (a.low, a.high, b.low, b.high):
        return False
    return a.low <= b.high and b.low <= a.high  # type: ignore[operator]


def begun(found: str, codes: Collection[str]) -> str:
    """A finding with a capital at its beginning, unless that is a code, such as a setup's or a step's."""
    return found if found.startswith(tuple(codes)) else capital(found)


def _size(row: StripRow) -> float:
    return abs(math.log(row.found.value)) if row.found and row.found.value > 0 else math.inf


def marks_said(rows: Iterable[StripRow]) -> str:
    """What dots, intervals and arrows of these rows stand for."""
    rows = list(rows)
    return f"{FILLED}{_hollow_said(rows)}{arrows_said(rows)}"


def _hollow_said(rows: Sequence[StripRow]) -> str:
    """Why a dot may be hollow whose interval leaves out 1x; empty if none is."""
    unclear = [row.found for row in rows if row.found and not (row.clear or row.small)]
    judged = [ratio for ratio in unclear if ratio.bounds == "interval"]
    apart = [ratio for ratio in judged if not (ratio.low or 0) <= 1 <= (ratio.high or math.inf)]
    if not apart:
        return ""
    most = max(ratio.comparisons for ratio in apart)
    return f" A dot may be hollow though its interval leaves out 1x: verdicts allow for {most:,} comparisons."


def arrows_said(rows: Iterable[StripRow]) -> str:
    """What stands below strips of these rows on what leaves their axis; empty if nothing does."""
    ratios = [row.found for row in rows if row.found and row.found.value > 0]
    axis = _Axis(span_of(ratios))
    leaves = any(
        axis.beyond(end) for ratio in ratios for end in (ratio.value, ratio.low, ratio.high) if end is not None
    )
    return " Arrow: beyond the axis." if leaves else ""


def strip(title: str, rows: Sequence[StripRow], span: float, palette: str = "default") -> Strip:
    """A picture: the title, and the rows, each drawn on an axis from 1 / `span` to `span`, with words next to it."""
    axis = _Axis(span)
    ticks = tuple((axis.x(tick), f"{tick:g}x") for tick in _ticks(span))
    return Strip(title, tuple(_drawn(row, axis, palette) for row in rows), ticks)


def below_each_other(drawn: Iterable[pieces.Piece], note: str | Html) -> Html:
    """What is said of all pictures, and the pictures: nobody has to look for what they are relative to."""
    key = Sentence(note, kind="key", element="p") if isinstance(note, str) else note
    return Html('<div class="keyed">', key, '<div class="strips">', *drawn, "</div></div>")


@dataclass(frozen=True)
class _Axis:
    span: float

    def x(self, value: float) -> float:
        """Where a value stands, in % of the width of the axis."""
        within = min(max(value, 1 / self.span), self.span)
        return round(50 + 50 * math.log(within) / math.log(self.span), 2)

    def beyond(self, value: float) -> int:
        """-1 left of the axis, 1 right of it, 0 on it."""
        return (value > self.span) - (value < 1 / self.span)


def _drawn(row: StripRow, axis: _Axis, palette: str) -> pieces.Row:
    ratio, colour = row.found, "quiet"
    if row.clear:
        colour = f"{theme.palette(palette).token(row.mark)}-ink" if row.mark else "ink"
    dot, interval = None, None
    beyond: list[Beyond] = []
    if ratio and ratio.value > 0:
        side = axis.beyond(ratio.value)
        if ratio.low is not None and ratio.high is not None:
            interval = axis.x(max(ratio.low, 1e-9)), axis.x(ratio.high)
            ends = {axis.beyond(end) for end in (ratio.low, ratio.high)} - {0, side}
            beyond = [_arrow(end, "open") for end in sorted(ends)]
        if side:
            beyond.append(_arrow(side, "full" if row.clear else "hollow"))
        else:
            dot = axis.x(ratio.value)
    said = f"{row.label}: {row.text}"
    return pieces.Row(row.label, row.figure, row.between, said, colour, row.clear, dot, interval, tuple(beyond))


def _arrow(side: int, fill: Literal["full", "hollow", "open"]) -> Beyond:
    return Beyond(100 if side > 0 else 0, fill)


def _ticks(span: float) -> list[float]:
    """1, and values on each side of it that leave each other room; the largest that fits is one of them."""
    fitting = [tick for tick in (10.0, 4.0, 2.0, 1.5, 1.25, 1.1) if tick <= span] or [1.1]
    above = [fitting[0]]
    for tick in (*fitting[1:], 1.0):
        if math.log(above[-1] / tick) >= _LEAST_APART * math.log(span):
            above.append(tick)
    above = [tick for tick in above if tick > 1 and math.log(tick) >= _LEAST_APART * math.log(span)] or above[:1]
    return [*(round(1 / tick, 2) for tick in above), 1, *reversed(above)]
