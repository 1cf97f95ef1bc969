import numpy as np
import pytest

from ibench_lib.workloads.linkbench.zipf import Zipf


def test_quantiles_are_those_of_the_original() -> None:
    ranks = Zipf(0.8, 10_000_000).ranks(np.array([0.1, 0.25, 0.5, 0.75, 0.9]))
    assert ranks.tolist() == [369, 15_692, 367_880, 2_507_166, 6_014_515]


def test_a_small_part_of_the_ids_gets_most_of_the_requests() -> None:
    ranks = Zipf(0.8, 10_000_000).ranks(np.linspace(0, 1, 200_000, endpoint=False))
    shares = [float((ranks < part).mean()) for part in (10_000, 100_000, 1_000_000)]
    assert shares == pytest.approx([0.225, 0.378, 0.618], abs=0.001)


@pytest.mark.parametrize("nodes", [1, 2, 3, 10, 1000])
def test_ranks_stay_in_a_small_graph(nodes: int) -> None:
    ranks = Zipf(0.8, nodes).ranks(np.linspace(0, 1, 1000, endpoint=False))
    assert set(ranks.tolist()) <= set(range(nodes)) and ranks[0] == 0
