"""How long terminals wait."""

import numpy as np
import pytest

from ibench_lib.workloads.tpcc.mix import KEYING_S, THINK_S, TYPES
from ibench_lib.workloads.tpcc.waits import Waits


def test_keying_is_fixed_and_thinking_is_exponential_up_to_ten_times_its_mean() -> None:
    for kind in TYPES:
        waits = Waits(0.01, np.random.SeedSequence(7))
        assert waits.before(kind) == round(1e7 * KEYING_S[kind]), "nothing was done yet that one could think about"
        thought_s = np.array([waits.before(kind) for _ in range(20_000)]) / 1e7 - KEYING_S[kind]
        assert thought_s.min() >= 0 and thought_s.max() <= 10 * THINK_S[kind]
        assert thought_s.mean() == pytest.approx(THINK_S[kind], rel=4 / 20_000**0.5)
        assert np.median(thought_s) == pytest.approx(np.log(2) * THINK_S[kind], rel=0.05)


def test_one_thinks_about_the_last_transaction_and_keys_the_next() -> None:
    waits = Waits(1.0, np.random.SeedSequence(7))
    waits.before("stock_level")
    waited = []
    for _ in range(5_000):
        waited.append(waits.before("new_order"))
        waits.before("stock_level")
    assert np.mean(waited) / 1e9 == pytest.approx(18 + 5, rel=0.02)
