from collections import Counter
from itertools import islice

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
