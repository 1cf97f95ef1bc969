"""How long users of a terminal wait by the specification."""

import pytest

from ibench_lib.workloads.tpcc.mix import DECK, mean_s


def test_the_mean_is_that_of_the_deck() -> None:
    assert mean_s(DECK) == pytest.approx(20.7, abs=0.01)
    assert mean_s([0, 0, 0, 1, 0]) == 7.0
