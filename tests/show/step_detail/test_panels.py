"""The panels of a step."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from ibench_lib.show.kit.series_names import SeriesText, shown
from ibench_lib.show.step_detail.panels import RESPONSES, panels_of


def test_the_lines_of_a_panel_share_its_unit() -> None:
    rates = [(family, f"{family}s/s", counts) for family, counts in (("w", "rows"), ("x", "ops"), ("y", "ops"))]
    families = [
        {
            "family": name,
            "label": label,
            "counts": counts,
            "rate_series": f"{name}s_per_s",
            "worst_series": f"{name}_max_s",
        }
        for name, label, counts in rates
    ]
    panels = panels_of(pl.DataFrame(families))
    assert [(panel.title, panel.unit) for panel in panels[:3]] == [
        ("Xs and ys", "operations/s"), ("Ws", "rows/s"), ("Worst response", ""),
    ]  # fmt: skip
    for panel in panels:
        if panel is not RESPONSES:
            assert len({replace(shown(line.source, line.series), name="") for line in panel.lines}) == 1, panel.title
    assert shown("device", "read_bytes_per_s") == SeriesText("device read bytes", "MB/s", 2.0**-20)
    assert shown("device", "busy_s_per_s") == SeriesText("device busy", "%", 100.0)
    assert shown("host", "cpu_iowait_s_per_s") == SeriesText("host cpu iowait", "CPUs", 1.0)
