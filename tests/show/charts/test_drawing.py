"""Dips in charts: a band for each, and a name where there is room."""

from __future__ import annotations

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.show.charts.drawing import dip_bands, dip_labels
from tests.lake.test_dips import CASES
from tests.shared import asked
from tests.synthetic import Run

DIPS = pl.DataFrame(
    [
        {"from_s": 10, "to_s": 12, "lost": 5.0, "label": "lock"},
        {"from_s": 14, "to_s": 15, "lost": 9.0, "label": "redo"},
        {"from_s": 60, "to_s": 61, "lost": 1.0, "label": "unexplained"},
    ]
)


def test_each_dip_has_a_band_and_the_costliest_of_neighbours_its_name() -> None:
    assert [(band["x0"], band["x1"]) for band in dip_bands(DIPS)] == [(10, 12), (14, 15), (60, 61)]
    assert [(label["text"], label["x"]) for label in dip_labels(DIPS, 100.0)] == [("redo", 14.5), ("unexplained", 60.5)]
    assert len(dip_labels(DIPS, 100.0, 0.01)) == 3


@pytest.mark.slow
def test_bands_are_in_the_panel_of_their_run() -> None:
    runs = (Run("even", l_i1_s=20), CASES["free_pages"][0])
    seconds, dips = (asked(name, *runs, steps=["l.i1"]) for name in ("one_second", "dips"))
    figure = ib.rate_chart(seconds, dips=dips)
    (band,) = figure.layout.shapes
    assert (band.x0, band.x1) == (9, 12)
    (said,) = [note for note in figure.layout.annotations if note.text == "free pages"]
    (slow,) = [trace for trace in figure.data if trace.name == "all clients, system.slow"]
    assert (band.xref, band.yref) == (slow.xaxis, f"{slow.yaxis} domain") == (said.xref, said.yref)
    assert not ib.rate_chart(seconds).layout.shapes
