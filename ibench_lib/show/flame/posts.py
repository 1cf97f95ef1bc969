"""Flame graphs of the selected runs in a post, with one line where there is no profile."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import polars as pl

from ibench_lib.analysis.flame.sides import Side, dip_sides, side_of
from ibench_lib.analysis.frames import by_position, step_text, steps_of
from ibench_lib.analysis.history import History
from ibench_lib.ask.pair import Pair
from ibench_lib.ask.provenance import names_of
from ibench_lib.ask.selection import Selection
from ibench_lib.base.wording import joined, shortened
from ibench_lib.show.flame.graph import MOST_BYTES, Graph, files, functions_table, graph_of, links, markup
from ibench_lib.show.kit.display import Html, Item, Shown, sentence
from ibench_lib.stats.profile_costs import LEAST_SAMPLES

LEAST_OF_DIPS = 10 * LEAST_SAMPLES
"""Samples that dips and the rest need each: with fewer, a tenth of the CPU is too little to be judged."""

_FIT = (pl.col("samples") > 0) & (pl.col("step_status") == "complete")
"""Rows of `profiled` that can be compared."""


def flame_graphs(post: Selection) -> Shown:
    """A flame graph for each step, setup and dbms of a selection that was profiled (`profiled`, `stacks`)."""
    profiled = post.ask("profiled")
    if not profiled["samples"].sum():
        return _nothing(post.nothing, profiled)
    stacks, graphs = post.ask("stacks"), []
    for setup, step, of_step in _steps(profiled):
        for name in by_position(of_step):
            side = _side(stacks, of_step, setup, step, name)
            if side is not None:
                graphs.append((step, _graph([side], of_step, setup, step)))
    return _shown(graphs, profiled, stacks, post.palette)


def flame_differences(pair: Pair, *, opening: bool = False) -> Shown:
    """For each step and setup the flame graph of A and B on one scale (`profiled`, `stacks`).

    `opening`: the graph whose CPU per operation differs most comes first, the others are folded below it. Of a single
    dbms nothing is said then: the first screen above it says so.
    """
    if opening and not pair.other:
        return Shown(())
    profiled = pair.ask("profiled")
    if not pair.other or not profiled["samples"].sum():
        return _nothing(pair.nothing, profiled)
    stacks, graphs = pair.ask("stacks"), []
    for setup, step, of_step in _steps(profiled):
        graphs += _both(stacks, of_step, setup, step, (pair.base, pair.other))
    if opening:
        graphs.sort(key=lambda graph: -_change(graph[1]))
    return _shown(graphs, profiled, stacks, pair.palette, fold=opening)


def release_flames(post: Selection, history: History) -> Shown:
    """For each line of releases and step the graph of the oldest and the newest release that were profiled."""
    profiled = post.ask("profiled")
    if not profiled["samples"].sum():
        return _nothing(post.nothing, profiled)
    stacks, graphs = post.ask("stacks"), []
    for line in history.lines:
        of_line = history.points.filter(line=line.label).select("run_id").unique()
        mine = profiled.join(of_line, on="run_id", how="semi", maintain_order="left")
        order = {build.name: at for at, build in enumerate(line.builds)}
        for setup, step, of_step in _steps(mine.filter(_FIT)):
            builds = sorted(set(of_step["build"]) & order.keys(), key=order.__getitem__)
            if len(builds) > 1:
                ends = [of_step.filter(build=build)["dbms"][0] for build in (builds[0], builds[-1])]
                graphs += _both(stacks, of_step, setup, step, ends)
    return _shown(graphs, profiled, stacks, post.palette)


def dip_flames(post: Selection) -> Shown:
    """For each dbms, setup and step with dips the graph of what was recorded in them (B) and outside (A).

    Asks `dip_recordings` where a step with dips was profiled; nothing is shown where there is none.
    """
    dips, profiled = post.ask("dips"), post.ask("profiled")
    mine = profiled.filter(pl.col("samples") > 0).join(
        dips, on=["run_id", "step_id"], how="semi", maintain_order="left"
    )
    if mine.is_empty():
        return Shown(())
    stacks, recorded = post.ask("stacks"), post.ask("dip_recordings")
    graphs, said = [], []
    for setup, step, of_step in _steps(mine):
        for name in by_position(of_step):
            rows = of_step.filter(dbms=name)
            of_rows = recorded.join(rows, on=["run_id", "step_id"], how="semi")
            of_stacks = stacks.join(rows, on=["run_id", "step_id"], how="semi")
            rest, in_dips = dip_sides(of_stacks, rows, of_rows)
            why = _why_not(rest, in_dips, of_rows)
            if why:
                said.append(f"{name} in {step}, {setup}: {why}.")
            else:
                graphs.append((step, _graph([rest, in_dips], of_step, setup, step)))
    items = _drawn(graphs, post.palette)
    if said:
        items.append(sentence(f"No graph of dips against the rest of {' '.join(said)}"))
    return Shown(tuple(items), (*names_of(profiled), *names_of(stacks), *names_of(recorded)))


def _why_not(rest: Side, in_dips: Side, recorded: pl.DataFrame) -> str:
    """Why dips cannot be compared with the rest; empty where they can."""
    if min(rest.samples, in_dips.samples) < LEAST_OF_DIPS:
        return (
            f"its recordings have {in_dips.samples:,} samples in dips and {rest.samples:,} outside, and "
            f"{LEAST_OF_DIPS} of each are needed"
        )
    if rest.us and in_dips.us:
        return ""
    if recorded["cpu_s"].is_null().any() or recorded["done"].is_null().any():
        return "the CPU of its recordings or the operations meanwhile are not known"
    return "nothing was completed in some of its recordings, so they have no CPU per operation"


def _steps(profiled: pl.DataFrame) -> Iterator[tuple[str, str, pl.DataFrame]]:
    for setup in profiled["setup"].unique(maintain_order=True):
        of_setup = profiled.filter(setup=setup)
        for step in steps_of(of_setup):
            yield setup, step, of_setup.filter(step=step)


def _side(stacks: pl.DataFrame, profiled: pl.DataFrame, setup: str, step: str, dbms: str) -> Side | None:
    mine = stacks.filter(setup=setup, step=step, dbms=dbms)
    return side_of(mine, profiled.filter(dbms=dbms))


def _both(
    stacks: pl.DataFrame, profiled: pl.DataFrame, setup: str, step: str, names: Sequence[str]
) -> list[tuple[str, Graph]]:
    """The graph of two dbms that completed a step, if both were profiled in it."""
    sides = [_side(stacks, profiled.filter(_FIT), setup, step, name) for name in names]
    known = [side for side in sides if side is not None]
    return [(step, _graph(known, profiled, setup, step))] if len(known) == 2 else []


def _graph(sides: Sequence[Side], profiled: pl.DataFrame, setup: str, step: str) -> Graph:
    """The graph of one side or of two, with its step in words in the title."""
    called = step_text(profiled, step, "{words} ({step})")
    return graph_of(sides, f"{step}, {setup}", called=f"{called}, {setup}")


def _change(graph: Graph) -> float:
    """How far apart A and B are in CPU per operation; 0 where that is not known."""
    a, b = (side.us or 0.0 for side in graph.sides)
    return abs(math.log(b / a)) if a > 0 and b > 0 else 0.0


def _shown(
    graphs: list[tuple[str, Graph]], profiled: pl.DataFrame, stacks: pl.DataFrame, palette: str, *, fold: bool = False
) -> Shown:
    """The graphs, all but the first folded if so asked, and what is missing."""
    items = _drawn(graphs[:1] if fold else graphs, palette)
    for step, graph in graphs[1:] if fold else ():
        head = Html(f'<details class="fold"><summary>{html.escape(graph.title)}</summary>')
        items += [head, *_drawn([(step, graph)], palette), Html("</details>")]
    missing = _missing(profiled)
    if missing:
        items.append(sentence(missing))
    return Shown(tuple(items), (*names_of(profiled), *names_of(stacks)))


def _drawn(graphs: list[tuple[str, Graph]], palette: str) -> list[Item]:
    items: list[Item] = []
    for step, graph in graphs:
        figure = markup(graph, palette)
        table = replace(functions_table(graph), palette=palette)
        items += [figure, Html('<details class="fold"><summary>The functions as a table</summary>'), table]
        saved = links(files(graph, step), MOST_BYTES - len(figure.markup))
        items.append(Html("</details><details><summary>Files of this profile</summary>", saved, "</details>"))
    return items


def _nothing(nothing: Callable[[str], str], profiled: pl.DataFrame) -> Shown:
    """The one line of a post without profiles."""
    said = nothing(_missing(profiled) or "No step has begun, so there is no profile.")
    return Shown((sentence(said, *names_of(profiled)),))


def _missing(profiled: pl.DataFrame) -> str:
    """Which steps of which results have no profile, and why."""
    steps: dict[tuple[str, str], dict[str, None]] = {}
    for row in profiled.filter(pl.col("samples") == 0).to_dicts():
        steps.setdefault((row["reason"], row["dbms"]), {})[row["step"]] = None
    whose: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (reason, dbms), of_dbms in steps.items():
        whose.setdefault((reason, tuple(of_dbms)), []).append(dbms)
    lines = []
    for (reason, of_all), names in whose.items():
        what = "any step" if len(of_all) == profiled["step"].n_unique() else joined(of_all)
        of = f" of {shortened(names, ', ')}" if len(names) < profiled["dbms"].n_unique() else ""
        lines.append(f"The server was not profiled in {what}{of}: {reason}.")
    return " ".join(lines)
