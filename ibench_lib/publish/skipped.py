"""Whether a post has a run to show, before a kernel is started for it: its title may claim what only runs can."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence

import duckdb

from ibench_lib.ask.selection import experiments, has_run
from ibench_lib.paths import LAKE_VARIABLE, Workspace
from ibench_lib.publish.post_file import CheckedPost
from ibench_lib.store import reader


def without_run(posts: Sequence[CheckedPost], workspace: Workspace) -> dict[str, str]:
    """The posts that name an experiment or runs of which the lake has none: slug -> why, in words.

    The lake is the one that their notebooks open. Posts that name neither an experiment nor runs are never reported.
    """
    asking = {
        post.spec.slug: (experiment, runs)
        for post in posts
        if isinstance(experiment := post.spec.parameters.get("experiment", ""), str)
        and isinstance(runs := post.spec.parameters.get("runs", []), list)
        and (experiment or runs)
    }
    if not asking:
        return {}
    lake = reader.lake(os.environ.get(LAKE_VARIABLE) or workspace)
    return {
        slug: _why(lake, experiment, workspace)
        for slug, (experiment, runs) in asking.items()
        if not has_run(lake, experiment, runs)
    }


def _why(lake: duckdb.DuckDBPyConnection, experiment: str, workspace: Workspace) -> str:
    if not experiment:
        return "the lake has none of the runs that it names"
    why = f"the lake has no run of experiment {experiment} yet"
    if experiment == "demo":
        return f"{why} (make some with: make demo)"
    file = workspace.root / "experiments" / f"{experiment}.yaml"
    if file.is_file():
        return f"{why} (make some with: ibench run experiments/{file.name})"
    near = difflib.get_close_matches(experiment, experiments(lake)["experiment"].to_list(), n=1)
    return f"{why}; did you mean {near[0]!r}?" if near else why
