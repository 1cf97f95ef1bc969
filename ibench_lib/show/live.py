"""Runs in progress, in an output of a notebook that refreshes itself."""

from __future__ import annotations

import asyncio
import contextlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from IPython.display import display

from ibench_lib.ask.selection import Selection, choose
from ibench_lib.show.kit.chart_text import PLOTLY_MIME
from ibench_lib.show.kit.display import Html, each
from ibench_lib.show.kit.grid import Grid
from ibench_lib.show.made_from.tables import runs_table
from ibench_lib.show.throughput.charts import rate_chart
from ibench_lib.show.throughput.tables import throughput_table
from ibench_lib.store import reader

if TYPE_CHECKING:
    import plotly.graph_objects as go  # type: ignore[import-untyped]

_FEWEST_S = 0.5

_RUNNING = "SELECT run_id FROM runs WHERE status = 'running' AND ($experiment = '' OR experiment GLOB $experiment)"


class Live:
    """What `live` has begun. `stop()` ends it, and so does restarting the kernel."""

    def __init__(self, experiment: str, every_s: float) -> None:
        self._experiment, self._every_s = experiment, max(_FEWEST_S, every_s)
        self._text = display(Html(""), display_id=True)  # type: ignore[no-untyped-call]
        self._chart = display(Html(""), display_id=True)  # type: ignore[no-untyped-call]
        self._goes_on = self._refresh()
        self._task: asyncio.Task[None] | None = None
        with contextlib.suppress(RuntimeError):  # no loop runs, as in plain Python: then it is shown once
            if self._goes_on:
                self._task = asyncio.get_running_loop().create_task(self._keep_on())

    @property
    def is_on(self) -> bool:
        """Whether it still refreshes itself."""
        return self._task is not None and not self._task.done()

    def stop(self) -> None:
        """Leave the output as it is."""
        if self._task is not None:
            self._task.cancel()

    def __repr__(self) -> str:
        return f"<Live: {f'refreshes itself every {self._every_s:g} s; stop() ends it' if self.is_on else 'has ended'}>"

    async def _keep_on(self) -> None:
        while self._goes_on:
            await asyncio.sleep(self._every_s)
            self._goes_on = self._refresh()

    def _refresh(self) -> bool:
        """Show what is in progress now; whether there is anything. Between two cells, so no answer is disturbed."""
        lake = reader.lake()
        try:
            ids = [row[0] for row in lake.execute(_RUNNING, {"experiment": self._experiment}).fetchall()]
            now = f"{datetime.now(UTC):%H:%M:%S} UTC"
            if not ids:
                self._update(self._text, Html(f"<p>{now}: no run is in progress.</p>"))
                return False
            chosen = choose(lake, runs=ids)
            self._update(self._text, Html(f"<p>{now}</p>{_tables(chosen)}"))
            if (figure := _rates(chosen)) is not None:
                drawn = {PLOTLY_MIME: json.loads(figure.to_json()), "text/plain": figure.layout.meta["title"]}
                self._update(self._chart, drawn, raw=True)
            return True
        finally:
            lake.close()

    @staticmethod
    def _update(handle: Any, shown: Any, **options: Any) -> None:
        if handle is not None:  # outside of IPython there is no output to update
            handle.update(shown, **options)


def live(experiment: str = "", every_s: float = 2.0) -> Live:
    """Show the runs in progress, and refresh the output while other cells can be run, until no run is in progress.

    Parameters
    ----------
    experiment : its name or a glob; empty: all.
    every_s : how long to wait before each refresh, in seconds, 0.5 at least; opening a lake takes CPU of this machine.

    Returns
    -------
    What refreshes it; `stop()` ends that.
    """
    return Live(experiment, every_s)


def _tables(chosen: Selection) -> str:
    """The runs, and the throughput of their steps so far."""
    parts = [
        each(chosen.runs, runs_table, by="experiment"),
        each(chosen.ask("step_throughput"), throughput_table, nothing="No step is in progress."),
    ]
    return "".join(_markup(item) for part in parts for item in part.items)


def _markup(item: Any) -> str:
    return item.html() if isinstance(item, Grid) else str(item.markup)


def _rates(chosen: Selection) -> go.Figure | None:
    """The chart of the newest step's first operation; None before its first second."""
    seconds = chosen.ask("one_second")
    if seconds.is_empty():
        return None
    newest = seconds.sort("step_id", descending=True, maintain_order=True).row(0, named=True)
    return rate_chart(seconds.filter(**{name: newest[name] for name in ("setup", "step", "operation")}))
