"""The parts of TPC-C's load, which loading processes share, and how many statements they take.

The load of a set is divided into parts: the items in ten, and for each warehouse its ten districts, each with its
customers, their orders and a tenth of the warehouse's stock. `population.py` makes their rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ibench_lib.workloads.tpcc.tables import CUSTOMERS, DELIVERED, DISTRICTS, ITEMS

ITEM_PARTS = 10
ITEM_ROWS, STOCK_ROWS, CUSTOMER_ROWS = 2_000, 1_000, 1_000
ORDERS_PER_STATEMENT = 150  # 750 to 2,250 lines, either all delivered or none
assert DELIVERED % ORDERS_PER_STATEMENT == 0 == CUSTOMERS % ORDERS_PER_STATEMENT

STATEMENTS_OF_ITEM_PART = ITEMS // ITEM_PARTS // ITEM_ROWS
STATEMENTS_OF_DISTRICT = (
    ITEMS // DISTRICTS // STOCK_ROWS + CUSTOMERS // CUSTOMER_ROWS + 3 + CUSTOMERS // ORDERS_PER_STATEMENT
)
STATEMENTS_OF_FIRST_DISTRICT = 2
"""More than the others of its warehouse: the warehouse itself, and all its districts."""


@dataclass(frozen=True)
class Part:
    """A part of the load: `district` of `warehouse` of set `number`, all from 1, or with warehouse 0 part of its items.

    Parts of items are numbered by `district`, too.
    """

    number: int
    warehouse: int
    district: int


def parts_of(sets: int, warehouses: int, loader: int, loaders: int) -> Iterator[Part]:
    """The parts of one of several loading processes, `loader` from 0: a share of the items and of the districts.

    Both shares are contiguous, so that each process goes through its own part of every primary key.
    """
    for at in _share(sets * ITEM_PARTS, loader, loaders):
        yield Part(at // ITEM_PARTS + 1, 0, at % ITEM_PARTS + 1)
    for at in _share(sets * warehouses * DISTRICTS, loader, loaders):
        warehouse, district = divmod(at, DISTRICTS)
        yield Part(warehouse // warehouses + 1, warehouse % warehouses + 1, district + 1)


def statements_of(sets: int, warehouses: int, loader: int, loaders: int) -> int:
    """How many statements the parts of a loading process take (`parts_of`), without going through them."""
    items = _share(sets * ITEM_PARTS, loader, loaders)
    districts = _share(sets * warehouses * DISTRICTS, loader, loaders)
    first_districts = -(-districts.stop // DISTRICTS) - -(-districts.start // DISTRICTS)
    return (
        len(items) * STATEMENTS_OF_ITEM_PART
        + len(districts) * STATEMENTS_OF_DISTRICT
        + first_districts * STATEMENTS_OF_FIRST_DISTRICT
    )


def _share(count: int, loader: int, loaders: int) -> range:
    """The share of one of several loading processes in as many things, numbered from 0."""
    return range(count * loader // loaders, count * (loader + 1) // loaders)
