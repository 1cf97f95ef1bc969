"""The panels of a step."""

from __future__ import annotations

from dataclasses import replace

from ibench_lib.show.series_names import Shown, shown
from ibench_lib.show.step_panels import PANELS, RESPONSES


def test_the_lines_of_a_panel_share_its_unit() -> None:
    for panel in PANELS:
        if panel is not RESPONSES:
            assert len({replace(shown(line.source, line.series), name="") for line in panel.lines}) == 1, panel.title
    assert shown("device", "read_bytes_per_s") == Shown("device read bytes", "MB/s", 2.0**-20)
    assert shown("device", "busy_s_per_s") == Shown("device busy", "%", 100.0)
    assert shown("host", "cpu_iowait_s_per_s") == Shown("host cpu iowait", "CPUs", 1.0)
