"""The workbench's library. A notebook calls what is listed in `__all__`, and nothing else.

    import ibench_lib as ib

    lake = ib.lake()
    post = ib.choose(lake, "demo")
    ib.each(post.ask("step_throughput"), ib.absolute_throughput)

Names are loaded on first use: the processes that send load import this package too, and need none of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ibench_lib.charts import (
        get_min_chart,
        max_response_chart,
        purge_lag_chart,
        purge_lag_end_chart,
        rate_chart,
    )
    from ibench_lib.lake.reader import lake, question, questions, sql
    from ibench_lib.sections import each, facts, provenance, sentence, warnings
    from ibench_lib.selection import choose
    from ibench_lib.tables import (
        absolute_throughput,
        config_table,
        fairness_table,
        gaps_table,
        get_min_table,
        relative_throughput,
        response_time_table,
        runs_table,
        skipped_table,
        sla_table,
        step_metrics_table,
    )

__all__ = [
    "absolute_throughput",
    "choose",
    "config_table",
    "each",
    "facts",
    "fairness_table",
    "gaps_table",
    "get_min_chart",
    "get_min_table",
    "lake",
    "max_response_chart",
    "provenance",
    "purge_lag_chart",
    "purge_lag_end_chart",
    "question",
    "questions",
    "rate_chart",
    "relative_throughput",
    "response_time_table",
    "runs_table",
    "sentence",
    "skipped_table",
    "sla_table",
    "sql",
    "step_metrics_table",
    "warnings",
]

_HOMES = {
    "lake.reader": ("question", "questions", "sql"),
    "sections": ("each", "facts", "provenance", "sentence", "warnings"),
    "selection": ("choose",),
    "charts": tuple(name for name in __all__ if name.endswith("_chart")),
    "tables": tuple(name for name in __all__ if name.endswith(("_table", "_throughput"))),
}


def __getattr__(name: str) -> Any:
    if name == "lake":
        return importlib.import_module("ibench_lib.lake")  # which can be called
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"ibench_lib.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
