"""What a requester asks for: operations by LinkBench's mix, and ids by its distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ibench_lib.workloads.linkbench.degrees import of_type
from ibench_lib.workloads.linkbench.payload import OF_LINKS, OF_NODES
from ibench_lib.workloads.linkbench.population import MOMENT_MS, Graph
from ibench_lib.workloads.linkbench.shuffle import LINKS, NODES, UNCORRELATED, shuffle
from ibench_lib.workloads.linkbench.tables import LINK_TYPES
from ibench_lib.workloads.linkbench.zipf import zipf

Array = np.ndarray[Any, Any]

MIX = {
    "add_link": 8.9886601,
    "delete_link": 2.9907664,
    "update_link": 8.0122125,
    "count_link": 4.8863567,
    "multiget_link": 0.5261142,
    "get_links_list": 50.7119145,
    "add_node": 2.5732789,
    "update_node": 7.366437,
    "delete_node": 1.0115914,
    "get_node": 12.9326683,
}
"""The operations, and how many % of all requests each of them is."""

OPERATIONS = tuple(MIX)

MOST_IDS = 127
"""Links that one multiget_link asks for, at most."""

_NUMBER = {name: number for number, name in enumerate(OPERATIONS)}
_SHARES = np.cumsum(list(MIX.values()))
_CORRELATED = 0.005
_LINK_ZIPF, _CORRELATED_WRITE_ZIPF = 0.8, 0.741
_NODE_ZIPF = {"update_node": 0.606, "get_node": 0.625}
# How many of the ids that are drawn as the other end of a link are to be those of loaded links.
_HIT = {"add_link": 0.05, "update_link": 0.9, "delete_link": 0.9, "multiget_link": 0.5}
_WRITES = [_NUMBER[name] for name in ("add_link", "delete_link", "update_link")]
_MULTIGET_LN = np.log(0.618)
_BATCH = 1024
_LINK_TYPES = np.array(LINK_TYPES)
_STEP_MS = 100_000_000


class Request(NamedTuple):
    """One operation with all that is drawn for it. What it does not need is 0 or empty.

    `id1` is the node, too, for operations on nodes. `others` are the ids that a multiget_link asks for. `data` is in
    hexadecimal digits. `loaded` is the number of links of the node and type after the load; `draw` a number in [0, 1).
    """

    operation: str
    id1: int
    link_type: int
    id2: int
    others: tuple[int, ...]
    data: bytes
    now_ms: int
    loaded: int
    draw: float


_request_of: Callable[[Iterable[Any]], Request] = partial(tuple.__new__, Request)
"""A request of its values: `Request(*values)` takes five times as long."""


def requests(graph: Graph, seed: list[int], step_id: int, motif_seed: int) -> Iterator[Request]:
    """The requests of one requester, without end.

    Their time comes from a clock of their own, by which a request takes a millisecond: equal requests give equal rows.
    """
    random = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
    now_ms = MOMENT_MS + step_id * _STEP_MS
    while True:
        yield from map(_request_of, _batch(graph, random, motif_seed, now_ms))
        now_ms += _BATCH


def _batch(graph: Graph, random: np.random.Generator, motif_seed: int, now_ms: int) -> Iterator[tuple[Any, ...]]:
    """The values of `Request` for so many requests."""
    kinds = np.searchsorted(_SHARES, random.random(_BATCH) * _SHARES[-1], side="right")
    uniform, second, draws = random.random((3, _BATCH))
    numbers = random.integers(0, len(LINK_TYPES), _BATCH)
    ids = _link_ids(graph, kinds, uniform, random.random(_BATCH) < _CORRELATED)
    of_nodes = shuffle(NODES, graph.nodes)
    for name, exponent in _NODE_ZIPF.items():
        chosen = kinds == _NUMBER[name]
        ids[chosen] = of_nodes.ids(zipf(exponent, graph.nodes).ranks(uniform[chosen]))
    chosen = kinds == _NUMBER["delete_node"]
    ids[chosen] = of_nodes.ids((uniform[chosen] * graph.nodes).astype(np.int64))
    total = graph.degrees(ids)
    loaded = np.where(numbers == 0, of_type(total, 0), of_type(total, 1))
    hit = np.ones(_BATCH)
    for name, share in _HIT.items():
        hit[kinds == _NUMBER[name]] = share
    width = np.maximum(1, np.ceil(loaded / hit)).astype(np.int64)
    ends = ids + (second * width).astype(np.int64)
    data = _data(random, motif_seed, kinds)
    others: list[tuple[int, ...]] = [()] * _BATCH
    for place in np.flatnonzero(kinds == _NUMBER["multiget_link"]).tolist():
        others[place] = _others(random, int(ids[place]), int(width[place]), float(draws[place]))
    return zip(
        map(OPERATIONS.__getitem__, kinds.tolist()), ids.tolist(), _LINK_TYPES[numbers].tolist(), ends.tolist(),
        others, data, range(now_ms, now_ms + _BATCH), loaded.tolist(), draws.tolist(), strict=True,
    )  # fmt: skip


def _link_ids(graph: Graph, kinds: Array, uniform: Array, correlated: Array) -> Array:
    """Nodes of operations on links. Few are drawn so that nodes with many links are asked for more often."""
    ids = shuffle(UNCORRELATED, graph.nodes).ids(zipf(_LINK_ZIPF, graph.nodes).ranks(uniform))
    writes = np.isin(kinds, _WRITES)
    for chosen, exponent in ((correlated & ~writes, _LINK_ZIPF), (correlated & writes, _CORRELATED_WRITE_ZIPF)):
        ids[chosen] = shuffle(LINKS, graph.nodes).ids(zipf(exponent, graph.nodes).ranks(uniform[chosen]))
    return ids


def _data(random: np.random.Generator, seed: int, kinds: Array) -> list[bytes]:
    """The data of new and updated links and nodes, at their places in the batch; empty elsewhere."""
    made = [b""] * len(kinds)
    for payload, names in ((OF_LINKS, ("add_link", "update_link")), (OF_NODES, ("add_node", "update_node"))):
        places = np.flatnonzero(np.isin(kinds, [_NUMBER[name] for name in names])).tolist()
        values = payload.hex_values(random, seed, len(places))
        for place, value in zip(places, values, strict=True):
            made[place] = value.encode()
    return made


def _others(random: np.random.Generator, id1: int, width: int, draw: float) -> tuple[int, ...]:
    """Different ids for a multiget_link: at least two."""
    count = min(MOST_IDS, 1 + max(1, int(np.ceil(np.log(1 - draw) / _MULTIGET_LN))))
    return tuple(sorted(id1 + int(place) for place in random.choice(max(count, width), count, replace=False)))
