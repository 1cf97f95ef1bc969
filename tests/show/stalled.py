"""Runs with a stall, and what tests of a step share."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pyarrow as pa

from ibench_lib.ask.selection import Selection, choose
from ibench_lib.paths import Workspace
from ibench_lib.schema import TABLES
from ibench_lib.server_figures import FIGURES
from ibench_lib.store import reader
from tests.shared import lake_of
from tests.synthetic import Run

START_S = 15  # of l.i1 on the run's clock
STALLED = Run("slow", minute=1, l_i1_s=12, stall=(4, 5))


# 100 pages a second, but 250, 400 and 250 in the intervals that end at 4.5, 5.5 and 6.5 s.
WRITTEN = (0, 100, 200, 300, 550, 950, 1200, 1300, 1400, 1500, 1600, 1700)


def l_i1(workspace: Workspace, **chosen: Any) -> Selection:
    return choose(reader.lake(workspace), "demo", steps=["l.i1"], **chosen)


def l_i1_of(*runs: Run, **chosen: Any) -> Selection:
    """Step l.i1 of these runs, for tests that only read."""
    return choose(lake_of(*runs), "demo", steps=["l.i1"], **chosen)


def one(frame: pl.DataFrame, **values: Any) -> dict[str, Any]:
    return frame.filter(**values).row(0, named=True)


def unlinked(html: Any) -> str:
    """The markup without the links to queries."""
    return re.sub(r" <span class=\"sources\">.*?</span>| <a [^>]*>query</a>", "", html.markup)


def captured(run_s: int) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Rows of host, process and device for every second of a run, each figure growing by its own step."""
    rows = []
    for name in ("host_samples", "process_samples", "device_samples"):
        fixed: dict[str, Any] = {"device": "vda", "holds_data": True, "pid": 7}
        columns = [column for column in TABLES[name].columns if column.name not in ("run_id", *fixed)]
        for tick in range(run_s):
            row: dict[str, Any] = {
                c.name: "S" if pa.types.is_string(c.type) else tick * (0.5 if pa.types.is_floating(c.type) else place)
                for place, c in enumerate(columns)
            }
            row |= {"tick": tick, "t_s": tick + 0.25}
            rows.append((name, row | {key: fixed[key] for key in fixed if key in TABLES[name].required}))
    return tuple(rows)


def everything(seconds: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Each figure of the server, growing."""
    columns = [figure.column for figure in FIGURES if figure.column != "history_list_length"]
    return tuple((name, tuple(second * 7 * n for second in range(seconds))) for n, name in enumerate(columns, 1))


def said(value: Any) -> str:
    if hasattr(value, "parts"):
        return " ".join(said(part) for part in value.parts)
    items = value.items if hasattr(value, "items") else [value]
    return " ".join(re.sub(r"<[^>]+>", "", unlinked(item)) for item in items)
