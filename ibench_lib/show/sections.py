"""Sections of a post that all workloads share, one call each."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from ibench_lib import plugins
from ibench_lib.analysis.sweep import swept_steps
from ibench_lib.ask.provenance import derived
from ibench_lib.ask.selection import Selection
from ibench_lib.base.wording import count, shortened
from ibench_lib.paths import workload_folders, workload_modules
from ibench_lib.show.kit.display import Html, Section, Shown, draw, each, say, sentence, warnings
from ibench_lib.show.kit.pieces import Sentence
from ibench_lib.show.made_from.sentences import (
    client_statements,
    experiment_statements,
    host_statements,
    run_statements,
    unjudged_client_statements,
)
from ibench_lib.show.made_from.tables import gaps_table, runs_table, skipped_table
from ibench_lib.show.purge_lag.charts import dead_rows_chart
from ibench_lib.show.purge_lag.sentences import dead_rows_statements
from ibench_lib.show.purge_lag.tables import dead_rows_table
from ibench_lib.show.sweep.charts import sweep_chart
from ibench_lib.show.sweep.sentences import sweep_statements

_COUNTS_DEAD_ROWS = "postgres"
"""The flavour of servers whose old row versions are dead rows of tables, not a history list."""
_COMPLETE = "Complete: no failed step, no missing second."
_PUBLISHED = "Published figures have no seconds, so none can be missing."


def made_from(
    post: Selection,
    *,
    experiments: bool = True,
    workload: bool = False,
    complete: str = _COMPLETE,
) -> Section:
    """What a post is made from: sentences on runs and hosts, a table of all runs, missing and skipped data, warnings.

    Parameters
    ----------
    experiments, workload : whether to add sentences on the experiment files and on the workload.
    complete : the sentence to show if nothing is missing.
    """
    subjects: list[Callable[..., list[str]]] = [
        run_statements,
        host_statements,
        client_statements,
        unjudged_client_statements,
    ]
    subjects += [experiment_statements] if experiments else []
    subjects += _of_workloads() if workload else []
    return Section(
        (
            say(post, *subjects),
            *excluded_runs(post),
            each(
                post.runs,
                runs_table,
                by="experiment",
                fold="The runs",
                nothing="There is no run.",
                palette=post.palette,
            ),
            _gaps(post, complete),
            *_skipped(post),
            warnings(post.runs),
        )
    )


def _gaps(post: Selection, complete: str) -> Shown:
    """What is missing, folded behind a line that names its kinds; `complete` if nothing is."""
    found = post.ask("gaps")
    if set(post.runs["origin"]) == {"published"}:
        complete = _PUBLISHED
    shown = each(found, gaps_table, by=[], nothing=post.nothing(complete), palette=post.palette)
    if found.is_empty():
        return shown
    kinds = shortened(found["problem"].unique(maintain_order=True).to_list())
    said = f"Missing in {found['dbms'].n_unique()} of {count(post.runs['dbms'].n_unique(), 'result')}: {kinds}"
    head = Html(f'<details class="fold"><summary>{html.escape(said)}</summary>')
    return Shown((head, *shown.items, Html("</details>")), shown.answers)


def _skipped(post: Selection) -> tuple[Shown, ...]:
    """What could not be read of the post's runs and of runs whose experiment is unknown; folded, that of the others."""
    skipped = post.ask("skipped")
    mine, others = (skipped.filter(pl.col("selected") == whose) for whose in (True, False))
    shown = each(mine, skipped_table, by=[], nothing="Every file of the runs could be read.", palette=post.palette)
    if others.is_empty():
        return (shown,)
    summary = (
        f"Also damaged: {count(others['run_id'].n_unique(), 'run')} of the experiment that this page does not show "
        f"(older runs of a cell, or runs that were not chosen)"
    )
    table = each(others, skipped_table, by=[], palette=post.palette, title="Damaged runs that are not shown")
    head = Html(f'<details class="fold"><summary>{html.escape(summary)}</summary>')
    return shown, Shown((head, *table.items, Html("</details>")), table.answers)


def excluded_runs(post: Selection) -> tuple[Html, ...]:
    """The runs that would belong to the post, and why they do not; nothing if there are none."""
    if not post.excluded:
        return ()
    items = [Sentence(f"{run_id}: {why}") for run_id, why in post.excluded.items()]
    head = f"{count(len(post.excluded), 'run')} excluded:"
    return (Html(sentence(head), "<ul>", *items, "</ul>"),)


def sweeps(post: Selection) -> Section:
    """Throughput over each axis of an experiment: clients, and options that vary. Nothing if there is none."""
    # Names say it, so that a post without an axis does not ask, and has no question without an answer.
    runs = post.runs
    if not any("-clients-" in name for name in runs["setup"]) and not any("-" in name for name in runs["config"]):
        return Section(())
    asked = {"runs": post.run_ids, "steps": post.steps}
    sweep = post.looked_up("sweep", asked)
    drawn = [rows for _, _, _, rows in swept_steps(sweep)]
    if not drawn:
        return Section(())
    shown = derived(pl.concat(drawn), post.ask("sweep"))
    return Section(
        (
            say(post, sweep_statements),
            each(shown, sweep_chart, by=["axis", "setup", "step"], heading="axis", anchor="sweep", fold=True),
        )
    )


def dead_rows(
    post: Selection,
    *subjects: Callable[..., list[str]],
    drawings: Sequence[Callable[..., Any]] = (),
) -> Section:
    """Dead rows at the end of each step and during it, of servers that count them. Nothing if none is one of these.

    Parameters
    ----------
    subjects, drawings : a workload's own sentences, and its tables and charts, on what dead rows do.
    """
    # As in `sweeps`: a post without such a server does not ask.
    if _COUNTS_DEAD_ROWS not in post.runs["flavour"]:
        return Section(())
    return Section(
        (
            say(post, dead_rows_statements),
            draw(post, dead_rows_table, nothing="No dead rows were captured."),
            draw(post, dead_rows_chart, nothing=""),
            *([say(post, *subjects)] if subjects else []),
            *(draw(post, drawing) for drawing in drawings),
        )
    )


def _of_workloads() -> list[Any]:
    """The sentences of each workload on its runs, from its function <workload>_statements if it has one."""
    found = {
        f"{name}_statements": plugins.load(f"{workload_modules()[name]}.results.statements")
        for name in workload_folders("results/statements.py")
    }
    return [getattr(module, name) for name, module in found.items() if hasattr(module, name)]
