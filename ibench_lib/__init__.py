"""The workbench's library. A notebook calls what is listed in `__all__`, and nothing else.

    import ibench_lib as ib

    lake = ib.lake()
    post = ib.choose(lake, "demo")
    ib.each(post.ask("step_throughput"), ib.throughput_table)

Names are loaded on first use: the processes that send load import this package too, and need none of them.
"""

from __future__ import annotations

import importlib
from typing import Any

# Module -> its public names. `make fix` adds those of new tables, charts and statements, and writes the stub.
_HOMES = {
    "analysis.history": ("version_history",),
    "ask.pair": ("pair",),
    "ask.provenance": ("derived",),
    "ask.selection": ("choose", "experiments", "newest"),
    "publish.evidence": ("evidence",),
    "runner.interactive": ("plan", "run"),
    "show.by_build": ("by_build",),
    "show.charts.compare": ("ratio_chart",),
    "show.charts.history": ("release_chart",),
    "show.charts.one_second": ("max_response_chart", "rate_chart"),
    "show.charts.purge_lag": ("purge_lag_chart", "purge_lag_end_chart"),
    "show.charts.response_heat": ("response_heat_chart",),
    "show.charts.step_detail": ("step_detail_chart",),
    "show.charts.sweep": ("sweep_chart",),
    "show.charts.waits": ("waits_chart",),
    "show.contents": ("contents",),
    "show.differences": ("differences", "left_out"),
    "show.display": ("each", "long_steps", "middle_runs", "say"),
    "show.explanations": ("explained", "explained_by", "explanations"),
    "show.flame.posts": ("dip_flames", "flame_differences", "flame_graphs", "release_flames"),
    "show.headline": ("headline", "headline_statements", "opening"),
    "show.history_strips": ("release_strips",),
    "show.live": ("live",),
    "show.pair_headline": ("pair_headline",),
    "show.reasons": ("reasons",),
    "show.sections": ("made_from", "sweeps"),
    "show.statements.checkpoint": ("checkpoint_statements",),
    "show.statements.configurations": ("caution_statements", "shared_statements"),
    "show.statements.costs": ("cost_statements",),
    "show.statements.dips": ("dip_statements",),
    "show.statements.fairness": ("fairness_statements",),
    "show.statements.history": (
        "release_cost_statements",
        "release_gap_statements",
        "release_rate_statements",
        "release_statements",
    ),
    "show.statements.made_from": ("experiment_statements", "host_statements", "run_statements"),
    "show.statements.purge_lag": ("purge_lag_statements",),
    "show.statements.responses": ("response_statements",),
    "show.statements.sla": ("sla_statements",),
    "show.statements.stability": ("stability_statements",),
    "show.statements.steadiness": ("steadiness_statements",),
    "show.statements.sweep": ("sweep_statements",),
    "show.statements.throughput": ("throughput_statements",),
    "show.statements.waits": ("waits_statements",),
    "show.step_detail": ("not_captured", "step_detail"),
    "show.tables.checkpoint": ("checkpoint_table",),
    "show.tables.checks": ("checks_table",),
    "show.tables.compare": ("facts_side_by_side", "metrics_side_by_side", "options_side_by_side"),
    "show.tables.dips": ("dips_table",),
    "show.tables.explain": (
        "cpu_parts",
        "inclusive_costs",
        "rate_terms",
        "response_parts",
        "self_costs",
        "subsystem_costs",
    ),
    "show.tables.fairness": ("fairness_table",),
    "show.tables.frame": ("frame_table",),
    "show.tables.history": (
        "release_builds",
        "release_costs",
        "release_costs_to_base",
        "release_rates",
        "release_rates_to_base",
        "release_rates_to_before",
        "release_reasons",
    ),
    "show.tables.made_from": ("config_table", "fragments_table", "gaps_table", "runs_table", "skipped_table"),
    "show.tables.purge_lag": ("purge_lag_table",),
    "show.tables.responses": ("response_time_table",),
    "show.tables.sla": ("sla_table",),
    "show.tables.stability": ("rate_by_tenth_table",),
    "show.tables.stalls": ("stall_company_table",),
    "show.tables.step_metrics": (
        "device_table",
        "metrics_legend",
        "sizes_table",
        "step_cpu_table",
        "step_metrics_table",
        "step_storage_table",
    ),
    "show.tables.throughput": ("throughput_table",),
    "show.tables.waits": ("waits_captured_table", "waits_table"),
    "show.waits_strips": ("waits_strips",),
    "store.reader": ("columns", "documentation", "lake", "question", "questions", "sql"),
    "workloads.insert_benchmark.results.charts": ("get_min_chart",),
    "workloads.insert_benchmark.results.statements": (
        "get_min_statements",
        "insert_benchmark_statements",
        "mvcc_gc_statements",
        "step_statements",
    ),
    "workloads.insert_benchmark.results.tables": ("deviations_table", "get_min_table"),
    "workloads.linkbench.results.charts": ("requesters_chart", "response_by_throughput_chart"),
    "workloads.linkbench.results.statements": (
        "counted_statements",
        "drift_statements",
        "linkbench_statements",
        "warm_statements",
    ),
    "workloads.linkbench.results.tables": (
        "drift_table",
        "linkbench_operations_table",
        "outcomes_table",
        "requester_fairness_table",
        "requesters_table",
        "statements_table",
    ),
    "workloads.tpcc.results.charts": ("disk_throughput_chart", "notpm_chart", "server_cpu_chart"),
    "workloads.tpcc.results.statements": (
        "notpm_statements",
        "tpcc_statements",
        "transaction_statements",
        "wave_statements",
    ),
    "workloads.tpcc.results.tables": (
        "notpm_table",
        "profile_deviations_table",
        "response_buckets_table",
        "transaction_types_table",
        "waves_table",
    ),
}

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"ibench_lib.{_HOME_OF[name]}"), name)
    except ModuleNotFoundError as error:
        extras = importlib.import_module("ibench_lib.base.extras")
        extra = extras.extra_of(error.name)
        if extra is not None:
            error.add_note(extras.how_to_install(extra))
        raise


def __dir__() -> list[str]:
    return __all__
