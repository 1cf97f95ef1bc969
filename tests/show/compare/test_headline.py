"""The first screen of a comparison: rates, tails, and what differs with them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ibench_lib.ask.pair import Pair, pair
from ibench_lib.ask.selection import choose
from ibench_lib.show.compare.headline import pair_headline
from ibench_lib.show.kit.display import Html
from tests.shared import lake_of
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def side(config: str, minute: int, queries: int, history: int, repeats: int = 3) -> list[Run]:
    return [
        Run(config, repeat=n, minute=minute + n, queries=queries + 10 * n, history_list=(10, 20, history + n, 5))
        for n in range(1, repeats + 1)
    ]


def chosen(*runs: Run) -> Pair:
    return pair(choose(lake_of(*runs), "demo"))


def screen(chosen: Pair) -> str:
    (item,) = pair_headline(chosen).items
    assert isinstance(item, Html)
    return item.markup


def said(chosen: Pair) -> list[str]:
    found = re.findall(r"<li>(.*?)<a ", screen(chosen))
    return [re.sub(r"<.*?>|&[a-z]+;", "", text).strip() for text in found]


@pytest.mark.slow
def test_what_is_faster_and_what_differs_with_it_is_said_and_drawn() -> None:
    two = chosen(*side("a", 0, 5000, 300), *side("b", 10, 2500, 3000))
    markup = screen(two)
    assert "A is system.a (3 runs); B is system.b (3 runs); setup cached; 2 clients." in markup
    assert '<p class="finding">Range queries (qr100): queries/s 0.50x, slower with b than with a' in markup
    assert "Each dot: B / A (system.b / system.a), with its 95 % interval from the noise of these two alone (" in markup
    assert not [text for text in said(two) if text.startswith("qr100")], "its strip has the ratio with its interval"
    (even,) = [text for text in said(two) if text.startswith("l.i1")]
    assert even.startswith("l.i1: no difference found in inserts/s, ") and "the smallest detectable change is" in even
    (index,) = [text for text in said(two) if text.startswith("l.x")]
    assert "rows indexed/s" in index and "inserts/s" not in index
    caption = r'<figcaption>[^<]*<span class="code"> (.*?)</span>[^<]*</figcaption>'
    drawn = dict(re.findall(f"{caption}(.*?)</figure>", markup))
    assert '<span class="code"> qr100</span>, measured for 5 s</figcaption>' in markup, (
        "a hiccup would be a large part of it"
    )
    assert '<span class="code"> l.i1</span></figcaption>' in markup
    assert re.search(r"inserts/s.*1.00x, both at their target.*queries/s.*0.50x, slower", drawn["qr100"], re.DOTALL)
    assert "at their target" not in drawn["l.i1"], "it has none"
    assert "queries/s" in drawn["qr100"] and "history list length" in drawn["l.i1"]
    assert re.search(r"history list length: \d+\.\d\dx", drawn["l.i1"]) and " worse" in drawn["l.i1"], "lower is better"


@pytest.mark.slow
def test_a_side_that_missed_its_target_is_not_at_it() -> None:
    slower = [replace(run, background_rows=400) for run in side("b", 10, 5000, 300)]
    assert "at their target" in screen(chosen(*side("a", 0, 5000, 300), *side("b", 10, 5000, 300)))
    assert "at their target" not in screen(chosen(*side("a", 0, 5000, 300), *slower))


@pytest.mark.slow
def test_without_repeats_or_a_second_dbms_nothing_is_judged() -> None:
    one_each = said(chosen(*side("a", 0, 5000, 300, 1), *side("b", 10, 2500, 3000, 1)))
    (once,) = one_each
    assert once.endswith(": too few runs to tell a difference from noise.") and "l.i1 and qr100" in once
    assert "only one dbms here" in screen(chosen(*side("a", 0, 5000, 300)))
    assert "no run yet" in screen(pair(choose(lake_of())))
