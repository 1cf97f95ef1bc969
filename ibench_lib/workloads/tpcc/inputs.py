"""What a terminal's transactions are about: types by the deck, warehouses, customers and items, drawn in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ibench_lib.workloads.tpcc.mix import DECK
from ibench_lib.workloads.tpcc.nurand import A_CUSTOMER, A_ITEM, A_NAME, LAST_NAMES, Array, Constants, nurand
from ibench_lib.workloads.tpcc.profiles import STANDARD, Profile
from ibench_lib.workloads.tpcc.tables import CUSTOMERS, DISTRICTS, ITEMS, LEAST_LINES, MOST_LINES

UNUSED_ITEM = ITEMS + 1

_BLOCK = 64
_ROLLBACK_SHARE, _REMOTE_LINE_SHARE = 0.01, 0.01
_BY_NAME_SHARE, _REMOTE_PAYMENT_SHARE = 0.6, 0.15


class Line(NamedTuple):
    """An order line. `supply` is the warehouse that it comes from."""

    supply: int
    item: int
    quantity: int


_line_of: Callable[[Iterable[int]], Line] = partial(tuple.__new__, Line)
"""A line of its values. `Line(*values)` takes five times as long, and a new order has ten of them."""


class NewOrder(NamedTuple):
    """Input of a new order. Its lines are in the order of warehouse and item, an unused item at the end."""

    set: int
    warehouse: int
    district: int
    customer: int
    lines: list[Line]


class Customer(NamedTuple):
    """A customer by number or, if `last` is not None, by last name."""

    warehouse: int
    district: int
    number: int
    last: str | None


class Payment(NamedTuple):
    """Input of a payment."""

    set: int
    warehouse: int
    district: int
    customer: Customer
    cents: int


class OrderStatus(NamedTuple):
    """Input of an order status."""

    set: int
    customer: Customer


class Delivery(NamedTuple):
    """Input of a delivery."""

    set: int
    warehouse: int
    carrier: int


class StockLevel(NamedTuple):
    """Input of a stock level."""

    set: int
    warehouse: int
    district: int
    threshold: int


@dataclass(frozen=True)
class Size:
    """Sets, and warehouses of each set. Every transaction draws one of both, uniformly.

    A terminal whose `home` is not None has that warehouse, numbered over all sets from 0, in all of its transactions.
    """

    sets: int
    warehouses: int
    home: int | None = None


class Inputs:
    """The inputs of one terminal, endless iterators of each type and of the types themselves."""

    def __init__(
        self,
        size: Size,
        constants: Constants,
        seed: np.random.SeedSequence,
        deck: Sequence[int] = DECK,
        profile: Profile = STANDARD,
    ) -> None:
        self._profile = profile
        self._deck = np.repeat(np.arange(len(deck)), deck)
        self._size, self._constants = size, constants
        self._random = np.random.Generator(np.random.PCG64(seed))
        self.types = self._types()
        self.new_orders = self._new_orders()
        self.payments = self._payments()
        self.order_statuses = self._order_statuses()
        self.deliveries = self._deliveries()
        self.stock_levels = self._stock_levels()

    def _types(self) -> Iterator[int]:
        while self._profile.deck:
            yield from self._random.permutation(self._deck).tolist()
        while True:
            yield from self._random.choice(self._deck, _BLOCK).tolist()

    def _new_orders(self) -> Iterator[NewOrder]:
        random, profile = self._random, self._profile
        block = (_BLOCK, MOST_LINES)
        remote_share = _REMOTE_LINE_SHARE if profile.remote else 0.0
        while True:
            sets, warehouses, districts = self._sets(), self._warehouses(), self._uniform(DISTRICTS)
            customers = self._skewed("customer", A_CUSTOMER, 1, CUSTOMERS, _BLOCK).tolist()
            counts = random.integers(LEAST_LINES, MOST_LINES + 1, _BLOCK).tolist()
            unused = (random.random(_BLOCK) < _ROLLBACK_SHARE).tolist()
            home = np.repeat(np.array(warehouses)[:, None], MOST_LINES, axis=1)
            remote = random.random(block) < remote_share
            supplies = np.where(remote, self._others(home), home).tolist()
            items = self._skewed("item", A_ITEM, 1, ITEMS, block).tolist()
            quantities = random.integers(1, 11, block).tolist()
            for at, count in enumerate(counts):
                drawn = zip(supplies[at][:count], items[at], quantities[at], strict=False)
                lines = list(map(_line_of, drawn))
                if profile.unused != "last":
                    if unused[at]:
                        place = -1 if profile.unused == "sorted" else -2
                        lines[place] = lines[place]._replace(item=UNUSED_ITEM)
                    if profile.sorted_lines:
                        lines.sort()
                else:
                    last = lines.pop() if unused[at] else None
                    lines.sort()
                    if last is not None:
                        lines.append(last._replace(item=UNUSED_ITEM))
                yield NewOrder(sets[at], warehouses[at], districts[at], customers[at], lines)

    def _payments(self) -> Iterator[Payment]:
        random = self._random
        while True:
            sets, warehouses, districts = self._sets(), self._warehouses(), self._uniform(DISTRICTS)
            remote = (random.random(_BLOCK) < _REMOTE_PAYMENT_SHARE).tolist()
            others = self._others(np.array(warehouses)).tolist() if self._profile.remote else warehouses
            elsewhere = self._uniform(DISTRICTS)
            if others == warehouses and not self._profile.any_district:
                remote = [False] * _BLOCK
            homes = [
                (others[at], elsewhere[at]) if remote[at] else (warehouses[at], districts[at]) for at in range(_BLOCK)
            ]
            if self._profile.whole_amounts:
                cents = (100 * random.integers(1, 5_001, _BLOCK)).tolist()
            else:
                cents = random.integers(100, 500_001, _BLOCK).tolist()
            for at, customer in enumerate(self._customers(homes)):
                yield Payment(sets[at], warehouses[at], districts[at], customer, cents[at])

    def _order_statuses(self) -> Iterator[OrderStatus]:
        while True:
            sets = self._sets()
            homes = list(zip(self._warehouses(), self._uniform(DISTRICTS), strict=True))
            for number, customer in zip(sets, self._customers(homes), strict=True):
                yield OrderStatus(number, customer)

    def _deliveries(self) -> Iterator[Delivery]:
        while True:
            columns = (self._sets(), self._warehouses(), self._uniform(10))
            yield from map(Delivery, *columns)

    def _stock_levels(self) -> Iterator[StockLevel]:
        while True:
            columns = (self._sets(), self._warehouses(), self._uniform(DISTRICTS))
            yield from map(StockLevel, *columns, self._random.integers(10, 21, _BLOCK).tolist())

    def _skewed(self, what: str, a: int, low: int, high: int, size: int | tuple[int, ...]) -> Array:
        """Numbers of NURand, with the run's constant or with one that is drawn again for each number."""
        constants = self._constants
        c: int | Array = {"name": constants.name_run, "customer": constants.customer, "item": constants.item}[what]
        if what in self._profile.redrawn:
            c = self._random.integers(0, a + 1, size)
        return nurand(self._random, a, low, high, c, size)

    def _uniform(self, high: int) -> list[int]:
        """Numbers from 1 to `high`."""
        drawn: list[int] = self._random.integers(1, high + 1, _BLOCK).tolist()
        return drawn

    def _sets(self) -> list[int]:
        home = self._size.home
        return self._uniform(self._size.sets) if home is None else [home // self._size.warehouses + 1] * _BLOCK

    def _warehouses(self) -> list[int]:
        home = self._size.home
        return self._uniform(self._size.warehouses) if home is None else [home % self._size.warehouses + 1] * _BLOCK

    def _others(self, home: np.ndarray) -> np.ndarray:
        """For each warehouse another one, uniformly; the same if there is only one."""
        if self._size.warehouses == 1:
            return home
        other = self._random.integers(1, self._size.warehouses, home.shape)
        return other + (other >= home)

    def _customers(self, homes: list[tuple[int, int]]) -> list[Customer]:
        random = self._random
        by_name = (random.random(_BLOCK) < _BY_NAME_SHARE).tolist()
        names = self._skewed("name", A_NAME, 0, 999, _BLOCK).tolist()
        numbers = self._skewed("customer", A_CUSTOMER, 1, CUSTOMERS, _BLOCK).tolist()
        return [
            Customer(*home, number, LAST_NAMES[name] if named else None)
            for home, number, name, named in zip(homes, numbers, names, by_name, strict=True)
        ]
