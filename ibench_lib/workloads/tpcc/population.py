"""The rows of TPC-C's tables after the load, made by numpy, as INSERT statements.

Every part (`parts.py`) has random numbers of its own, so the rows do not depend on which process loads them. Rows come
in the order of their primary keys.

Every row of a statement has the same width: numbers carry leading zeros, and spaces precede the opening quote of a
string. So a statement is a matrix of bytes, filled field by field.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import accumulate

import numpy as np

from ibench_lib.client.role import Insert
from ibench_lib.workloads.tpcc.nurand import A_NAME, LAST_NAMES, Array, Constants, nurand
from ibench_lib.workloads.tpcc.parts import (
    CUSTOMER_ROWS,
    ITEM_PARTS,
    ITEM_ROWS,
    ORDERS_PER_STATEMENT,
    STOCK_ROWS,
    Part,
)
from ibench_lib.workloads.tpcc.tables import (
    CUSTOMERS,
    DELIVERED,
    DISTRICTS,
    ITEMS,
    LEAST_LINES,
    MOST_LINES,
    suffix,
)

MOMENT = "2026-01-01 00:00:00"
"""Every date of the load. It is fixed, so that the same seed gives the same rows."""

_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ORIGINAL = np.frombuffer(b"ORIGINAL", dtype=np.uint8)
_ORIGINAL_SHARE = _BAD_CREDIT_SHARE = 0.1
_ADDRESS_FIELDS = (("street_1", 20), ("street_2", 20), ("city", 20))


class _Rows:
    """The matrix of the rows of one statement. Fields are filled by name; what is constant is in the template."""

    def __init__(self, table: str, columns: str, rows: int, *parts: str | tuple[str, int]) -> None:
        """`parts` are constant texts, and fields with their widths."""
        self._insert, self.rows = (table, columns), rows
        widths = [len(part) if isinstance(part, str) else part[1] for part in parts]
        ends = list(accumulate(widths))
        template = "".join(part if isinstance(part, str) else " " * part[1] for part in parts)
        self._matrix = np.tile(np.frombuffer(template.encode(), dtype=np.uint8), (rows, 1))
        self._areas = {
            part[0]: self._matrix[:, end - part[1] : end]
            for part, end in zip(parts, ends, strict=True)
            if not isinstance(part, str)
        }

    def insert(self) -> Insert:
        """The statement with what the fields have now."""
        table, columns = self._insert
        head = f"INSERT INTO {table} ({columns}) VALUES ".encode()
        return Insert(table, self.rows, head + self._matrix.tobytes()[:-1])

    def number(self, field: str, values: Array) -> None:
        """Whole numbers that are not negative, with leading zeros."""
        _digits(self._areas[field], values)

    def decimal(self, field: str, values: Array, places: int) -> None:
        """Numbers with that many decimal places, given as whole multiples of the last one."""
        area = self._areas[field]
        whole = area.shape[1] - places - 1
        area[:, whole] = ord(".")
        unit = 10**places
        _digits(area[:, :whole], values // unit)
        _digits(area[:, whole + 1 :], values % unit)

    def letters(self, field: str, random: np.random.Generator) -> None:
        """Random letters over the whole width, without quotes."""
        area = self._areas[field]
        area[:] = _letters(random, *area.shape)

    def text(self, field: str, random: np.random.Generator, low: int, high: int, *, originals: bool = False) -> None:
        """Random letters of random lengths, with the opening quote. `originals`: a tenth contains ORIGINAL."""
        area = self._areas[field]
        assert area.shape[1] == high + 1
        sizes = random.integers(low, high + 1, self.rows)
        is_letter, heads = _text_masks(low, high)
        letters = np.empty(area.shape, dtype=np.uint8)
        letters[:, 0] = 0
        letters[:, 1:] = _letters(random, self.rows, high)
        shape = sizes - low
        area[:] = (letters & is_letter.take(shape, axis=0)) | heads.take(shape, axis=0)
        if originals:
            chosen = np.flatnonzero(random.random(self.rows) < _ORIGINAL_SHARE)
            before = random.integers(0, sizes[chosen] - len(_ORIGINAL) + 1)
            columns = (high + 1 - sizes[chosen] + before)[:, None] + np.arange(len(_ORIGINAL))
            area[chosen[:, None], columns] = _ORIGINAL

    def bytes(self, field: str, values: Array) -> None:
        """Bytes as they are: an array of the field's width for each row, or one for all."""
        self._areas[field][:] = values

    def address(self, random: np.random.Generator) -> None:
        """The fields of an address (`_address`)."""
        for field, high in _ADDRESS_FIELDS:
            self.text(field, random, 10, high)
        self.letters("state", random)
        self.number("zip", random.integers(0, 10_000, self.rows))


_ADDRESS = (
    *(part for field, high in _ADDRESS_FIELDS for part in ((field, high + 1), "',")),
    "'",
    ("state", 2),
    "','",
    ("zip", 4),
    "11111',",
)


def inserts(seed: int, sets: int, part: Part) -> Iterator[Insert]:
    """The statements of a part of the load, one after another."""
    end = suffix(part.number, sets)
    if part.warehouse == 0:
        yield from _items(_random(seed, part, 0), end, part.district)
        return
    if part.district == 1:
        yield _warehouse(_random(seed, part, 1), end, part.warehouse)
        yield _districts(_random(seed, part, 2), end, part.warehouse)
    place = (end, part.warehouse, part.district)
    yield from _stock(_random(seed, part, 3), *place)
    yield from _customers(_random(seed, part, 4), Constants.of(seed).name_load, *place)
    yield _history(_random(seed, part, 5), *place)
    yield from _orders(_random(seed, part, 6), *place)


def _random(seed: int, part: Part, table: int) -> np.random.Generator:
    key = [seed, 1, part.number, part.warehouse, part.district, table]
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(key)))


def _items(random: np.random.Generator, end: str, part: int) -> Iterator[Insert]:
    rows = _Rows(
        f"item{end}", "i_id,i_im_id,i_name,i_price,i_data", ITEM_ROWS,
        "(", ("id", 6), ",", ("image", 5), ",", ("name", 25), "',", ("price", 6), ",", ("data", 51), "'),",
    )  # fmt: skip
    first = (part - 1) * (ITEMS // ITEM_PARTS) + 1
    for start in range(first, first + ITEMS // ITEM_PARTS, ITEM_ROWS):
        rows.number("id", np.arange(start, start + ITEM_ROWS))
        rows.number("image", random.integers(1, 10_001, ITEM_ROWS))
        rows.text("name", random, 14, 24)
        rows.decimal("price", random.integers(100, 10_001, ITEM_ROWS), 2)
        rows.text("data", random, 26, 50, originals=True)
        yield rows.insert()


def _warehouse(random: np.random.Generator, end: str, warehouse: int) -> Insert:
    rows = _Rows(
        f"warehouse{end}", "w_id,w_name,w_street_1,w_street_2,w_city,w_state,w_zip,w_tax,w_ytd", 1,
        f"({warehouse},", ("name", 11), "',", *_ADDRESS, ("tax", 6), ",300000.00),",
    )  # fmt: skip
    rows.text("name", random, 6, 10)
    rows.address(random)
    rows.decimal("tax", random.integers(0, 2_001, 1), 4)
    return rows.insert()


def _districts(random: np.random.Generator, end: str, warehouse: int) -> Insert:
    rows = _Rows(
        f"district{end}",
        "d_id,d_w_id,d_name,d_street_1,d_street_2,d_city,d_state,d_zip,d_tax,d_ytd,d_next_o_id", DISTRICTS,
        "(", ("id", 2), f",{warehouse},", ("name", 11), "',", *_ADDRESS, ("tax", 6), f",30000.00,{CUSTOMERS + 1}),",
    )  # fmt: skip
    rows.number("id", np.arange(1, DISTRICTS + 1))
    rows.text("name", random, 6, 10)
    rows.address(random)
    rows.decimal("tax", random.integers(0, 2_001, DISTRICTS), 4)
    return rows.insert()


def _stock(random: np.random.Generator, end: str, warehouse: int, district: int) -> Iterator[Insert]:
    dists = [f"dist_{number:02}" for number in range(1, DISTRICTS + 1)]
    rows = _Rows(
        f"stock{end}",
        f"s_i_id,s_w_id,s_quantity,{','.join(f's_{dist}' for dist in dists)},s_ytd,s_order_cnt,s_remote_cnt,s_data",
        STOCK_ROWS,
        "(", ("item", 6), f",{warehouse},", ("quantity", 3),
        *(part for dist in dists for part in (",'", (dist, 24), "'")), ",0,0,0,", ("data", 51), "'),",
    )  # fmt: skip
    first = (district - 1) * (ITEMS // DISTRICTS) + 1
    for start in range(first, first + ITEMS // DISTRICTS, STOCK_ROWS):
        rows.number("item", np.arange(start, start + STOCK_ROWS))
        rows.number("quantity", random.integers(10, 101, STOCK_ROWS))
        for dist in dists:
            rows.letters(dist, random)
        rows.text("data", random, 26, 50, originals=True)
        yield rows.insert()


def _customers(random: np.random.Generator, c: int, end: str, warehouse: int, district: int) -> Iterator[Insert]:
    rows = _Rows(
        f"customer{end}",
        "c_id,c_d_id,c_w_id,c_first,c_middle,c_last,c_street_1,c_street_2,c_city,c_state,c_zip,c_phone,c_since,"
        "c_credit,c_credit_lim,c_discount,c_balance,c_ytd_payment,c_payment_cnt,c_delivery_cnt,c_data",
        CUSTOMER_ROWS,
        "(", ("id", 4), f",{district},{warehouse},", ("first", 17), "','OE',", ("last", 16), "',", *_ADDRESS,
        "'", ("phone", 16), f"','{MOMENT}','", ("credit", 2), "',50000,", ("discount", 6), ",-10.00,10.00,1,0,",
        ("data", 501), "'),",
    )  # fmt: skip
    for start in range(1, CUSTOMERS + 1, CUSTOMER_ROWS):
        size = CUSTOMER_ROWS
        rows.number("id", np.arange(start, start + size))
        rows.text("first", random, 8, 16)
        # The first thousand customers have one last name each, so that every name exists in every district.
        name = np.arange(1_000) if start == 1 else nurand(random, A_NAME, 0, 999, c, size)
        rows.bytes("last", _last_names().take(name, axis=0))
        rows.address(random)
        rows.bytes("phone", random.integers(ord("0"), ord("9") + 1, (size, 16), dtype=np.uint8))
        bad = random.random(size) < _BAD_CREDIT_SHARE
        rows.bytes("credit", np.where(bad[:, None], _bytes("BC"), _bytes("GC")))
        rows.decimal("discount", random.integers(0, 5_001, size), 4)
        rows.text("data", random, 300, 500)
        yield rows.insert()


def _history(random: np.random.Generator, end: str, warehouse: int, district: int) -> Insert:
    rows = _Rows(
        f"history{end}", "h_c_id,h_c_d_id,h_c_w_id,h_d_id,h_w_id,h_date,h_amount,h_data", CUSTOMERS,
        "(", ("customer", 4), f",{district},{warehouse},{district},{warehouse},'{MOMENT}',10.00,", ("data", 25), "'),",
    )  # fmt: skip
    rows.number("customer", np.arange(1, CUSTOMERS + 1))
    rows.text("data", random, 12, 24)
    return rows.insert()


def _orders(random: np.random.Generator, end: str, warehouse: int, district: int) -> Iterator[Insert]:
    """The orders of a district, those that wait for delivery, and the lines of all."""
    customers = random.permutation(CUSTOMERS) + 1
    lines = random.integers(LEAST_LINES, MOST_LINES + 1, CUSTOMERS)
    carriers = random.integers(1, 11, CUSTOMERS)
    place = f",{district},{warehouse},"
    orders = _Rows(
        f"orders{end}", "o_id,o_d_id,o_w_id,o_c_id,o_entry_d,o_carrier_id,o_ol_cnt,o_all_local", CUSTOMERS,
        "(", ("id", 4), place, ("customer", 4), f",'{MOMENT}',", ("carrier", 4), ",", ("lines", 2), ",1),",
    )  # fmt: skip
    orders.number("id", np.arange(1, CUSTOMERS + 1))
    orders.number("customer", customers)
    orders.number("lines", lines)
    orders.number("carrier", carriers)
    waiting = np.arange(CUSTOMERS) >= DELIVERED
    orders.bytes("carrier", np.where(waiting[:, None], _bytes("NULL"), orders._areas["carrier"]))
    yield orders.insert()
    new = _Rows(f"new_orders{end}", "no_o_id,no_d_id,no_w_id", CUSTOMERS - DELIVERED, "(", ("id", 4), place[:-1], "),")
    new.number("id", np.arange(DELIVERED + 1, CUSTOMERS + 1))
    yield new.insert()
    for start in range(0, CUSTOMERS, ORDERS_PER_STATEMENT):
        delivered = start < DELIVERED
        count = lines[start : start + ORDERS_PER_STATEMENT]
        total = int(count.sum())
        date = f"'{MOMENT}'" if delivered else "NULL"
        rows = _Rows(
            f"order_line{end}",
            "ol_o_id,ol_d_id,ol_w_id,ol_number,ol_i_id,ol_supply_w_id,ol_delivery_d,ol_quantity,ol_amount,ol_dist_info",
            total,
            "(", ("order", 4), place, ("number", 2), ",", ("item", 6), f",{warehouse},{date},5,", ("amount", 7),
            ",'", ("dist", 24), "'),",
        )  # fmt: skip
        rows.number("order", np.repeat(np.arange(start + 1, start + 1 + len(count)), count))
        rows.number("number", np.arange(total) - np.repeat(np.cumsum(count) - count, count) + 1)
        rows.number("item", random.integers(1, ITEMS + 1, total))
        cents = random.integers(1, 1_000_000, total)
        rows.decimal("amount", np.zeros_like(cents) if delivered else cents, 2)
        rows.letters("dist", random)
        yield rows.insert()


def _digits(area: Array, values: Array) -> None:
    """Whole numbers in as many digits as the area has columns."""
    left = values
    for column in range(area.shape[1] - 1, -1, -1):
        left, digit = np.divmod(left, 10)
        area[:, column] = digit + ord("0")


def _letters(random: np.random.Generator, rows: int, width: int) -> Array:
    """Random letters, none of which has a meaning inside of quotes."""
    pairs = (width + 1) // 2
    noise = np.frombuffer(random.bytes(rows * pairs * 2), dtype=np.uint16)
    return _letter_pairs().take(noise & 0xFFF).view(np.uint8).reshape(rows, pairs * 2)[:, :width]


def _bytes(text: str) -> Array:
    return np.frombuffer(text.encode(), dtype=np.uint8)


@cache
def _letter_pairs() -> Array:
    """All 4,096 pairs of letters."""
    alphabet = np.frombuffer(_ALPHABET, dtype=np.uint8).astype(np.uint16)
    return (alphabet[:, None] | alphabet[None, :] << 8).reshape(-1)


@cache
def _text_masks(low: int, high: int) -> tuple[Array, Array]:
    """For each length: which bytes of the field are letters, and what the others are, spaces and the quote."""
    column, start = np.arange(high + 1)[None, :], (high + 1 - np.arange(low, high + 1))[:, None]
    is_letter = np.where(column >= start, 0xFF, 0).astype(np.uint8)
    heads = np.where(column < start - 1, ord(" "), np.where(column == start - 1, ord("'"), 0)).astype(np.uint8)
    return is_letter, heads


@cache
def _last_names() -> Array:
    """The last name of each number as the field of a row: spaces, the quote, the name."""
    return np.array([list(f"'{name}".rjust(16).encode()) for name in LAST_NAMES], dtype=np.uint8)
