"""The section of a post on what more threads bring."""

from __future__ import annotations

import polars as pl

from ibench_lib.ask.provenance import derived
from ibench_lib.show.kit.display import Asker, Shown, draw
from ibench_lib.workloads.sysbench.results.charts import sysbench_threads_chart
from ibench_lib.workloads.sysbench.results.tables import sysbench_scale_up_table

_NOTHING = "No test was run with several numbers of threads."


def sysbench_threads(post: Asker) -> Shown:
    """A chart and a table for each test that was run with several numbers of threads; a sentence if none was."""
    summary = post.ask("sysbench_summary")
    several = summary.filter(pl.col("threads").n_unique().over("test", "setup") > 1)
    frame = derived(several, summary)
    return draw(post, sysbench_threads_chart, sysbench_scale_up_table, frame=frame, nothing=_NOTHING)
