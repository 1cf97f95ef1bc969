"""Text that tables and statements share: counts, lists, ratios, the words of a file's own comment."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from itertools import accumulate

import polars as pl

from ibench_lib.analysis.verdicts import BETTER, WORSE, Ratio
from ibench_lib.base.wording import joined
from ibench_lib.stats.noise import MOST_REPEATS, POWER


def scale_text(scale: float) -> str:
    """An experiment's scale as a fraction: 1/500."""
    return f"1/{1 / scale:,.4g}" if scale < 1 else f"{scale:g}"


def without_brackets(text: str) -> str:
    """Without the brackets around all of it: `(Debian)` is Debian, and `Community Server (GPL)` stays as it is."""
    inner = text[1:-1]
    depths = accumulate((letter == "(") - (letter == ")") for letter in inner)
    return inner if text == f"({inner})" and min(depths, default=0) >= 0 else text


def comment(text: str) -> str:
    """The text of the comment at the head of a file, without the sentence that names its source."""
    words, in_source = [], False
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        said = line.lstrip("# ").rstrip()
        if line.startswith("# Source:") or in_source:
            sentence, end, rest = f"{said} ".partition(". ")
            in_source, said = not end and "://" not in sentence, rest.strip()
        words.append(said)
    return " ".join(filter(None, words))


RANGE = (
    "there are too few repeats to estimate the noise. The brackets hold the range of the ratio (low to high), and "
    "nothing counts as a difference."
)
"""What two runs on a side can tell, unless others of the experiment tell their noise. It goes on after a colon."""


def method_said(ratios: Collection[Ratio]) -> str:
    """What the intervals of these ratios are, and what chance does; empty without intervals."""
    judged = [ratio for ratio in ratios if ratio.p is not None]
    if not judged:
        return ""
    return (
        "Figures are medians, ratios are of geometric means. [low, high] is the 95 % interval of a ratio, from a t "
        "test with the noise of all selected configurations and steps of a setup. A ratio counts as a difference if it "
        f"is below {WORSE} or above {BETTER} and chance does not explain it. "
        f"{chance_said(max(ratio.comparisons for ratio in judged))}"
    )


_LONG_S = 10.0
"""Of a step that takes at least so long, a hiccup of a second is a small part."""


_SHORT_S = 2.0
"""Below this, whole seconds would hide how short a step was."""


def lasted(rows: pl.DataFrame) -> str:
    """Behind the title of a step that nobody took long for: how long, as `, measured for 4 s`; else empty."""
    done = rows.filter(pl.col("step_status") == "complete")["duration_s"].drop_nulls().to_list()
    if not done or max(done) >= _LONG_S:
        return ""
    spec = ".1f" if min(done) < _SHORT_S else ".0f"
    ends = dict.fromkeys(format(end, spec) for end in (min(done), max(done)))
    return f", measured for {' to '.join(ends)} s"


def chance_said(comparisons: int) -> str:
    """What chance does to so many comparisons that were judged together, and on what condition."""
    many = (
        f"The verdicts, not the intervals, allow for up to {comparisons:,} comparisons (Benjamini and Hochberg). "
        if comparisons > 1
        else ""
    )
    share = f"at most {100 * EQUAL:.0f} % of cases, or {100 * UNEQUAL:.0f} % if they are not equally noisy"
    return (
        f"{many}If all configurations are equal, chance produces {'a' if comparisons > 1 else 'such a'} difference "
        f"in {share}. This holds for repeats in shuffled rounds, not for {UNPROMISED}."
    )


EQUAL, UNEQUAL = 0.06, 0.08
"""How often, at most, chance marked simulated tables whose dbms are equally noisy, and those whose dbms are not."""

UNPROMISED = "repeats made one after the other on a host that drifts, or a configuration with two speeds"
"""Where no number of repeats keeps chance to a share."""


def detectable_said(ratios: Collection[Ratio]) -> str:
    """The change that would have been found, from the quietest of these to the noisiest; empty where not known."""
    known = [ratio.detectable for ratio in ratios if ratio.detectable is not None]
    return " to ".join(dict.fromkeys(change_text(end(known)) for end in (min, max))) if known else ""


def change_text(log: float) -> str:
    """A logarithm as a change, rounded up: 7 %, or 3.20x; what is above 100x nobody needs to know."""
    if log < math.log(2):
        return f"{math.ceil(100 * math.expm1(log) - 1e-9)} %"
    if log > math.log(100):
        return "more than 100x"
    return f"{math.exp(log):.{0 if log > math.log(10) else 2}f}x"


POWERED = f"about {100 * POWER:.0f} % power"
"""About: docs/benchmarks/false_marks.md has the share of such changes that tables found, of each shape of table."""


def smallest_said(changes: Mapping[str, str]) -> str:
    """What the repeats could have shown, by place: the end of a sentence on no difference; empty if nothing is known.

    Without the place where there is one only: "the smallest detectable change is 6 % (about 80 % power)".
    """
    known = {place: change for place, change in changes.items() if change}
    if not known:
        return ""
    items = [f"{change} in {place}" for place, change in known.items()] if len(changes) > 1 else list(known.values())
    what = "change is" if len(known) == 1 else "changes are"
    return f"; the smallest detectable {what} {joined(items)} ({POWERED})"


def repeats_said(needed: Mapping[str, Collection[int | None]]) -> str:
    """How many repeats would find a change of 10 % in each place: the most of its results; None are too many."""
    items = [
        f"{place} more than {MOST_REPEATS}" if None in repeats else f"{place} {max(filter(None, repeats))}"
        for place, repeats in needed.items()
    ]
    return f"repeats that would find a change of 10 % ({POWERED}): {', '.join(items)}" if items else ""


def smallest_within(logs: Collection[float]) -> str:
    """The same of many figures, whose changes are logarithms: from the quietest to the noisiest."""
    if not logs:
        return ""
    ends = list(dict.fromkeys(change_text(end) for end in (min(logs), max(logs))))
    if len(ends) == 1:
        return f"; the smallest detectable change is {ends[0]} ({POWERED})"
    most = f"{ends[0]} in the quietest figure and {ends[1]} in the noisiest"
    return f"; the smallest detectable change is {most} ({POWERED})"
