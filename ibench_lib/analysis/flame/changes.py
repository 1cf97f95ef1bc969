"""Which changes of a flame graph are more than noise: nodes and functions, each judged together with its like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ibench_lib.analysis.flame.sides import Side, Stack
from ibench_lib.analysis.flame.trie import SMALL, Trie
from ibench_lib.stats.profile_costs import LEAST_RUNS, RunProfile, part_costs


@dataclass(frozen=True)
class Change:
    """The interval of B - A in us/op, and whether it leaves out 0 with all that was judged together."""

    low: float
    high: float
    clear: bool


def why_untested(sides: Sequence[Side]) -> str:
    """Why no change can be told from noise; empty where it can."""
    if not all(side.us for side in sides):
        return "the CPU per operation is not known"
    if any(side.runs < LEAST_RUNS for side in sides):
        return "each side needs two runs with a profile to tell a change from noise"
    return ""


def changes_of_nodes(sides: Sequence[Side], trie: Trie) -> dict[int, Change]:
    """The changes of nodes with enough samples, by their number."""
    by_name = _changes(sides, trie, lambda nodes: [str(at) for at in nodes])
    return {int(name): change for name, change in by_name.items()}


def changes_of_functions(sides: Sequence[Side], trie: Trie) -> dict[str, Change]:
    """The changes of the CPU that functions use themselves, by name."""
    return _changes(sides, trie, lambda nodes: [trie.names[nodes[-1]]])


def _changes(sides: Sequence[Side], trie: Trie, parts_of: Callable[[list[int]], list[str]]) -> dict[str, Change]:
    if why_untested(sides):
        return {}
    below = {place: at for at, place in enumerate(zip(trie.parent, trie.names, strict=True))}
    kept: dict[Stack, list[str]] = {}

    def run(cost: float, paths: Mapping[Stack, int]) -> RunProfile:
        parts: Counter[str] = Counter()
        for path, samples in paths.items():
            if path not in kept:
                kept[path] = parts_of(_nodes_of(path, below))
            for part in kept[path]:
                parts[part] += samples
        return RunProfile(cost, sum(paths.values()), parts)

    a, b = ([run(cost, paths) for cost, paths in side.by_run] for side in sides)
    changes = {}
    for part in part_costs(a, b):
        if part.interval is not None:
            changes[part.name] = Change(*part.interval, part.is_clear)
    return changes


def _nodes_of(path: Stack, below: Mapping[tuple[int, str], int]) -> list[int]:
    """The nodes that a stack goes through, the root first; `below` has the number of a callee by caller and name.

    Raises
    ------
    ValueError : the tree was not made of this stack.
    """
    nodes = [0]
    for name in path:
        at = nodes[-1]
        if (at, name) in below:
            nodes.append(below[at, name])
            continue
        if (at, SMALL) not in below:
            raise ValueError(f"the tree has no node for {path}")
        return [*nodes, below[at, SMALL]]
    return nodes
