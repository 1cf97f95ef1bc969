"""The chart of ratios."""

from __future__ import annotations

import re

import pytest

import ibench_lib as ib
from tests.ask.pairs import pair_of
from tests.synthetic import Run

pytestmark = pytest.mark.lake


@pytest.mark.slow
def test_the_chart_draws_ratios_with_their_intervals_and_names_what_it_cannot_draw() -> None:
    queries = iter((1000, 1100, 1200, 2000, 2200, 2600))
    runs = [
        Run(name, repeat=n, minute=m, queries=next(queries), history_list=(1, 1, 1, 0 if name == "b" else 7))
        for m, (name, n) in enumerate([(name, n) for name in "ab" for n in (1, 2, 3)])
    ]  # fmt: skip
    pair = pair_of(*runs)
    figure = ib.ratio_chart(pair.metrics().filter(step="qr100"), pair.base, pair.other)
    drawn = {
        label: (trace.name, trace.x[i], trace.error_x.array[i], trace.error_x.arrayminus[i], trace.text[i])
        for trace in figure.data
        for i, label in enumerate(trace.y)
    }  # fmt: skip
    # Medians; the ratio is of geometric means, (400 * 440 * 520 / (200 * 220 * 240)) ^ (1/3).
    verdict, ratio, up, down, text = drawn["queries/s"]
    assert (verdict, ratio) == ("better", 2.054)
    found = re.fullmatch(r"A 220, B 440; B / A 2\.05 \[(\d\.\d\d), (\d\.\d\d)\], better", text)
    assert found and float(found[1]) == pytest.approx(ratio - down, abs=0.01)
    assert float(found[2]) == pytest.approx(ratio + up, abs=0.01)
    assert drawn["inserts/s"][:2] == ("same or unclear", 1.0)
    hollow = {trace.name: "open" in trace.marker.symbol for trace in figure.data}
    assert hollow["same or unclear"] and not hollow["better"], "as on first screens"
    assert figure.layout.xaxis.title.text == "B / A (not drawn, because A or B is 0: history list length)"
    assert figure.layout.xaxis.type == "log"
    assert figure.layout.meta["title"] == "Metrics of qr100: B / A, cached"
    assert set(figure.layout.yaxis.categoryarray) == drawn.keys()
