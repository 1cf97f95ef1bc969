"""The section of a post that compares all tests of sysbench at a glance."""

from __future__ import annotations

import polars as pl

from ibench_lib.ask.bases import Bases
from ibench_lib.ask.provenance import derived
from ibench_lib.show.kit.display import Shown, each
from ibench_lib.workloads.sysbench.results.charts import sysbench_ratios_chart
from ibench_lib.workloads.sysbench.results.tables import sysbench_groups_table

_NOTHING = "There are no two dbms with two tests, so there is nothing to compare at a glance."


def sysbench_ratios(summary: pl.DataFrame, bases: Bases, palette: str = "default") -> Shown:
    """A heat map of the ratios of all tests, and their averages by group, for each setup and number of threads.

    A sentence where there are no two dbms, or no two tests.
    """
    place, done = ["setup", "threads"], pl.col("step_status") == "complete"
    several = [
        (pl.col(column).filter(done).n_unique().over(place) > 1).alias(f"several_{column}")
        for column in ("dbms", "test")
    ]
    shown = summary.with_columns(several).filter("several_dbms", "several_test").drop("several_dbms", "several_test")
    return each(
        derived(shown, summary), sysbench_ratios_chart, sysbench_groups_table, by=["threads", "setup"],
        base=bases, nothing=_NOTHING, palette=palette,
    )  # fmt: skip
