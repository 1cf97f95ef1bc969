"""The rows of LinkBench's tables after the load, as INSERT statements.

The load is divided into blocks of ids. A block has its nodes, its links in parts of at most 50,000, so that several
processes share the few large nodes, and its counts. Every part has random numbers of its own, so the rows do not
depend on which process loads them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ibench_lib.client.role import Insert
from ibench_lib.workloads.linkbench.degrees import Tail, degrees, of_type
from ibench_lib.workloads.linkbench.distribution import Distribution, distribution_of
from ibench_lib.workloads.linkbench.payload import OF_LINKS, OF_NODES
from ibench_lib.workloads.linkbench.shuffle import LINKS, shuffle
from ibench_lib.workloads.linkbench.tables import COUNT, LINK, LINK_TYPES, NODE, NODE_TYPE, SHOWN

Array = np.ndarray[Any, Any]

MOMENT_MS = 1_767_225_600_000
"""The time of the load, 2026-01-01 in milliseconds. It is fixed, so that the same seed gives the same rows."""

AGE_MS = 1 << 32
"""Links are up to so much older."""

ROWS = 1024
"""Rows of a statement, each of which is committed."""

_BLOCK = 2048
_PART = 49 * ROWS


@dataclass(frozen=True)
class Graph:
    """A graph by its number of nodes, and how links are distributed over them: as in a file, if there is one."""

    nodes: int
    tail: Tail
    distribution: Distribution | None = None

    def degrees(self, ids: Array) -> Array:
        """Links of both types together that these nodes have after the load."""
        return degrees(shuffle(LINKS, self.nodes).ranks(ids), self.nodes, self.tail, self.distribution)


def graph_of(details: Mapping[str, Any]) -> Graph:
    """The graph that a client process was told of (`Spec.details`)."""
    points = details["points"]
    distribution = None if points is None else distribution_of(tuple(map(tuple, points)))
    return Graph(details["nodes"], details["tail"], distribution)


@dataclass(frozen=True)
class Part:
    """A part of the load: links `first` up to `last` of a block. The first one has the nodes and counts as well."""

    block: int
    first: int
    last: int
    nodes: int
    counts: int

    @property
    def statements(self) -> int:
        """How many statements it takes."""
        return sum(-(-rows // ROWS) for rows in (self.nodes, self.last - self.first, self.counts))

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.nodes + self.last - self.first + self.counts


@cache
def sizes(graph: Graph) -> tuple[Array, Array]:
    """Links and rows of counttable of each block."""
    blocks = -(-graph.nodes // _BLOCK)
    links, counts = np.zeros(blocks, dtype=np.int64), np.zeros(blocks, dtype=np.int64)
    at_once = 128
    for block in range(0, blocks, at_once):
        ids = np.arange(block * _BLOCK + 1, min(graph.nodes, (block + at_once) * _BLOCK) + 1)
        total, starts = graph.degrees(ids), np.arange(0, len(ids), _BLOCK)
        for number in range(len(LINK_TYPES)):
            typed = of_type(total, number)
            links[block : block + at_once] += np.add.reduceat(typed, starts)
            counts[block : block + at_once] += np.add.reduceat(typed > 0, starts)
    return links, counts


def rows_by_table(graph: Graph) -> dict[str, int]:
    """Rows of each table after the load."""
    links, counts = sizes(graph)
    return {NODE: graph.nodes, LINK: int(links.sum()), COUNT: int(counts.sum())}


def parts_of(graph: Graph, loader: int, loaders: int) -> Iterator[Part]:
    """The parts of one of several loading processes, `loader` from 0: contiguous, and about as many rows for each."""
    total, done = sum(rows_by_table(graph).values()), 0
    links, counts = sizes(graph)
    for block, of_block in enumerate(links.tolist()):
        nodes = min(_BLOCK, graph.nodes - block * _BLOCK)
        for first in range(0, max(1, of_block), _PART):
            own = (nodes, int(counts[block])) if first == 0 else (0, 0)
            part = Part(block, first, min(of_block, first + _PART), *own)
            if (2 * done + part.rows) * loaders // (2 * total) == loader:
                yield part
            done += part.rows


@cache
def loaders(graph: Graph, most: int) -> int:
    """How many processes can load the graph so that each of them has a part: `most`, or fewer for a small graph."""
    return next(
        (count for count in range(most, 1, -1) if all(any(parts_of(graph, one, count)) for one in range(count))), 1
    )


def inserts(seed: int, graph: Graph, part: Part) -> Iterator[Insert]:
    """The statements of a part of the load, one after another."""
    ids = np.arange(part.block * _BLOCK + 1, min(graph.nodes, (part.block + 1) * _BLOCK) + 1)
    total = graph.degrees(ids)
    typed = np.stack([of_type(total, number) for number in range(len(LINK_TYPES))], axis=1)
    if part.nodes:
        yield from _nodes(np.random.default_rng([seed, 1, part.block]), seed, ids)
    yield from _links(np.random.default_rng([seed, 2, part.block, part.first // _PART]), seed, ids, typed, part)
    if part.counts:
        yield from _counts(ids, typed)


def _nodes(random: np.random.Generator, seed: int, ids: Array) -> Iterator[Insert]:
    for start in range(0, len(ids), ROWS):
        some = ids[start : start + ROWS].tolist()
        values = OF_NODES.hex_values(random, seed, len(some))
        made = [f"({id},{NODE_TYPE},1,{MOMENT_MS // 1000},x'{data}')" for id, data in zip(some, values, strict=True)]
        yield _insert(NODE, "id,type,version,time,data", made)


def _links(random: np.random.Generator, seed: int, ids: Array, typed: Array, part: Part) -> Iterator[Insert]:
    ends = np.cumsum(typed.ravel())  # by id, then by type
    for start in range(part.first, part.last, ROWS):
        places = np.arange(start, min(start + ROWS, part.last))
        group = np.searchsorted(ends, places, side="right")
        id1 = ids[group // len(LINK_TYPES)]
        id2 = id1 + places - (ends - typed.ravel())[group]
        types = np.array(LINK_TYPES)[group % len(LINK_TYPES)]
        times = MOMENT_MS - random.integers(0, AGE_MS, len(places))
        columns = zip(
            id1.tolist(), id2.tolist(), types.tolist(), OF_LINKS.hex_values(random, seed, len(places)), times.tolist(),
            strict=True,
        )  # fmt: skip
        made = [f"({one},{two},{kind},{SHOWN},x'{data}',{time},0)" for one, two, kind, data, time in columns]
        yield _insert(LINK, "id1,id2,link_type,visibility,data,time,version", made)


def _counts(ids: Array, typed: Array) -> Iterator[Insert]:
    node, number = np.nonzero(typed)
    columns = zip(ids[node].tolist(), np.array(LINK_TYPES)[number].tolist(), typed[node, number].tolist(), strict=True)
    made = [f"({id},{kind},{count},{MOMENT_MS},0)" for id, kind, count in columns]
    for start in range(0, len(made), ROWS):
        yield _insert(COUNT, "id,link_type,count,time,version", made[start : start + ROWS])


def _insert(table: str, columns: str, rows: list[str]) -> Insert:
    return Insert(table, len(rows), f"INSERT INTO {table} ({columns}) VALUES {','.join(rows)}".encode())
