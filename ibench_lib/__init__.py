"""The workbench's library. A notebook calls what is listed in `__all__`, and nothing else.

    import ibench_lib as ib

    lake = ib.lake()
    post = ib.choose(lake, "demo")
    ib.each(post.ask("step_throughput"), ib.absolute_throughput)

Names are loaded on first use: the processes that send load import this package too, and need none of them.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "catalogue": ("contents",),
    "charts.compare": ("ratio_chart",),
    "charts.get_min": ("get_min_chart",),
    "charts.one_second": ("max_response_chart", "rate_chart"),
    "charts.purge_lag": ("purge_lag_chart", "purge_lag_end_chart"),
    "charts.response_heat": ("response_heat_chart",),
    "charts.step_detail": ("step_detail_chart",),
    "evidence_section": ("evidence",),
    "lake.reader": ("question", "questions", "sql"),
    "microscope": ("not_captured", "steadiness_facts", "step_detail"),
    "pair_sentences": ("differences", "left_out"),
    "pairs": ("pair",),
    "sections": ("each", "facts", "provenance", "sentence", "warnings"),
    "selection": ("choose", "experiments", "newest"),
    "tables.compare": ("facts_side_by_side", "metrics_side_by_side", "options_side_by_side"),
    "tables.fairness": ("fairness_table",),
    "tables.get_min": ("get_min_table",),
    "tables.made_from": ("config_table", "gaps_table", "runs_table", "skipped_table"),
    "tables.responses": ("response_time_table",),
    "tables.sla": ("sla_table",),
    "tables.stalls": ("stall_company_table", "stalls_table"),
    "tables.step_metrics": ("step_metrics_table",),
    "tables.throughput": ("absolute_throughput", "relative_throughput"),
}

__all__ = sorted(["lake", *(name for names in _HOMES.values() for name in names)])


def __getattr__(name: str) -> Any:
    if name == "lake":
        return importlib.import_module("ibench_lib.lake")  # which can be called
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"ibench_lib.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
