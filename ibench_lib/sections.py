"""Putting tables and charts into a notebook: one for each setup or step of a frame, with headings and sentences.

What is shown here appears in JupyterLab as in a published post.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

import plotly.graph_objects as go  # type: ignore[import-untyped]
import polars as pl
from great_tables import GT
from IPython.display import display

from ibench_lib import theme
from ibench_lib.anchors import html_id
from ibench_lib.answers import ANSWER, name_of
from ibench_lib.metrics import METRICS

PLOTLY_MIME = "application/vnd.plotly.v1+json"


@dataclass(frozen=True)
class Html:
    """A piece of HTML that this library made, with all text in it escaped."""

    markup: str

    def _repr_html_(self) -> str:
        return self.markup


Item: TypeAlias = Html | GT | go.Figure


@dataclass(frozen=True)
class Shown:
    """Headings, tables and charts in their order; `answer` names the answer that they were made from, if it is one."""

    items: tuple[Item, ...]
    answer: str | None = None

    def _ipython_display_(self) -> None:
        made_from = {ANSWER: self.answer} if self.answer else {}
        for item in self.items:
            if isinstance(item, go.Figure):
                # The figure itself, whatever renderer plotly would choose: Lab draws it, and so does a post.
                drawn = {PLOTLY_MIME: json.loads(item.to_json()), "text/plain": item.layout.meta["title"]}
                display(drawn, raw=True, metadata=made_from)  # type: ignore[no-untyped-call]
            else:
                display(item, metadata=made_from)  # type: ignore[no-untyped-call]


def each(
    frame: pl.DataFrame,
    *functions: Callable[..., GT | go.Figure],
    by: str | Sequence[str] = "setup",
    heading: str | None = None,
    anchor: str = "",
    nothing: str = "Nothing to show.",
    **options: Any,
) -> Shown:
    """Show each function's table or chart for each group of a frame.

    Parameters
    ----------
    by : column or columns that make a group, none for the whole frame; groups keep the frame's order.
    heading : one of them, whose every new value gets a heading with the id `<value>.<anchor>`.
    nothing : the sentence for an empty frame.
    options : passed to each function.
    """
    if frame.is_empty():
        return Shown((sentence(nothing),), name_of(frame))
    items: list[Item] = []
    headings: set[str] = set()
    columns = [by] if isinstance(by, str) else list(by)
    groups = (group for _, group in frame.group_by(columns, maintain_order=True)) if columns else [frame]
    for group in groups:
        if heading:
            value = str(group[heading][0])
            if value not in headings:
                headings.add(value)
                items.append(Html(f'<h3 id="{html_id(f"{value}.{anchor}")}">{html.escape(value)}</h3>'))
        items += [function(group, **options) for function in functions]
    return Shown(tuple(items), name_of(frame))


def sentence(text: str) -> Html:
    """One paragraph of plain text."""
    return Html(f'<p class="said">{html.escape(text)}</p>')


def provenance(runs: pl.DataFrame) -> Html:
    """What a post is made from, in sentences (`selected_runs`): experiment, runs, when, tool, scale, what failed."""
    if runs.is_empty():
        return sentence("There is no run of this experiment in the lake yet, so there is nothing to show.")
    one = runs.row(0, named=True)
    begun: list[datetime] = runs["origin_wall"].to_list()
    said = [
        f"Made from {_count(len(runs), 'run')} of experiment {one['experiment']} (“{one['title']}”), "
        f"experiments/{one['experiment']}.yaml: {_count(runs['dbms'].n_unique(), 'configuration')}, "
        f"{_count(runs['setup'].n_unique(), 'setup')} ({_listed(runs['setup'])}), "
        f"{_listed(runs['clients'])} clients.",
        f"Begun from {min(begun):%Y-%m-%d %H:%M} to {max(begun):%Y-%m-%d %H:%M} UTC "
        f"with ibench {_listed(runs['tool_version'])}.",
    ]
    scales = runs["scale"].unique().sort().to_list()
    if scales != [1.0]:
        said.append(
            f"Scaled: rows, durations and server memory are {', '.join(f'{s:g}' for s in scales)} of the experiment's "
            "full size. Compare these configurations with each other, not with full-size results."
        )
    broken = runs.filter(pl.col("status") != "complete")
    if len(broken):
        said.append(
            f"{len(broken)} of {_count(len(runs), 'run')} did not complete ({_listed(broken['status'])}); "
            "their missing figures are named where they would be."
        )
    snapshot = runs.filter(pl.col("snapshot_after").is_not_null())
    if len(snapshot):
        loaded = len(snapshot.filter(pl.col("loaded_from").is_not_null()))
        said.append(
            f"After step {_listed(snapshot['snapshot_after'])} every run went on with a copy of a data directory, with "
            f"empty caches; {loaded} of {_count(len(runs), 'run')} began there, with the rows of another run."
        )
    if runs["experiment_sha256"].n_unique() > 1:
        said.append("The experiment file was changed between these runs.")
    return Html("".join(f"<p>{html.escape(line)}</p>" for line in said))


def warnings(runs: pl.DataFrame) -> Html:
    """What the runs warn of (`selected_runs`), each warning once with the results that it is about."""
    about: dict[str, list[str]] = {}
    for run in runs.select("dbms", "warnings").to_dicts():
        for warning in run["warnings"] or []:
            dbms = about.setdefault(warning, [])
            if run["dbms"] not in dbms:
                dbms.append(run["dbms"])
    if not about:
        return sentence("No run has a warning.")
    lines = (f"<li>{html.escape(warning)} ({html.escape(', '.join(dbms))})</li>" for warning, dbms in about.items())
    return Html(f"<p>Warnings of the runs:</p><ul>{''.join(lines)}</ul>")


def facts(frame: pl.DataFrame, metrics: Iterable[str]) -> Html:
    """The highest and lowest dbms of each setup and step for some metrics (`highlights`), as a list of sentences."""
    wanted = list(metrics)
    lines = []
    for row in frame.filter(pl.col("metric").is_in(wanted)).to_dicts():
        metric = METRICS[row["metric"]]
        high, low = format(row["highest"], metric.format), format(row["lowest"], metric.format)
        if high == low or row["highest"] < 20 * metric.resolution:
            continue  # mostly rounding, and no fact
        times = f", {_times(row['highest'] / row['lowest'])} times as much" if row["lowest"] > 0 else ""
        if metric.unit == "s":
            low, high = theme.seconds(row["lowest"]), theme.seconds(row["highest"])
        lines.append(
            f"{row['setup']}, {row['step']}: {metric.label} from {low} ({row['lowest_dbms']}) "
            f"to {high} ({row['highest_dbms']}){times}."
        )
    return Html("<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>" if lines else "")


def _times(value: float) -> str:
    """Three digits, more where the ratio has more before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _listed(values: pl.Series) -> str:
    return ", ".join(str(value) for value in values.drop_nulls().unique(maintain_order=True)) or "unknown"
