import numpy as np
import pytest

from ibench_lib.workloads.linkbench.degrees import LARGEST, Tail, degrees, of_type


@pytest.mark.parametrize(
    ("nodes", "tail", "links", "largest_share"),
    [
        (100_000, "original", 1_368_899, 0.70),
        (1_000_000, "original", 5_249_370, 0.18),
        (100_000, "scaled", 426_870, None),
        (1_000_000, "scaled", 4_339_373, None),
    ],
)
def test_a_graph_has_the_links_of_the_original(nodes: int, tail: Tail, links: int, largest_share: float | None) -> None:
    total = degrees(np.arange(nodes), nodes, tail)
    made = [int(of_type(total, number).sum()) for number in (0, 1)]
    assert sum(made) == pytest.approx(links, rel=0.0015)
    assert (np.diff(total) <= 0).all()
    if largest_share is not None:
        assert total[0] == LARGEST and total[0] / sum(made) == pytest.approx(largest_share, abs=0.01)


@pytest.mark.parametrize(("nodes", "counts"), [(100_000, 77_207), (1_000_000, 772_059)])
def test_as_many_nodes_have_links_as_in_the_original(nodes: int, counts: int) -> None:
    total = degrees(np.arange(nodes), nodes, "original")
    assert sum(int((of_type(total, number) > 0).sum()) for number in (0, 1)) == counts


def test_two_and_four_links_become_three_and_six_as_in_the_original() -> None:
    total = np.array([0, 1, 2, 3, 4, 5])
    assert (of_type(total, 0) + of_type(total, 1)).tolist() == [0, 1, 3, 4, 6, 6]
