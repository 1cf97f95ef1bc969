from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest

from ibench_lib.workloads.linkbench.inputs import MIX, MOST_IDS, Request, requests
from ibench_lib.workloads.linkbench.population import Graph

GRAPH = Graph(3000, "scaled")
DRAWN = 40_000


def drawn(count: int, seed: int = 1) -> list[Request]:
    return list(islice(requests(GRAPH, [seed, 3, 1, 1, 0], 1, 1), count))


def test_operations_have_the_shares_of_the_mix() -> None:
    """Chi-square with 9 degrees of freedom is under 27.9 with a probability of 99.9 %; the seed is fixed."""
    found, total = Counter(request.operation for request in drawn(DRAWN)), sum(MIX.values())
    expected = {name: DRAWN * share / total for name, share in MIX.items()}
    assert sum((found[name] - count) ** 2 / count for name, count in expected.items()) < 27.9


def test_the_same_seed_gives_the_same_requests() -> None:
    assert drawn(2000) == drawn(2000) != drawn(2000, seed=2)


def test_requests_stay_within_the_graph_and_ask_for_different_links() -> None:
    asked = []
    for request in drawn(20_000):
        assert request.operation == "add_node" or 1 <= request.id1 <= GRAPH.nodes
        assert request.id2 >= request.id1
        assert bool(request.others) == (request.operation == "multiget_link")
        if request.others:
            asked.append(len(request.others))
            assert len(set(request.others)) == len(request.others) <= MOST_IDS
        assert request.operation in ("add_link", "update_link", "add_node", "update_node") or not request.data
    assert min(asked) == 2 and 3.0 < sum(asked) / len(asked) < 4.2


def test_times_rise_from_request_to_request() -> None:
    times = [request.now_ms for request in drawn(3000)]
    assert times == list(range(times[0], times[0] + 3000))


def list_sizes(stream: Iterator[Request], links: Links, operations: int) -> list[int]:
    """Percentiles 50, 90, 95 and 99 of the lists that so many operations ask for, each on what those before it left."""
    found = []
    for request in islice(stream, operations):
        if request.operation == "get_links_list":
            found.append(min(links.shown(request), 10_000))
        elif request.operation in ("add_link", "update_link"):
            links.show(request)
        elif request.operation == "delete_link":
            links.hide(request)
    return [int(size) for size in np.percentile(found, [50, 90, 95, 99], method="lower")]


class Links:
    """The links that are shown, where they differ from those of the load."""

    def __init__(self) -> None:
        self._states: dict[tuple[int, int, int], bool] = {}
        self._changes = Counter[tuple[int, int]]()

    def shown(self, request: Request) -> int:
        return request.loaded + self._changes[request.id1, request.link_type]

    def show(self, request: Request) -> None:
        if not self._is_shown(request):
            self._set(request, shown=True)

    def hide(self, request: Request) -> None:
        if self._is_shown(request):
            self._set(request, shown=False)

    def _is_shown(self, request: Request) -> bool:
        loaded = request.id2 - request.id1 < request.loaded
        return self._states.get((request.id1, request.link_type, request.id2), loaded)

    def _set(self, request: Request, *, shown: bool) -> None:
        self._states[request.id1, request.link_type, request.id2] = shown
        self._changes[request.id1, request.link_type] += 1 if shown else -1


def test_fresh_lists_have_the_sizes_of_the_original() -> None:
    stream = requests(Graph(100_000, "original"), [1, 3, 1, 1, 0], 1, 1)
    sizes = [min(one.loaded, 10_000) for one in islice(stream, 100_000) if one.operation == "get_links_list"]
    found = np.percentile(sizes, [50, 90, 95, 99], method="lower").tolist()
    assert found[:3] == [0, 2, 3] and found[3] == pytest.approx(11, abs=1)


@pytest.mark.long
@pytest.mark.slow
def test_lists_grow_as_those_of_the_original_while_the_graph_is_used() -> None:
    """After 954,000 operations on 100,000 nodes, Java's lists have 1, 8, 18 and 52 links."""
    stream, links = requests(Graph(100_000, "original"), [1, 3, 1, 1, 0], 1, 1), Links()
    list_sizes(stream, links, 954_000)
    median, most, more, longest = list_sizes(stream, links, 46_000)
    assert (median, most) == (1, pytest.approx(8, abs=1)) and more == pytest.approx(18, abs=3) and 40 <= longest <= 80
