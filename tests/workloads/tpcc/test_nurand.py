import numpy as np
import pytest

from ibench_lib.workloads.tpcc.nurand import A_ITEM, A_NAME, LAST_NAMES, Constants, nurand


def test_last_names_have_a_syllable_for_each_digit() -> None:
    assert len(set(LAST_NAMES)) == 1000
    assert (LAST_NAMES[0], LAST_NAMES[371], LAST_NAMES[999]) == ("BARBARBAR", "PRICALLYOUGHT", "EINGEINGEING")


@pytest.mark.parametrize("seed", range(50))
def test_constants_keep_the_distance_of_the_specification(seed: int) -> None:
    found = Constants.of(seed)
    distance = abs(found.name_load - found.name_run)
    assert 65 <= distance <= 119 and distance not in (96, 112)
    assert 0 <= found.customer <= 1023 and 0 <= found.item <= 8191
    assert found == Constants.of(seed)


def test_numbers_are_in_range_and_follow_the_formula() -> None:
    random, again = (np.random.Generator(np.random.PCG64(7)) for _ in range(2))
    drawn = nurand(random, A_NAME, 0, 999, 200, 10_000)
    assert drawn.min() >= 0 and drawn.max() <= 999
    expected = ((again.integers(0, 256, 10_000) | again.integers(0, 1000, 10_000)) + 200) % 1000
    assert (drawn == expected).all()


def test_a_tenth_of_the_items_gets_most_of_the_draws() -> None:
    """The skew decides how many pages become dirty: with a constant drawn once, a tenth of the items gets 72 %."""
    drawn = nurand(np.random.Generator(np.random.PCG64(1)), A_ITEM, 1, 100_000, 1234, 500_000)
    counts = np.sort(np.bincount(drawn, minlength=100_001))[::-1]
    assert counts[:10_000].sum() / 500_000 == pytest.approx(0.72, abs=0.03)
