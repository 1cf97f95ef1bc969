"""One tree of functions for the stacks of one build or two: nodes in preorder, with what each side has of them.

A node's own samples are those that ended in it; its total has those of its callees, too. Nothing is ever left out of
the totals: what is too small to be a node of its own is in a node `(small)` of its caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ibench_lib.analysis.flame.sides import Stack

MOST_NODES = 10_000
SMALL = "(small)"

Weighed = Mapping[Stack, tuple[int, float]]
"""Samples of each stack, and the CPU microseconds per operation that they stand for."""


@dataclass(slots=True)
class Node:
    """A function below its callers, or a thread group. Each list has a value for each side."""

    name: str
    own: list[int]
    own_us: list[float]
    callees: dict[str, Node] = field(default_factory=dict)
    total: list[int] = field(default_factory=list)
    total_us: list[float] = field(default_factory=list)

    def add_up(self) -> None:
        """Work out the totals, after those of all callees."""
        self.total, self.total_us = list(self.own), list(self.own_us)
        for callee in self.callees.values():
            for side, samples in enumerate(callee.total):
                self.total[side] += samples
                self.total_us[side] += callee.total_us[side]

    @property
    def size(self) -> float:
        """How large it is on the side on which it is larger; samples where their time is not known."""
        return max(self.total_us) if any(self.total_us) else float(max(self.total))


@dataclass(frozen=True)
class Trie:
    """Nodes in preorder, the root (without a name) first. `parent` of the root is -1."""

    names: list[str]
    parent: list[int]
    own: list[list[int]]
    own_us: list[list[float]]

    @property
    def totals(self) -> list[list[int]]:
        """Samples of each node with those of its callees, by side."""
        totals = [list(own) for own in self.own]
        for at in range(len(totals) - 1, 0, -1):
            above = totals[self.parent[at]]
            for side, samples in enumerate(totals[at]):
                above[side] += samples
        return totals

    @property
    def totals_us(self) -> list[list[float]]:
        """CPU microseconds per operation of each node with its callees, by side."""
        totals = [list(own) for own in self.own_us]
        for at in range(len(totals) - 1, 0, -1):
            above = totals[self.parent[at]]
            for side, us in enumerate(totals[at]):
                above[side] += us
        return totals

    def path(self, at: int) -> Stack:
        """The names from below the root to a node."""
        names: list[str] = []
        while at > 0:
            names.append(self.names[at])
            at = self.parent[at]
        return tuple(reversed(names))


def trie_of(sides: Sequence[Weighed], most_nodes: int = MOST_NODES) -> Trie:
    """The tree of one side or two, at most `most_nodes` large (but never less than a root and what is below it)."""
    root = Node("", [0] * len(sides), [0.0] * len(sides))
    for side, stacks in enumerate(sides):
        for stack, (samples, us) in stacks.items():
            node = root
            for name in stack:
                below = node.callees.get(name)
                if below is None:
                    below = node.callees[name] = Node(name, [0] * len(sides), [0.0] * len(sides))
                node = below
            node.own[side] += samples
            node.own_us[side] += us
    nodes = _callers_first(root)
    for node, _ in reversed(nodes):
        node.add_up()
    return _in_preorder(root, None if len(nodes) <= most_nodes else _largest(nodes, most_nodes))


def _callers_first(root: Node) -> list[tuple[Node, int]]:
    """Each node before all of its callees, with its depth. No recursion: a stack may be hundreds of functions deep."""
    order, waiting = list[tuple[Node, int]](), [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        order.append((node, depth))
        waiting.extend((callee, depth + 1) for callee in node.callees.values())
    return order


def _largest(nodes: Sequence[tuple[Node, int]], most_nodes: int) -> set[int]:
    """The identities of the largest nodes, as many as fit with a node for the small ones below each of them."""
    # A caller is never smaller than what it calls, so the largest nodes are a tree.
    ranked = [node for node, _ in sorted(nodes, key=lambda one: (-one[0].size, one[1]))]
    kept = min(len(ranked), most_nodes)
    while True:
        chosen = {id(node) for node in ranked[:kept]}
        small = sum(any(id(one) not in chosen for one in node.callees.values()) for node in ranked[:kept])
        too_many = kept + small - most_nodes
        if too_many <= 0 or kept == 1:
            return chosen
        kept = max(1, kept - max(1, too_many // 2))


def _in_preorder(root: Node, chosen: set[int] | None) -> Trie:
    """The chosen nodes, or all, with one for the others below each of them."""
    trie = Trie([], [], [], [])
    waiting_for = [(root, -1)]
    while waiting_for:
        node, parent = waiting_for.pop()
        at = len(trie.names)
        trie.names.append(node.name)
        trie.parent.append(parent)
        trie.own.append(node.own)
        trie.own_us.append(node.own_us)
        shown = [one for one in node.callees.values() if chosen is None or id(one) in chosen]
        if len(shown) < len(node.callees):
            left = [one for one in node.callees.values() if chosen is not None and id(one) not in chosen]
            samples = [sum(of_side) for of_side in zip(*(one.total for one in left), strict=True)]
            us = [sum(of_side) for of_side in zip(*(one.total_us for one in left), strict=True)]
            waiting_for.append((Node(SMALL, samples, us), at))
        shown.sort(key=lambda callee: (callee.size, callee.name))
        waiting_for.extend((callee, at) for callee in shown)
    return trie
