"""Sections of a post that all workloads share, one call each."""

from __future__ import annotations

from typing import Any

import ibench_lib
from ibench_lib.ask.selection import Selection
from ibench_lib.paths import found_workloads
from ibench_lib.show.display import Section, each, say, warnings
from ibench_lib.show.statements.made_from import experiment_statements, host_statements, run_statements
from ibench_lib.show.tables.made_from import gaps_table, runs_table, skipped_table

_COMPLETE = "Every step that was measured here completed, and no second is missing."


def made_from(
    post: Selection,
    *,
    experiments: bool = True,
    workload: bool = False,
    complete: str = _COMPLETE,
    palette: str = "default",
) -> Section:
    """What a post is made from: sentences on runs and hosts, a table of all runs, missing and skipped data, warnings.

    Parameters
    ----------
    experiments, workload : whether to add sentences on the experiment files and on the workload.
    complete : the sentence to show if nothing is missing.
    """
    subjects = [run_statements, host_statements]
    subjects += [experiment_statements] if experiments else []
    subjects += _of_workloads() if workload else []
    return Section(
        (
            say(post, *subjects),
            each(post.runs, runs_table, by="experiment", fold="The runs", nothing="There is no run.", palette=palette),
            each(post.ask("gaps"), gaps_table, by=[], nothing=post.nothing(complete), palette=palette),
            each(
                post.ask("skipped"), skipped_table, by=[], nothing="Every file of the runs could be read.",
                palette=palette,
            ),
            warnings(post.runs),
        )
    )  # fmt: skip


def _of_workloads() -> list[Any]:
    """The sentences of each workload on its runs, from its function <workload>_statements if it has one."""
    names = [f"{workload}_statements" for workload in found_workloads("results/statements.py")]
    return [getattr(ibench_lib, name) for name in names if name in ibench_lib.__all__]
