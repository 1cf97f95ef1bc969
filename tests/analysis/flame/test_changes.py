"""Which changes of a flame graph are coloured: those that repeats tell from noise, and no others."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from ibench_lib.analysis.flame.changes import changes_of_functions, changes_of_nodes, why_untested
from ibench_lib.analysis.flame.sides import Recording, Side
from ibench_lib.analysis.flame.trie import SMALL, trie_of
from ibench_lib.show.flame.graph import graph_of

PART = {"parse": 0.3, "insert": 0.4, "copy": 0.2, "log": 0.1}
SAMPLES = 4000


def side(seed: int, costs: list[float], part: dict[str, float], recordings: int = 2) -> Side:
    """Runs with these costs per operation, whose samples are drawn by the parts of functions."""
    draw, found = random.Random(seed), []
    for run, cost in enumerate(costs):
        for tick in range(recordings):
            names = draw.choices(list(part), list(part.values()), k=SAMPLES // recordings)
            stacks = {f"t;start_thread;run;{name}": samples for name, samples in Counter(names).items()}
            found.append(Recording(f"r{run}", tick, cost / SAMPLES / len(costs), stacks))
    return Side(f"s{seed}", f"s{seed}", tuple(found), 99.0, 8.0)


A = side(1, [100.0, 101.0, 99.0], PART)
GROWN = {"parse": 0.3, "insert": 0.6, "copy": 0.2, "log": 0.1}  # of 120 us, where A has 100
B = side(2, [119.0, 121.0, 120.0], GROWN)


def test_what_has_grown_is_told_from_what_has_not() -> None:
    graph = graph_of([A, B], "l.i0, cached")
    assert graph.untested == ""
    changes = {graph.trie.names[at]: change for at, change in graph.tested.items()}
    assert changes["insert"].clear and changes["insert"].low > 15 and changes["insert"].high < 25
    for name in ("parse", "copy", "log"):
        assert not changes[name].clear and changes[name].low < 0 < changes[name].high, name
    functions = changes_of_functions(graph.sides, graph.whole)
    assert functions["insert"].clear and "run" not in functions


def test_few_of_equal_sides_have_a_coloured_change() -> None:
    marked = 0
    for seed in range(30):
        draw = random.Random(seed)
        sides = [side(10 * seed + at, [100 * draw.gauss(1, 0.03) for _ in range(3)], PART) for at in (1, 2)]
        marked += any(
            change.clear for change in changes_of_nodes(sides, trie_of([one.paths for one in sides])).values()
        )
    assert marked <= 4


@pytest.mark.parametrize(
    ("sides", "why"),
    [
        ((A, side(3, [100.0], PART)), "each side needs two runs with a profile to tell a change from noise"),
        ((A, Side("x", "x", (Recording("r", 1, None, {"t;f": 3}),))), "the CPU per operation is not known"),
        ((A, B), ""),
    ],
)
def test_without_repeats_nothing_is_told(sides: tuple[Side, Side], why: str) -> None:
    assert why_untested(sides) == why
    graph = graph_of(sides, "l.i0, cached")
    assert graph.untested == why and bool(graph.tested) == (not why)


def test_a_pruned_tree_is_tested_with_all_samples() -> None:
    trie = trie_of([A.paths, B.paths], 7)
    assert SMALL in trie.names
    found = changes_of_nodes([A, B], trie)
    small = found[trie.names.index(SMALL)]
    assert small.low < 0 < small.high or small.clear
    with pytest.raises(ValueError, match="no node for"):
        changes_of_nodes([A, B], trie_of([{("t",): (1, 0.0)}] * 2))
