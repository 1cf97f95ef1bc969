import numpy as np
import pytest

from ibench_lib.workloads.linkbench.shuffle import LINKS, NODES, UNCORRELATED, JavaRandom, Shuffle

SEEDS = (LINKS, UNCORRELATED, NODES)


@pytest.mark.parametrize(
    ("seed", "drawn"),
    [
        (LINKS, [347, 5629, 1728, 6331]),
        (UNCORRELATED, [5777, 7391, 3650, 7109]),
        (NODES, [6047, 7075, 2965, 3711]),
    ],
)
def test_the_generator_draws_what_that_of_java_draws(seed: int, drawn: list[int]) -> None:
    random = JavaRandom(seed)
    assert [random.next_int(9765) for _ in drawn] == drawn


@pytest.mark.parametrize(
    ("seed", "ids"),
    [
        (LINKS, [14337, 59394, 43011, 35844]),
        (UNCORRELATED, [86017, 22530, 19459, 20484]),
        (NODES, [88065, 34818, 63491, 12292]),
    ],
)
def test_the_first_ranks_have_the_ids_of_the_original(seed: int, ids: list[int]) -> None:
    assert Shuffle(seed, 100_000).ids(np.arange(4)).tolist() == ids


@pytest.mark.parametrize("nodes", [1, 1000, 1023, 1024, 1025, 2048, 5000, 100_000])
def test_each_rank_has_an_id_of_its_own_and_finds_back(nodes: int) -> None:
    """1,024 thousand nodes and the like broke the original's load."""
    for seed in SEEDS:
        found = Shuffle(seed, nodes)
        ids = found.ids(np.arange(nodes))
        assert sorted(ids.tolist()) == list(range(1, nodes + 1))
        assert (found.ranks(ids) == np.arange(nodes)).all()
