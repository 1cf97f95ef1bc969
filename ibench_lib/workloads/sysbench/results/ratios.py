"""The section of a post that compares all tests of sysbench at a glance."""

from __future__ import annotations

import polars as pl

from ibench_lib.show.kit.display import Asker, Shown, draw
from ibench_lib.workloads.sysbench.results.charts import sysbench_ratios_chart
from ibench_lib.workloads.sysbench.results.tables import sysbench_groups_table

_NOTHING = "There are no two dbms with two tests, so there is nothing to compare at a glance."


def sysbench_ratios(post: Asker) -> Shown:
    """A heat map of the ratios of all tests, and their averages by group, for each setup and number of threads.

    A sentence where there are no two dbms, or no two tests.
    """
    summary = post.ask("sysbench_summary")
    place, done = ["setup", "threads"], pl.col("step_status") == "complete"
    several = [
        (pl.col(column).filter(done).n_unique().over(place) > 1).alias(f"several_{column}")
        for column in ("dbms", "test")
    ]
    shown = summary.with_columns(several).filter("several_dbms", "several_test").drop("several_dbms", "several_test")
    return draw(
        post,
        sysbench_ratios_chart,
        sysbench_groups_table,
        frame=shown,
        by=["threads", "setup"],
        nothing=_NOTHING,
        rates=post.ask("step_throughput"),
    )
