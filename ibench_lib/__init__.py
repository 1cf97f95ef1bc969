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
    "ask.provenance": ("derived",),
    "show.contents": ("contents",),
    "show.charts.compare": ("ratio_chart",),
    "show.charts.get_min": ("get_min_chart",),
    "show.charts.one_second": ("max_response_chart", "rate_chart"),
    "show.charts.purge_lag": ("purge_lag_chart", "purge_lag_end_chart"),
    "show.charts.response_heat": ("response_heat_chart",),
    "show.charts.step_detail": ("step_detail_chart",),
    "publish.evidence": ("evidence",),
    "lake.reader": ("question", "questions", "sql"),
    "show.step_detail": ("not_captured", "steadiness_facts", "step_detail"),
    "show.differences": ("differences", "left_out"),
    "ask.pair": ("pair",),
    "show.display": ("each", "say", "sentence", "warnings"),
    "ask.selection": ("choose", "experiments", "newest"),
    "show.statements.benchmark": ("step_statements", "workload_statements"),
    "show.statements.configurations": ("caution_statements", "shared_statements"),
    "show.statements.costs": ("cost_statements",),
    "show.statements.fairness": ("fairness_statements",),
    "show.statements.made_from": ("experiment_statements", "host_statements", "run_statements"),
    "show.statements.mvcc_gc": ("mvcc_gc_statements",),
    "show.statements.responses": ("response_statements",),
    "show.statements.sla": ("sla_statements",),
    "show.statements.stability": ("stability_statements",),
    "show.statements.purge_lag": ("get_min_statements", "purge_lag_statements"),
    "show.statements.throughput": ("throughput_statements",),
    "show.tables.compare": ("facts_side_by_side", "metrics_side_by_side", "options_side_by_side"),
    "show.tables.fairness": ("fairness_table",),
    "show.tables.get_min": ("get_min_table",),
    "show.tables.made_from": ("config_table", "fragments_table", "gaps_table", "runs_table", "skipped_table"),
    "show.tables.purge_lag": ("purge_lag_table",),
    "show.tables.responses": ("response_time_table",),
    "show.tables.sla": ("sla_table",),
    "show.tables.stability": ("rate_by_tenth_table",),
    "show.tables.stalls": ("stall_company_table", "stalls_table"),
    "show.tables.step_metrics": (
        "device_table",
        "metrics_legend",
        "sizes_table",
        "step_cpu_table",
        "step_metrics_table",
        "step_storage_table",
    ),
    "show.tables.throughput": ("absolute_throughput", "relative_throughput"),
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
