"""The first screen of a page on waits."""

from __future__ import annotations

import re
from typing import Any

import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import Selection, choose
from ibench_lib.show.waits.sentences import waits_statements
from ibench_lib.show.waits.strips import waits_strips
from ibench_lib.store import reader
from tests.places import ROOT
from tests.shared import lake_of
from tests.show.waited import COUNTED, interval, timed
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def counted(config: str, minute: int, waits: int, repeat: int = 1) -> Run:
    rows = (
        interval(6.0, "innodb_mutex", COUNTED, waits, None),
        interval(6.0, "innodb_mutex", "log0log.cc:844", waits, None),
    )
    return Run(config, minute=minute, repeat=repeat, also=rows)


def chosen(*runs: Any) -> Selection:
    return choose(lake_of(*runs), "demo", steps=["l.i0"])


def shown(post: Selection) -> str:
    return waits_strips(post).markup


def test_all_locks_together_are_drawn_relative_to_the_base() -> None:
    runs = [counted("a", n, 440 + 4 * n, n) for n in (1, 2, 3)] + [
        counted("b", 10 + n, 880 + 4 * n, n) for n in (1, 2, 3)
    ]
    page = shown(chosen(*runs))
    assert "l.i0, mutexes and locks, waits per 1,000 rows" in re.sub("<[^>]*>", "", page)
    assert re.search(r"(1\.9|2\.0)\dx", page) and " more</td>" in page, "twice the waits, which nobody timed"
    assert page.count("<figure") == 1


def test_each_step_says_what_its_waits_are_per_and_the_load_comes_last() -> None:
    """The sample's LinkBench: a load counts rows, a request operations."""
    chosen = choose(reader.lake(str(ROOT / "data" / "sample")), "linkbench_small")
    waits = chosen.ask("waits")
    page = waits_strips(chosen).markup
    titles = re.findall(
        r"(?:1x|10x), (?:\d+ requesters? )?(load|t1|t4|t16|control\S*?), mutexes and locks, waits per 1,000 "
        r"(\w+)[^\w ]",
        re.sub("</?span[^>]*>", "", page),
    )
    assert {step: unit for step, unit in titles if not step.startswith("control")} == {
        "load": "rows", "t1": "operations", "t4": "operations", "t16": "operations"
    }  # fmt: skip
    assert titles[-1][0] == "load" and titles[0][0] == "t1" and "rows or operations" not in page
    said = [line for line in waits_statements(waits, chosen.ask("waits_captured")) if " in 10x" in line]
    assert said[-1].startswith("load in 10x") and "per 1,000 rows" in said[-1]
    assert said[0].startswith("t1 in 10x") and "per 1,000 operations" in said[0]


def test_times_are_drawn_where_every_dbms_has_them_and_never_against_counts() -> None:
    both = shown(chosen(timed("a"), timed("b", minute=1, times=2.0)))
    assert "mutexes and locks, ms per 1,000 rows" in both
    # 100 ms of the mutex and 10 ms of the lock; files are left out.
    assert "2.00x" in both
    mixed = chosen(timed("a"), counted("b", 1, 440))
    assert shown(mixed) == "", "one has times, the other counts"


def test_without_waits_the_screen_has_no_strips_and_says_why() -> None:
    post = chosen(Run("a"), Run("b", minute=1))
    assert shown(post) == ""
    (screen,) = ib.opening(post, ib.waits_statements, pictures=waits_strips(post)).items
    assert "the experiment did not ask for waits" in screen.markup
