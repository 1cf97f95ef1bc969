"""Sections that all posts share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.paths import Workspace
from ibench_lib.show.kit.display import Html, Section, Shown
from ibench_lib.show.kit.drawing import Drawing
from ibench_lib.show.sections import dead_rows, made_from
from ibench_lib.store import reader
from tests.shared import lake_of
from tests.show.purge_lag.test_dead_rows import PAIR
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake


def markup_of(section: Section) -> str:
    """What a section shows, as HTML, without charts."""
    items = [item for part in section.parts for item in (part.items if isinstance(part, Shown) else (part,))]
    return "\n".join(
        item.markup if isinstance(item, Html) else item.html() for item in items if not isinstance(item, Drawing)
    )


@pytest.mark.slow
def test_damaged_runs_of_the_experiment_that_are_not_shown_are_folded_and_counted(workspace: Workspace) -> None:
    older, chosen = Run(), Run(minute=1)
    left, elsewhere = Run("cy10ap1", minute=2), Run("cy10ap1lag", minute=3, experiment="another")
    for writer in write_runs(workspace, older, chosen, left, elsewhere):
        path = writer.run_dir / "ops.parquet"
        path.write_bytes(path.read_bytes()[:-9])
    shown = markup_of(made_from(choose(reader.lake(workspace), "demo", dbms="system.cy10a")))
    open_part, _, folded = shown.partition("Also damaged: 2 runs of the experiment that this page does not show")
    assert chosen.run_id in open_part and left.run_id not in open_part and older.run_id not in open_part
    assert older.run_id in folded and left.run_id in folded
    assert elsewhere.run_id not in shown
    whole = markup_of(made_from(choose(reader.lake(workspace), "demo", runs=[older.run_id])))
    assert "Also damaged" not in whole and all(run.run_id in whole for run in (older, chosen, left))


def test_what_is_missing_is_folded_behind_what_it_is() -> None:
    whole, failed = Run(), Run("b", minute=1, status="failed", failed_step="l.i1", error="lost", steps=("l.i0",))
    shown = markup_of(made_from(choose(lake_of(whole, failed), "demo")))
    _, _, folded = shown.partition("<summary>Missing in 1 of 2 results: step ")
    assert "What is missing" in folded.partition("</details>")[0]
    shown = markup_of(made_from(choose(lake_of(whole), "demo")))
    assert "Missing in" not in shown and "Complete: no failed step, no missing second." in shown


def test_dead_rows_are_shown_where_a_server_counts_them() -> None:
    assert dead_rows(choose(lake_of(Run()), "demo")).parts == ()
    shown = markup_of(dead_rows(choose(lake_of(*PAIR, Run("maria", minute=2)), "demo")))
    assert "over 10,000 and more than 10x the smallest" in shown and "Dead rows at the end of each step" in shown
    assert "maria" not in shown and "istory" not in shown


def test_a_workload_adds_what_dead_rows_do() -> None:
    """Its sentences, tables and charts stand below; a post without such a server has none of them."""
    parts: tuple[Any, ...] = (ib.get_min_dead_rows_statements,)
    more = {"drawings": (ib.get_min_dead_rows_table,)}
    assert dead_rows(choose(lake_of(Run()), "demo"), *parts, **more).parts == ()
    runs = [replace(run, steps=("l.i0", "l.x", "l.i1", "qr100")) for run in PAIR]
    shown = markup_of(dead_rows(choose(lake_of(*runs), "demo"), *parts, **more))
    assert shown.index("Dead rows at the end of each step") < shown.index("get_min next to dead rows, system.many")
    assert "before qr100 there were 90,000 dead rows" in shown
