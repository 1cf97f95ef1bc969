"""The workbench's library. A notebook calls what is listed in `__all__`, and nothing else.

    import ibench_lib as ib

    post = ib.choose(ib.lake(), "demo")
    ib.draw(post, ib.throughput_table)

Names are loaded on first use: the processes that send load import this package too, and need none of them.
"""

from __future__ import annotations

import importlib
from typing import Any

# Module -> its public names. `make fix` adds those of new tables, charts and statements, and writes the stub.
_HOMES = {
    "analysis.history": ("version_history",),
    "analysis.results": ("compare", "explain", "stalls", "summary"),
    "ask.pair": ("pair",),
    "ask.provenance": ("derived",),
    "ask.selection": ("choose", "chosen", "experiments", "newest"),
    "publish.evidence": ("evidence",),
    "runner.interactive": ("plan", "run"),
    "show.checkpoint.sentences": ("checkpoint_statements",),
    "show.checkpoint.tables": ("checkpoint_table",),
    "show.checks.sentences": ("failed_check_statements",),
    "show.checks.tables": ("checks_table",),
    "show.compare.charts": ("ratio_chart",),
    "show.compare.differences": ("differences", "left_out"),
    "show.compare.headline": ("pair_headline",),
    "show.compare.tables": ("facts_side_by_side", "metrics_side_by_side", "options_side_by_side"),
    "show.configurations.sentences": ("caution_statements", "same_server_statements", "shared_statements"),
    "show.contents": ("contents",),
    "show.costs.reasons": ("reasons",),
    "show.costs.sentences": ("cost_statements",),
    "show.costs.tables": (
        "device_table",
        "metrics_legend",
        "sizes_table",
        "step_cpu_table",
        "step_metrics_table",
        "step_storage_table",
    ),
    "show.dips.sentences": ("dip_statements",),
    "show.dips.tables": ("dips_table",),
    "show.explain.explanations": ("explained", "explained_by", "explanations"),
    "show.explain.tables": (
        "cpu_parts",
        "inclusive_costs",
        "rate_terms",
        "response_parts",
        "self_costs",
        "subsystem_costs",
    ),
    "show.fairness.sentences": ("fairness_statements",),
    "show.fairness.tables": ("fairness_table",),
    "show.flame.posts": ("dip_flames", "flame_differences", "flame_graphs", "release_flames"),
    "show.frame.tables": ("frame_table",),
    "show.headline": ("headline", "headline_statements", "opening"),
    "show.history.charts": ("release_chart",),
    "show.history.sentences": (
        "release_cost_statements",
        "release_gap_statements",
        "release_rate_statements",
        "release_statements",
    ),
    "show.history.strips": ("release_strips",),
    "show.history.tables": (
        "release_builds",
        "release_costs",
        "release_costs_to_base",
        "release_rates",
        "release_rates_to_base",
        "release_rates_to_before",
        "release_reasons",
    ),
    "show.kit.display": ("draw", "each", "long_steps", "middle_runs", "say"),
    "show.live": ("live",),
    "show.made_from.sentences": (
        "client_statements",
        "experiment_statements",
        "host_statements",
        "run_statements",
        "unjudged_client_statements",
    ),
    "show.made_from.tables": ("config_table", "fragments_table", "gaps_table", "runs_table", "skipped_table"),
    "show.purge_lag.charts": ("dead_rows_chart", "purge_lag_chart", "purge_lag_end_chart"),
    "show.purge_lag.sentences": ("dead_rows_statements", "purge_lag_statements"),
    "show.purge_lag.tables": ("dead_rows_table", "purge_lag_table"),
    "show.recomputed.sentences": ("archive_statements", "recomputed_statements"),
    "show.recomputed.tables": ("recomputed_table",),
    "show.responses.charts": ("response_heat_chart",),
    "show.responses.sentences": ("response_statements",),
    "show.responses.tables": ("response_time_table",),
    "show.sections": ("dead_rows", "made_from", "sweeps"),
    "show.sla.sentences": ("sla_statements",),
    "show.sla.tables": ("sla_table",),
    "show.stability.sentences": ("stability_statements",),
    "show.stability.tables": ("rate_by_tenth_table",),
    "show.step_detail.charts": ("step_detail_chart",),
    "show.step_detail.detail": ("not_captured", "step_detail"),
    "show.step_detail.sentences": ("steadiness_statements",),
    "show.step_detail.tables": ("stall_company_table",),
    "show.sweep.charts": ("sweep_chart",),
    "show.sweep.sentences": ("sweep_statements",),
    "show.throughput.by_build": ("by_build",),
    "show.throughput.charts": ("max_response_chart", "rate_chart"),
    "show.throughput.sentences": ("throughput_caveat_statements", "throughput_statements"),
    "show.throughput.tables": ("throughput_table",),
    "show.waits.charts": ("waits_chart",),
    "show.waits.sentences": ("waits_statements",),
    "show.waits.strips": ("waits_strips",),
    "show.waits.tables": ("waits_captured_table", "waits_table"),
    "store.catalogue": ("questions",),
    "store.reader": ("columns", "documentation", "lake", "question", "sql"),
    "workloads.insert_benchmark.results.charts": ("get_min_chart", "get_min_dead_rows_chart"),
    "workloads.insert_benchmark.results.statements": (
        "get_min_dead_rows_statements",
        "get_min_statements",
        "insert_benchmark_statements",
        "mvcc_gc_statements",
        "settling_statements",
        "step_statements",
    ),
    "workloads.insert_benchmark.results.tables": ("deviations_table", "get_min_dead_rows_table", "get_min_table"),
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
    "workloads.sysbench.results.charts": ("sysbench_ratios_chart", "sysbench_threads_chart"),
    "workloads.sysbench.results.ratios": ("sysbench_ratios",),
    "workloads.sysbench.results.statements": ("sysbench_counted_statements", "sysbench_statements"),
    "workloads.sysbench.results.tables": (
        "sysbench_groups_table",
        "sysbench_scale_up_table",
        "sysbench_statements_table",
        "sysbench_table",
        "sysbench_times_table",
    ),
    "workloads.sysbench.results.threads": ("sysbench_threads",),
    "workloads.tpcc.results.charts": ("disk_throughput_chart", "notpm_chart", "server_cpu_chart"),
    "workloads.tpcc.results.statements": (
        "deck_statements",
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
