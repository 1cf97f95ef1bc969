"""The tree of a flame graph: nothing is lost or counted twice, however small it is made."""

from __future__ import annotations

import random

import pytest

from ibench_lib.analysis.flame.sides import Stack
from ibench_lib.analysis.flame.trie import SMALL, Trie, Weighed, trie_of


def some_stacks(seed: int, number: int, depth: int = 12) -> Weighed:
    draw = random.Random(seed)
    found: dict[Stack, tuple[int, float]] = {}
    for _ in range(number):
        stack = tuple(f"f{min(int(draw.expovariate(0.2)), 40)}" for _ in range(draw.randint(1, depth)))
        samples = draw.randint(1, 50)
        found[stack] = samples, samples * 0.25
    return found


def summed(stacks: Weighed, of: Stack) -> int:
    return sum(samples for stack, (samples, _) in stacks.items() if stack[: len(of)] == of)


@pytest.mark.parametrize("seed", range(20))
def test_every_node_has_the_samples_of_the_stacks_through_it(seed: int) -> None:
    sides = some_stacks(seed, 60), some_stacks(seed + 1000, 40)
    trie = trie_of(sides)
    totals, totals_us = trie.totals, trie.totals_us
    prefixes = {stack[:length] for side in sides for stack in side for length in range(len(stack) + 1)}
    assert {trie.path(at) for at in range(len(trie.names))} == prefixes
    for at in range(len(trie.names)):
        assert totals[at] == [summed(side, trie.path(at)) for side in sides]
        assert totals_us[at] == [0.25 * samples for samples in totals[at]]
        assert trie.own[at] == [side.get(trie.path(at), (0, 0.0))[0] for side in sides]


@pytest.mark.parametrize("most", [1, 2, 7, 50, 333])
@pytest.mark.parametrize("seed", range(5))
def test_a_smaller_tree_has_the_same_totals(seed: int, most: int) -> None:
    sides = some_stacks(seed, 300), some_stacks(seed + 1000, 200)
    whole, pruned = trie_of(sides), trie_of(sides, most)
    assert len(pruned.names) <= max(most, 2)
    of_whole = {whole.path(at): total for at, total in enumerate(whole.totals)}
    for at, total in enumerate(pruned.totals):
        if pruned.names[at] != SMALL:
            assert total == of_whole[pruned.path(at)]
    assert in_preorder(pruned)
    assert pruned.totals[0] == [sum(samples for samples, _ in side.values()) for side in sides]


def in_preorder(trie: Trie) -> bool:
    """Each node stands right after its caller, or after a callee of its caller and all below that."""
    open_nodes = [0]
    for at in range(1, len(trie.names)):
        while open_nodes and open_nodes[-1] != trie.parent[at]:
            open_nodes.pop()
        if not open_nodes:
            return False
        open_nodes.append(at)
    return True


def test_callees_stand_in_the_order_of_their_size() -> None:
    trie = trie_of([{("t", name): (samples, 0.0) for name, samples in (("a", 1), ("b", 30), ("c", 20))}])
    assert trie.names == ["", "t", "b", "c", "a"]


def test_a_stack_may_be_deeper_than_python_recurses() -> None:
    deep = tuple(f"f{at}" for at in range(5000))
    trie = trie_of([{deep: (3, 1.5)}])
    assert trie.totals[-1] == trie.totals[0] == [3]
