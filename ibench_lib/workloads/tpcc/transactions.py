"""The five transactions of TPC-C, as the specification (revision 5.11) describes them, one round trip a statement.

A profile says which statements they send and where they leave the specification (`profiles`). A repeat after a deadlock
has the same input, which was drawn before. What COMMIT has acknowledged goes to the ledger (`changed`): rows by table,
and sums by `<table>.<column>`, w_ytd in cents.

In `standard`, reads whose row the transaction changes next lock it. In the specification's isolation that makes no
difference; under REPEATABLE READ in InnoDB a plain read may see an older version than the change that follows.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ibench_lib.client.driver import CHANGED, ROWS, Statement, StatementError, Steps
from ibench_lib.workloads.tpcc import inputs
from ibench_lib.workloads.tpcc.inputs import UNUSED_ITEM
from ibench_lib.workloads.tpcc.profiles import Profile
from ibench_lib.workloads.tpcc.tables import DISTRICTS

_LONGEST_DATA = 500
_CREDIT, _BALANCE, _YTD_PAYMENT = 9, 12, 13
"""Places of columns in the row of the customer who pays."""


class Sql:
    """The statements of a profile on the tables of one set, as commands of a driver or prepared."""

    def __init__(
        self,
        end: str,
        profile: Profile,
        command: Callable[[bytes], bytes],
        prepared: Callable[[str], Statement] | None = None,
    ) -> None:
        """`end` is what the tables' names end with; `command` and `prepared` are those of a connection.

        Without `prepared`, statements are sent as text.
        """

        def made(text: str) -> Statement:
            return command(text.encode()) if prepared is None else prepared(text)

        self.profile = profile
        self.commit, self.rollback = command(b"COMMIT"), command(b"ROLLBACK")
        self.tables = {name: f"{name}{end}" for name in ("orders", "order_line", "new_orders", "history")}
        self.next_order, self.w_ytd, self.s_order_cnt = (
            f"{table}{end}.{column}"
            for table, column in (("district", "d_next_o_id"), ("warehouse", "w_ytd"), ("stock", "s_order_cnt"))
        )
        texts = {name: text.replace("@", end) for name, text in profile.statements.items()}
        stock = texts.pop("stock")
        for name, text in texts.items():
            setattr(self, name, made(text))
        if profile.all_dists:
            self.stock = [made(stock)] * DISTRICTS
        else:
            self.stock = [made(stock.format(f"s_dist_{number:02}")) for number in range(1, DISTRICTS + 1)]
        self.begin = None if profile.begin is None else command(profile.begin.encode())

    discount: Statement
    take_number: Statement
    set_number: Statement
    add_order: Statement
    add_new_order: Statement
    item: Statement
    set_stock: Statement
    add_line: Statement
    pay_warehouse: Statement
    warehouse: Statement
    pay_district: Statement
    district: Statement
    count_last: Statement
    ids_of_last: Statement
    customer: Statement
    data: Statement
    pay: Statement
    pay_badly: Statement
    add_history: Statement
    status_of_last: Statement
    status_of_id: Statement
    last_order: Statement
    lines: Statement
    oldest: Statement
    remove_oldest: Statement
    customer_of: Statement
    set_carrier: Statement
    deliver_lines: Statement
    amount_of: Statement
    delivered_to: Statement
    next_number: Statement
    sold_items: Statement
    low_stock: Statement


@cache
def sql_of(end: str, profile: Profile, command: Callable[[bytes], bytes]) -> Sql:
    """The statements of a set as text, shared by the terminals of a process (`Sql`)."""
    return Sql(end, profile, command)


@dataclass(slots=True)
class NewOrder:
    """Returns 1 if the order was committed, 0 if it was rolled back as its input intends."""

    sql: Sql
    given: inputs.NewOrder
    changed: Counter[str]
    operation = "new_order"

    def steps(self) -> Steps:
        """The statements of the transaction, one after another, up to COMMIT or ROLLBACK."""
        sql, (_, warehouse, district, customer, lines) = self.sql, self.given
        profile = sql.profile
        factor = 1.0
        if sql.begin:
            yield sql.begin
        discount = sql.discount % (warehouse, district, customer)
        if profile.taxed:
            ((off, _, _, w_tax),) = yield discount, ROWS
        else:
            yield discount
        ((taken, d_tax),) = yield sql.take_number % (warehouse, district), ROWS
        number = int(taken)
        if profile.taxed:
            factor = (1 + float(w_tax) + float(d_tax)) * (1 - float(off))
        # The peer's statement adds the 1 itself.
        yield sql.set_number % (number if profile.all_dists else number + 1, warehouse, district)
        all_local = all(line.supply == warehouse for line in lines)
        yield sql.add_order % (number, district, warehouse, customer, len(lines), all_local)
        yield sql.add_new_order % (number, district, warehouse)
        stock = sql.stock[district - 1]
        dist_at = 1 + district if profile.all_dists else 2
        for at, (supply, item, quantity) in enumerate(lines, start=1):
            rows = yield sql.item % item, ROWS
            if not rows and item == UNUSED_ITEM:
                yield sql.rollback
                return 0
            price = int(rows[0][0].replace(b".", b""))
            (row,) = yield stock % (item, supply), ROWS
            left = int(row[0])
            if profile.peer_stock:
                rest = left - quantity if left > quantity else left - quantity + 91
                yield sql.set_stock % (rest, item, supply)
            else:
                rest = left - quantity
                remote = supply != warehouse
                yield sql.set_stock % (rest if rest >= 10 else rest + 91, quantity, remote, item, supply)
            cents = quantity * price if factor == 1.0 else int(quantity * price * factor)
            amount = b"%d" % (cents // 100) if profile.whole_lines else money(cents)
            yield sql.add_line % (number, district, warehouse, at, item, supply, quantity, amount, row[dist_at])
        yield sql.commit
        changed, tables = self.changed, sql.tables
        changed[tables["orders"]] += 1
        changed[tables["new_orders"]] += 1
        changed[tables["order_line"]] += len(lines)
        changed[sql.next_order] += 1
        if not profile.peer_stock:
            changed[sql.s_order_cnt] += len(lines)
        return 1


@dataclass(slots=True)
class Payment:
    """Returns 1."""

    sql: Sql
    given: inputs.Payment
    changed: Counter[str]
    operation = "payment"

    def steps(self) -> Steps:
        """The statements of the transaction, one after another, up to COMMIT or ROLLBACK."""
        sql, (_, warehouse, district, customer, cents) = self.sql, self.given
        amount = money(cents)
        if sql.begin:
            yield sql.begin
        yield sql.pay_warehouse % (amount, warehouse)
        ((*_, w_name),) = yield sql.warehouse % warehouse, ROWS
        yield sql.pay_district % (amount, warehouse, district)
        ((*_, d_name),) = yield sql.district % (warehouse, district), ROWS
        home, number = (customer.warehouse, customer.district), customer.number
        if customer.last is not None:
            yield sql.count_last % (*home, customer.last.encode())
            customers = yield sql.ids_of_last % (*home, customer.last.encode()), ROWS
            number = int(_middle(customers, past=sql.profile.past_middle)[0])
        (row,) = yield sql.customer % (*home, number), ROWS
        paid = _paid(sql.profile, row, cents)
        if row[_CREDIT] == b"BC":
            ((old,),) = yield sql.data % (*home, number), ROWS
            of_customer = (number, customer.district, customer.warehouse)
            head = b"%d %d %d %d %d %b | " % (*of_customer, district, warehouse, amount)
            data = old if sql.profile.old_data else (head + old)[:_LONGEST_DATA]
            yield sql.pay_badly % (*paid, data, *home, number)
        else:
            yield sql.pay % (*paid, *home, number)
        names = w_name + b"    " + d_name
        yield sql.add_history % (number, *reversed(home), district, warehouse, amount, names)
        yield sql.commit
        self.changed[sql.tables["history"]] += 1
        self.changed[sql.w_ytd] += cents
        return 1


def _paid(profile: Profile, row: tuple[bytes, ...], cents: int) -> tuple[bytes, ...]:
    """The amounts of the update of the customer who pays."""
    if profile.customer == "relative":
        return (money(cents), money(cents))
    balance = _cents(row[_BALANCE]) - cents
    if profile.customer == "absolute":
        return (money(balance), money(_cents(row[_YTD_PAYMENT]) + cents))
    (rounded,) = struct.unpack("<f", struct.pack("<f", balance / 100))
    return (b"%.2f" % rounded,)


@dataclass(slots=True)
class OrderStatus:
    """Returns 1."""

    sql: Sql
    given: inputs.OrderStatus
    operation = "order_status"

    def steps(self) -> Steps:
        """The statements of the transaction, one after another, up to COMMIT or ROLLBACK."""
        sql, customer = self.sql, self.given.customer
        profile = sql.profile
        home, number = (customer.warehouse, customer.district), customer.number
        if sql.begin:
            yield sql.begin
        if customer.last is not None:
            yield sql.count_last % (*home, customer.last.encode())
            rows = yield sql.status_of_last % (*home, customer.last.encode()), ROWS
            if not profile.own_customer:
                number = int(_middle(rows, past=profile.past_middle)[3])
        else:
            yield sql.status_of_id % (*home, number)
        of_customer = (*home, number)
        rows = yield sql.last_order % (of_customer * 2 if profile.own_customer else of_customer), ROWS
        order = int(rows[0][0])
        yield sql.lines % (*home, customer.district if profile.lines_of_district else order)
        yield sql.commit
        return 1


@dataclass(slots=True)
class Delivery:
    """Returns how many orders it has delivered: one of each district that has orders waiting."""

    sql: Sql
    given: inputs.Delivery
    changed: Counter[str]
    operation = "delivery"

    def steps(self) -> Steps:
        """The statements of the transaction, one after another, up to COMMIT or ROLLBACK."""
        sql, (_, warehouse, carrier) = self.sql, self.given
        delivered = removed = 0
        if sql.begin:
            yield sql.begin
        for district in range(1, DISTRICTS + 1):
            waiting = yield sql.oldest % (warehouse, district), ROWS
            if not waiting or waiting[0][0] == b"0":
                continue
            order = (warehouse, district, int(waiting[0][0]))
            # Without locks, another delivery may have removed the same order.
            removed += yield sql.remove_oldest % order
            ordered = yield sql.customer_of % order, ROWS
            if not ordered:
                # `oldest` locks, so it sees an order that is newer than the read view of a profile's plain SELECT.
                raise StatementError(CHANGED, "the oldest order is newer than the transaction's read view", CHANGED)
            customer = int(ordered[0][0])
            yield sql.set_carrier % (carrier, *order)
            yield sql.deliver_lines % order
            ((amount,),) = yield sql.amount_of % order, ROWS
            yield sql.delivered_to % (amount, warehouse, district, customer)
            delivered += 1
            if sql.profile.commit_districts:
                yield sql.commit
                self.changed[sql.tables["new_orders"]] -= removed
                removed = 0
        if not sql.profile.commit_districts:
            yield sql.commit
            self.changed[sql.tables["new_orders"]] -= removed
        return delivered


@dataclass(slots=True)
class StockLevel:
    """Returns 1."""

    sql: Sql
    given: inputs.StockLevel
    operation = "stock_level"

    def steps(self) -> Steps:
        """The statements of the transaction, one after another, up to COMMIT or ROLLBACK."""
        sql, (_, warehouse, district, threshold) = self.sql, self.given
        if sql.begin:
            yield sql.begin
        ((number,),) = yield sql.next_number % (warehouse, district), ROWS
        number = int(number)
        if sql.profile.count_items:
            for (item,) in (yield sql.sold_items % (warehouse, district, number, number), ROWS):
                yield sql.low_stock % (warehouse, int(item), threshold)
        else:
            yield sql.low_stock % (warehouse, district, number, number - 20, warehouse, threshold)
        yield sql.commit
        return 1


def money(cents: int) -> bytes:
    """An amount as a literal."""
    return b"%d.%02d" % divmod(cents, 100) if cents >= 0 else b"-" + money(-cents)


def _cents(amount: bytes) -> int:
    return int(amount.replace(b".", b""))


def _middle(rows: Sequence[Any], *, past: bool) -> tuple[bytes, ...]:
    """The row in the middle, which the specification takes of the customers of a last name.

    Of an even number it is the first of the two in the middle. With `past`, and several
    rows, it is the row after that.
    """
    middle = (len(rows) + 1) // 2 - 1
    return tuple(rows[middle + 1 if past and len(rows) > 1 else middle])
