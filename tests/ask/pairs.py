"""Two dbms to compare, and what is read of their page."""

from __future__ import annotations

import re
from typing import Any

import ibench_lib as ib
from ibench_lib.analysis.comparison import Comparison, compared
from ibench_lib.ask.pair import Pair
from ibench_lib.metrics import METRICS
from tests.shared import lake_of
from tests.synthetic import Run

_pairs: dict[str, Pair] = {}


def pair_of(*runs: Run, a: str = "", b: str = "") -> Pair:
    """Two dbms of these runs. Tests share what was asked of them."""
    key = repr((runs, a, b))
    if key not in _pairs:
        _pairs[key] = ib.pair(ib.choose(lake_of(*runs), "demo"), a, b)
    return _pairs[key]


def repeated(a: str, b: str, **of_b: Any) -> list[Run]:
    """Three runs of each of two dbms, interleaved."""
    return [
        run
        for n in (1, 2, 3)
        for run in (Run(a, repeat=n, minute=2 * n), Run(b, repeat=n, minute=2 * n + 1, **of_b))
    ]  # fmt: skip


def metric(name: str, a: list[float], b: list[float]) -> Comparison:
    rows = [[{"value": value, "step_status": "complete"} for value in side] for side in (a, b)]
    return Comparison(METRICS[name], None, None, None, *rows)


def of_step(pair: Pair, step: str) -> dict[str, Comparison]:
    """The metrics of a step by label."""
    frame = pair.ask("metric_values").filter(step=step)
    return {one.label: one for one in compared(frame, pair.base, pair.other)}


def said(html: Any) -> list[str]:
    """The text of each paragraph and list item."""
    return [
        re.sub(r"<span class=\"sources\">.*?</span>|<a .*?</a>|<[^>]+>", "", text).rstrip()
        for text in re.findall(r"<(?:p|li)\b[^>]*>(.*?)</(?:p|li)>", html.markup)
    ]
