"""A table or a chart declares its question, and a post draws it with that."""

from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.ask.bases import bases
from ibench_lib.ask.provenance import answer_of
from ibench_lib.show.kit.answers import answers
from ibench_lib.show.kit.display import Html
from ibench_lib.show.kit.grid import Grid
from ibench_lib.store.catalogue import parameters_of, questions
from tools import public_api

FRAMES = {
    "sla": pl.DataFrame({"setup": ["s", "s", "t"], "step": ["q", "r", "r"], "x": [1, 2, 3]}),
    "dips": pl.DataFrame({"setup": ["s"]}),
    "step_throughput": pl.DataFrame(
        {
            "setup": ["s", "s", "t"],
            "step": ["q", "r", "r"],
            "step_id": [1, 2, 2],
            "step_status": "complete",
            "duration_s": [0.5, 2.0, 3.0],
            "kind": "other",
        }
    ),
}


class Post:
    """Answers from FRAMES, and notes what it was asked."""

    bases = bases("m.a")
    palette = "classic"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def ask(self, name: str) -> pl.DataFrame:
        self.asked.append(name)
        return answer_of(FRAMES[name], name)


DRAWN: list[dict[str, Any]] = []


@answers("sla", "No target.", by=["step", "setup"], heading="step", anchor="x", dips="dips")
def noting_table(frame: pl.DataFrame, base: Any, dips: Any, palette: str = "default") -> Grid:
    """Notes what it gets."""
    DRAWN.append({"x": frame["x"].to_list(), "base": base, "dips": dips, "palette": palette})
    return Grid("x", "X", "", [])


@answers("sla", "No target.")
def plain_chart(frame: pl.DataFrame) -> Grid:
    """Has neither a base nor colours."""
    return Grid("x", "X", "", [])


@pytest.fixture(autouse=True)
def nothing_drawn() -> None:
    DRAWN.clear()


def test_it_is_drawn_as_it_declares_with_the_bases_and_colours_of_the_post() -> None:
    post = Post()
    shown = ib.draw(post, noting_table, plain_chart)
    assert post.asked == ["sla", "dips"] and shown.answers == ("sla",)
    assert [drawn["x"] for drawn in DRAWN] == [[1], [2], [3]]
    assert all((drawn["base"], drawn["palette"]) == (post.bases, "classic") for drawn in DRAWN)
    assert all(drawn["dips"].equals(FRAMES["dips"]) for drawn in DRAWN)
    assert {item.palette for item in shown.items if isinstance(item, Grid)} == {"classic"}
    heads = [item.markup for item in shown.items if isinstance(item, Html)]
    assert heads == ['<h3 id="q.x">q</h3>', '<h3 id="r.x">r</h3>'] and len(shown.items) == 2 + 2 * 3


def test_a_notebook_may_say_otherwise() -> None:
    shown = ib.draw(Post(), noting_table, by=[], heading=None, dips=None)
    assert [drawn["x"] for drawn in DRAWN] == [[1, 2, 3]] and DRAWN[0]["dips"] is None
    assert len(shown.items) == 1
    some = answer_of(FRAMES["sla"], "sla").filter(x=2)
    assert ib.draw(Post(), noting_table, frame=some).answers == ("sla",)
    with pytest.raises(TypeError, match="palete"):
        ib.draw(Post(), noting_table, palete="classic")


def test_without_short_steps_and_without_an_answer() -> None:
    ib.draw(Post(), noting_table, long=True)
    assert [drawn["x"] for drawn in DRAWN] == [[2], [3]]
    (said,) = ib.draw(Post(), noting_table, frame=FRAMES["sla"].clear()).items
    assert isinstance(said, Html) and "No target." in said.markup


def test_every_declared_question_exists_and_needs_nothing_that_a_selection_has_not() -> None:
    known, declaring = questions(), 0
    own = {"runs", "steps", "points", "base", "bases", "chain"}
    for names in public_api.homes().values():
        for name in names:
            function = getattr(ib, name)
            asked = [*getattr(function, "asked", {}).values(), *filter(None, [getattr(function, "answers", "")])]
            assert set(asked) <= known.keys() and all(parameters_of(question) <= own for question in asked), name
            declaring += bool(asked)
    assert declaring > 50
    tables = [name for name in ib.__all__ if name.endswith("_table")]
    assert [name for name in tables if not hasattr(getattr(ib, name), "answers")] == [
        "frame_table", "sysbench_groups_table",
    ]  # fmt: skip
