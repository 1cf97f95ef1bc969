"""The first picture of a history: the rates of its releases relative to the oldest one, a strip for each step."""

from __future__ import annotations

import polars as pl

from ibench_lib.analysis.history import RATE, History, steps_in
from ibench_lib.base.wording import joined
from ibench_lib.show.kit.display import Html
from ibench_lib.show.kit.strips import RATE_WORDS, StripRow, below_each_other, marks_said, strips


def release_strips(history: History, palette: str = "default") -> Html:
    """A strip for each step of each chart of a history, with a row for each release in their order.

    Steps that were not measured with the oldest release have none.
    """
    titled: list[tuple[str, list[StripRow]]] = []
    bases: dict[str, None] = {}
    for chart in history.charts:
        of_chart = history.points.filter((pl.col("chart") == chart.label) & (pl.col("column") == RATE))
        for step in steps_in(of_chart):
            of_step = of_chart.filter(pl.col("step") == step)
            ratios = {build.name: history.to_first.get((chart.label, step, RATE, build.name)) for build in chart.builds}
            if not any(ratios.values()):
                continue
            bases[chart.base.text] = None
            rows = [
                StripRow(build.text, ratios[build.name], "1x" if build is chart.base else "no value", words=RATE_WORDS)
                for build in chart.builds
            ]
            title = f"{chart.label}: {step}, {of_step['rate_label'][0]}"
            titled.append((title, rows))
    if not titled:
        return Html()
    said = marks_said(row for _, rows in titled for row in rows)
    note = f"Each dot: the ratio to {joined(list(bases))}, with its 95 % interval. {said}"
    return below_each_other(strips(titled, palette), note)
