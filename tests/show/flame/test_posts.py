"""Flame graphs of a selection, and the one line where there is no profile."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from ibench_lib.analysis.history import version_history
from ibench_lib.ask.pair import pair
from ibench_lib.ask.selection import choose
from ibench_lib.show.flame.posts import dip_flames, flame_differences, flame_graphs, release_flames
from ibench_lib.show.kit.display import Html, Shown
from tests.places import ROOT
from tests.shared import lake_of
from tests.show.profiled import COPY, STACKS, Rows, profiled, recording, with_dips
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def texts(shown: Shown) -> list[str]:
    return [re.sub(r"<[^>]*>", "", item.markup) for item in shown.items if isinstance(item, Html)]


def figures(shown: Shown) -> list[str]:
    found = [item.markup for item in shown.items if isinstance(item, Html) and "<figure" in item.markup]
    return [re.findall(r"<figcaption>(.*?)</figcaption>", text)[0] for text in found]


def test_each_profiled_result_has_a_graph_and_the_others_a_reason() -> None:
    post = choose(lake_of(profiled("a"), Run("b", minute=1)), "demo", steps=["l.i0"])
    shown = flame_graphs(post)
    assert figures(shown) == ["Where the server&#x27;s CPU goes in inserts in key order (l.i0), cached: system.a"]
    assert shown.answers == ("profiled", "stacks")
    assert texts(shown)[-1] == (
        "The server was not profiled in any step of system.b: the experiment did not ask for it "
        "(capture: {profile: {}})."
    )


def test_runs_without_a_profile_have_one_line() -> None:
    post = choose(lake_of(Run("a"), Run("b", minute=1)), "demo")
    said = (
        "The server was not profiled in any step: the experiment did not ask for it (capture: {profile: {}}). profiled"
    )
    (line,) = texts(flame_graphs(post))
    assert line.replace("query", "profiled") == said
    assert [asked.question for asked in post.asked if asked.question == "stacks"] == []


def test_no_run_says_so() -> None:
    assert texts(flame_graphs(choose(lake_of(), "")))[0].startswith("There is no run yet.")
    assert texts(flame_differences(pair(choose(lake_of(), ""))))[0].startswith("There is no run yet")


def test_two_results_are_compared_where_both_were_profiled() -> None:
    both = pair(choose(lake_of(profiled("a"), profiled("b", {**STACKS, "x;y": 9}, minute=1)), "demo"))
    assert figures(flame_differences(both)) == [
        "Where the server&#x27;s CPU goes in inserts in key order (l.i0), cached: system.a and system.b"
    ]
    one = pair(choose(lake_of(profiled("a"), Run("b", minute=1)), "demo"))
    shown = flame_differences(one)
    assert figures(shown) == []
    assert texts(shown)[-1] == (
        "The server was not profiled in any step of system.b: the experiment did not ask for it "
        "(capture: {profile: {}}). The server was not profiled in l.x, l.i1 and qr100 of system.a: no recording lies "
        "entirely within the step: use a longer step, or smaller `every_s` and `seconds`."
    )


def test_the_graph_that_differs_most_opens_a_post_and_the_others_are_folded() -> None:
    cpus = {("cached", "a"): 0.4, ("cached", "b"): 0.4, ("io", "a"): 0.4, ("io", "b"): 0.8}
    runs = [profiled(name, cpus=cpu, setup=setup, minute=at) for at, ((setup, name), cpu) in enumerate(cpus.items())]
    both = pair(choose(lake_of(*runs), "demo"))

    def setups(shown: Shown) -> list[str]:
        return re.findall(r"\(l\.i0\), (\w+):", " ".join(figures(shown)))

    assert setups(flame_differences(both)) == ["cached", "io"]
    shown = flame_differences(both, opening=True)
    assert setups(shown) == ["io", "cached"]
    heads = [item.markup for item in shown.items if isinstance(item, Html)]
    (fold,) = [at for at, markup in enumerate(heads) if "<summary>Where the server" in markup]
    assert fold < next(at for at, markup in enumerate(heads) if "<figure" in markup and "cached" in markup)
    assert sum(head.count("<details") - head.count("</details>") for head in heads) == 0
    alone = pair(choose(lake_of(profiled("a")), "demo"))
    assert flame_differences(alone, opening=True).items == () != flame_differences(alone).items


def test_every_notebook_of_two_results_opens_with_it() -> None:
    for name in ("compare", "regression"):
        cells = json.loads((ROOT / f"notebooks/{name}.ipynb").read_text())["cells"]
        texts = ["".join(cell["source"]) for cell in cells]
        first = next(at for at, text in enumerate(texts) if text.startswith("## "))
        assert texts[first - 1] == "ib.flame_differences(pair, opening=True)", name


def test_the_oldest_and_the_newest_profiled_release_are_compared() -> None:
    runs = [profiled("c", build=f"b{at}", minute=at) for at in (1, 2, 3)]
    post = choose(lake_of(*runs, Run("c", build="b4", minute=4)), "demo")
    history = version_history(post.ask)
    found = figures(release_flames(post, history))
    known = [build.name for line in history.lines for build in line.builds]
    assert found == (
        [f"Where the server&#x27;s CPU goes in inserts in key order (l.i0), cached: {known[0]}.c and {known[2]}.c"]
        if known
        else []
    )


def of_dips(*runs: Run) -> Shown:
    return dip_flames(choose(lake_of(*runs), "demo", steps=["l.i1"]))


def test_dips_are_compared_with_the_rest_by_operation() -> None:
    shown = of_dips(with_dips("a", STACKS, {**STACKS, COPY: 120}))
    assert figures(shown) == [
        "Where the server&#x27;s CPU goes in inserts with secondary indexes (l.i1), cached: "
        "system.a outside dips and system.a in dips"
    ]
    assert shown.answers == ("profiled", "stacks", "dip_recordings")
    (graph,) = [item.markup for item in shown.items if isinstance(item, Html) and "<figure" in item.markup]
    assert re.findall(r"<p>([AB]: .*?samples)", graph) == [
        "A: system.a outside dips, 2026-11-21: 160.00 us/op of the server&#x27;s CPU; 1 run, 1 recording, 200 samples",
        "B: system.a in dips (1.5 of 2 s), 2026-11-21: 320.00 us/op of the server&#x27;s CPU; 1 run, 1 recording, "
        "300 samples",
    ]


def test_two_runs_of_each_tell_a_change_from_noise() -> None:
    runs = [
        with_dips("a", STACKS, {**STACKS, COPY: more}, repeat=n, minute=n) for n, more in ((1, 400), (2, 410), (3, 405))
    ]
    shown = of_dips(*runs)
    assert not any("No change is coloured" in text for text in texts(shown))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (recording(18, {COPY: 199}, t_s=20.5, cpu_s=1.0, seconds=2.0),
         "its recordings have 199 samples in dips and 200 outside, and 200 of each are needed"),
        (recording(18, STACKS, t_s=21.0, cpu_s=1.0, seconds=2.0),
         "nothing was completed in some of its recordings, so they have no CPU per operation"),
        (recording(18, STACKS, t_s=20.5, cpu_s=None, seconds=2.0),
         "the CPU of its recordings or the operations meanwhile are not known"),
    ],
)  # fmt: skip
def test_one_line_says_why_dips_are_not_compared(rows: Rows, why: str) -> None:
    rest = recording(15, STACKS, t_s=17.5, cpu_s=2.0, seconds=2.0)
    shown = of_dips(Run("a", stall=(4, 5), also=(*rest, *rows)))
    assert texts(shown) == [f"No graph of dips against the rest of system.a in l.i1, cached: {why}."]


@pytest.mark.parametrize("run", [replace(with_dips("a", STACKS, STACKS), stall=()), Run("a", stall=(4, 5))])
def test_without_dips_or_without_a_profile_there_is_no_line(run: Run) -> None:
    shown = of_dips(run)
    assert shown.items == () and shown.answers == ()
