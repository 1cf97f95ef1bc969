"""One tree of functions for the stacks of one build or two: nodes in preorder, with what each side has of them.

A node's own samples are those that ended in it; its total has those of its callees, too. Nothing is ever left out of
the totals: what is too small to be a node of its own is in a node `(small)` of its caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ibench_lib.analysis.flame.sides import Stack

MOST_NODES = 10_000
SMALL = "(small)"

Weighed = Mapping[Stack, tuple[int, float]]
"""Samples of each stack, and the CPU microseconds per operation that they stand for."""


@dataclass
class Node:
    """A function below its callers, or a thread group. `own` and `own_us` have a value for each side."""

    name: str
    own: list[int]
    own_us: list[float]
    callees: dict[str, Node] = field(default_factory=dict)

    def callee(self, name: str) -> Node:
        """The node of a function that this one calls; it is made if there is none."""
        callee = self.callees.get(name)
        if callee is None:
            callee = self.callees[name] = Node(name, [0] * len(self.own), [0.0] * len(self.own_us))
        return callee

    def add(self, other: Node) -> None:
        """Take over what another node has of its own."""
        self.own = [mine + more for mine, more in zip(self.own, other.own, strict=True)]
        self.own_us = [mine + more for mine, more in zip(self.own_us, other.own_us, strict=True)]


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
                node = node.callee(name)
            node.own[side] += samples
            node.own_us[side] += us
    return _in_preorder(root, most_nodes)


def _sum_below(root: Node) -> dict[int, tuple[list[int], list[float]]]:
    """Totals of each node by its identity."""
    totals: dict[int, tuple[list[int], list[float]]] = {}
    for node in _from_the_leaves(root):
        samples, us = list(node.own), list(node.own_us)
        for callee in node.callees.values():
            more, more_us = totals[id(callee)]
            samples = [one + other for one, other in zip(samples, more, strict=True)]
            us = [one + other for one, other in zip(us, more_us, strict=True)]
        totals[id(node)] = samples, us
    return totals


def _from_the_leaves(root: Node) -> Iterable[Node]:
    """Each node after all of its callees. No recursion: a stack may be hundreds of functions deep."""
    order, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting.extend(node.callees.values())
    return reversed(order)


def _in_preorder(root: Node, most_nodes: int) -> Trie:
    """The largest nodes, as many as fit with a node for the small ones below each of them."""
    totals = _sum_below(root)
    # A caller is never smaller than what it calls, so the largest nodes are a tree.
    ranked: list[tuple[float, int, int, Node]] = []
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        ranked.append((-_size(totals[id(node)]), depth, len(ranked), node))
        waiting.extend((callee, depth + 1) for callee in node.callees.values())
    ranked.sort(key=lambda one: one[:3])
    kept = min(len(ranked), most_nodes)
    while True:
        chosen = {id(node) for *_, node in ranked[:kept]}
        small = sum(any(id(one) not in chosen for one in node.callees.values()) for *_, node in ranked[:kept])
        too_many = kept + small - most_nodes
        if too_many <= 0 or kept == 1:
            break
        kept = max(1, kept - max(1, too_many // 2))
    trie = Trie([], [], [], [])
    waiting_for = [(root, -1)]
    while waiting_for:
        node, parent = waiting_for.pop()
        at = len(trie.names)
        trie.names.append(node.name)
        trie.parent.append(parent)
        trie.own.append(node.own)
        trie.own_us.append(node.own_us)
        left = [callee for callee in node.callees.values() if id(callee) not in chosen]
        shown = [callee for callee in node.callees.values() if id(callee) in chosen]
        if left:
            rest = Node(SMALL, [0] * len(node.own), [0.0] * len(node.own))
            for callee in left:
                rest.add(Node("", *totals[id(callee)]))
            waiting_for.append((rest, at))
        shown.sort(key=lambda callee: (_size(totals[id(callee)]), callee.name))
        waiting_for.extend((callee, at) for callee in shown)
    return trie


def _size(totals: tuple[list[int], list[float]]) -> float:
    """How large a node is on the side on which it is larger; samples where their time is not known."""
    samples, us = totals
    return max(us) if any(us) else float(max(samples))
