"""What terminals ask for: exact decks, and shares that the specification demands, within four standard deviations."""

from collections import Counter
from itertools import islice
from math import sqrt

import numpy as np
import pytest

from ibench_lib.workloads.tpcc.inputs import UNUSED_ITEM, Inputs, Size
from ibench_lib.workloads.tpcc.mix import DECK, TYPES
from ibench_lib.workloads.tpcc.nurand import Constants

DRAWN = 8_000


def inputs(warehouses: int = 4, sets: int = 2, seed: int = 1) -> Inputs:
    return Inputs(Size(sets, warehouses), Constants.of(1), np.random.SeedSequence(seed))


def close(count: int, of: int, share: float) -> bool:
    return abs(count - of * share) <= 4 * sqrt(of * share * (1 - share))


def test_every_deck_is_exact_and_shuffled() -> None:
    types = inputs().types
    decks = [list(islice(types, sum(DECK))) for _ in range(50)]
    for deck in decks:
        assert Counter(TYPES[number] for number in deck) == dict(zip(TYPES, DECK, strict=True))
    assert len({tuple(deck) for deck in decks}) > 40


def test_new_orders() -> None:
    orders = list(islice(inputs().new_orders, DRAWN))
    lines = [line for order in orders for line in order.lines]
    assert {len(order.lines) for order in orders} == set(range(5, 16))
    assert close(sum(order.lines[-1].item == UNUSED_ITEM for order in orders), DRAWN, 0.01)
    assert close(sum(line.supply != order.warehouse for order in orders for line in order.lines), len(lines), 0.01)
    for order in orders:
        real = [line for line in order.lines if line.item != UNUSED_ITEM]
        assert [*real] == sorted(real) and len(order.lines) - len(real) <= 1
    assert {line.quantity for line in lines} == set(range(1, 11))
    for values, most in (("set", 2), ("warehouse", 4), ("district", 10)):
        counts = Counter(getattr(order, values) for order in orders)
        assert set(counts) == set(range(1, most + 1)) and all(close(n, DRAWN, 1 / most) for n in counts.values())


def test_payments() -> None:
    payments = list(islice(inputs().payments, DRAWN))
    assert close(sum(payment.customer.last is not None for payment in payments), DRAWN, 0.6)
    remote = [payment for payment in payments if payment.customer.warehouse != payment.warehouse]
    assert close(len(remote), DRAWN, 0.15)
    assert all(p.customer.district == p.district for p in payments if p.customer.warehouse == p.warehouse)
    assert min(p.cents for p in payments) >= 100 and max(p.cents for p in payments) <= 500_000


def test_the_other_types() -> None:
    assert close(sum(s.customer.last is not None for s in islice(inputs().order_statuses, DRAWN)), DRAWN, 0.6)
    assert {delivery.carrier for delivery in islice(inputs().deliveries, DRAWN)} == set(range(1, 11))
    assert {level.threshold for level in islice(inputs().stock_levels, DRAWN)} == set(range(10, 21))


def test_a_deck_has_the_given_weights() -> None:
    types = Inputs(Size(1, 1), Constants.of(1), np.random.SeedSequence(1), [45, 43, 4, 4, 4]).types
    assert Counter(islice(types, 100)) == {0: 45, 1: 43, 2: 4, 3: 4, 4: 4}


def test_a_terminal_with_a_home_stays_there_but_for_what_comes_from_elsewhere() -> None:
    drawn = Inputs(Size(2, 3, home=4), Constants.of(1), np.random.SeedSequence(1))
    for kind in (drawn.new_orders, drawn.payments, drawn.deliveries, drawn.stock_levels):
        assert {(each.set, each.warehouse) for each in islice(kind, 300)} == {(2, 2)}
    assert {line.supply for order in islice(drawn.new_orders, 2_000) for line in order.lines} == {1, 2, 3}


def test_with_one_warehouse_nothing_is_remote() -> None:
    drawn = inputs(warehouses=1, sets=1)
    assert all(line.supply == 1 for order in islice(drawn.new_orders, 500) for line in order.lines)
    assert all(payment.customer.warehouse == 1 for payment in islice(drawn.payments, 500))


@pytest.mark.parametrize("kind", ["types", "new_orders", "payments", "order_statuses", "deliveries", "stock_levels"])
def test_the_same_seed_draws_the_same(kind: str) -> None:
    first, second, other = (list(islice(getattr(inputs(seed=seed), kind), 300)) for seed in (5, 5, 6))
    assert first == second != other
