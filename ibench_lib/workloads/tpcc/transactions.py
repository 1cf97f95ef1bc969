"""The five transactions of TPC-C, as the specification (revision 5.11) describes them, one round trip a statement.

A repeat after a deadlock has the same input, which was drawn before. What COMMIT has acknowledged goes to the ledger
(`changed`): rows by table, and sums by `<table>.<column>`, w_ytd in cents.

Reads whose row the transaction changes next lock it. In the specification's isolation that makes no difference; under
REPEATABLE READ in InnoDB a plain read may see an older version than the change that follows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

from ibench_lib.client.mysql.wire import COM_QUERY
from ibench_lib.client.role import Query, Row, Steps
from ibench_lib.workloads.tpcc import inputs
from ibench_lib.workloads.tpcc.inputs import UNUSED_ITEM
from ibench_lib.workloads.tpcc.tables import DISTRICTS

BEGIN, COMMIT, ROLLBACK = (COM_QUERY + text for text in (b"START TRANSACTION", b"COMMIT", b"ROLLBACK"))

_ADDRESS = "{0}street_1,{0}street_2,{0}city,{0}state,{0}zip"
_OF_CUSTOMER = "c_w_id=%d AND c_d_id=%d"
_LONGEST_DATA = 500


class Sql:
    """The statements on the tables of one set, to be completed with `%`."""

    def __init__(self, end: str) -> None:
        self.tables = {name: f"{name}{end}" for name in ("orders", "order_line", "new_orders", "history")}
        self.next_order, self.w_ytd, self.s_order_cnt = (
            f"{table}{end}.{column}"
            for table, column in (("district", "d_next_o_id"), ("warehouse", "w_ytd"), ("stock", "s_order_cnt"))
        )

        def text(statement: str) -> bytes:
            return COM_QUERY + statement.replace("@", end).encode()

        district = "d_w_id=%d AND d_id=%d"
        by_last = f"FROM customer@ WHERE {_OF_CUSTOMER} AND c_last='%b'"
        order = "o_w_id=%d AND o_d_id=%d AND o_id=%d"
        lines = "ol_w_id=%d AND ol_d_id=%d AND ol_o_id=%d"
        self.discount = text(
            "SELECT c_discount,c_last,c_credit,w_tax FROM customer@,warehouse@ WHERE w_id=%d AND c_w_id=w_id AND "
            "c_d_id=%d AND c_id=%d"
        )
        self.take_number = text(f"SELECT d_next_o_id,d_tax FROM district@ WHERE {district} FOR UPDATE")
        self.set_number = text(f"UPDATE district@ SET d_next_o_id=%d WHERE {district}")
        self.add_order = text(
            "INSERT INTO orders@ (o_id,o_d_id,o_w_id,o_c_id,o_entry_d,o_ol_cnt,o_all_local) "
            "VALUES (%d,%d,%d,%d,NOW(),%d,%d)"
        )
        self.add_new_order = text("INSERT INTO new_orders@ (no_o_id,no_d_id,no_w_id) VALUES (%d,%d,%d)")
        self.item = text("SELECT i_price,i_name,i_data FROM item@ WHERE i_id=%d")
        self.stock = [
            text(f"SELECT s_quantity,s_data,s_dist_{number:02} FROM stock@ WHERE s_i_id=%d AND s_w_id=%d FOR UPDATE")
            for number in range(1, DISTRICTS + 1)
        ]
        self.set_stock = text(
            "UPDATE stock@ SET s_quantity=%d,s_ytd=s_ytd+%d,s_order_cnt=s_order_cnt+1,s_remote_cnt=s_remote_cnt+%d "
            "WHERE s_i_id=%d AND s_w_id=%d"
        )
        self.add_line = text(
            "INSERT INTO order_line@ (ol_o_id,ol_d_id,ol_w_id,ol_number,ol_i_id,ol_supply_w_id,ol_quantity,ol_amount,"
            "ol_dist_info) VALUES (%d,%d,%d,%d,%d,%d,%d,%b,'%b')"
        )
        self.pay_warehouse = text("UPDATE warehouse@ SET w_ytd=w_ytd+%b WHERE w_id=%d")
        self.warehouse = text(f"SELECT {_ADDRESS.format('w_')},w_name FROM warehouse@ WHERE w_id=%d")
        self.pay_district = text(f"UPDATE district@ SET d_ytd=d_ytd+%b WHERE {district}")
        self.district = text(f"SELECT {_ADDRESS.format('d_')},d_name FROM district@ WHERE {district}")
        self.count_last = text(f"SELECT COUNT(c_id) {by_last}")
        self.ids_of_last = text(f"SELECT c_id {by_last} ORDER BY c_first")
        customer = f"FROM customer@ WHERE {_OF_CUSTOMER} AND c_id=%d"
        self.customer = text(
            f"SELECT c_first,c_middle,c_last,{_ADDRESS.format('c_')},c_phone,c_credit,c_credit_lim,c_discount,"
            f"c_balance,c_since {customer} FOR UPDATE"
        )
        self.data = text(f"SELECT c_data {customer} FOR UPDATE")
        paid = (
            "UPDATE customer@ SET c_balance=c_balance-%b,c_ytd_payment=c_ytd_payment+%b,c_payment_cnt=c_payment_cnt+1"
        )
        self.pay = text(f"{paid} WHERE {_OF_CUSTOMER} AND c_id=%d")
        self.pay_badly = text(f"{paid},c_data='%b' WHERE {_OF_CUSTOMER} AND c_id=%d")
        self.add_history = text(
            "INSERT INTO history@ (h_c_id,h_c_d_id,h_c_w_id,h_d_id,h_w_id,h_date,h_amount,h_data) "
            "VALUES (%d,%d,%d,%d,%d,NOW(),%b,'%b')"
        )
        self.status_of_last = text(f"SELECT c_balance,c_first,c_middle,c_id {by_last} ORDER BY c_first")
        self.status_of_id = text(f"SELECT c_balance,c_first,c_middle,c_last {customer}")
        self.last_order = text(
            "SELECT o_id,o_carrier_id,o_entry_d FROM orders@ WHERE o_w_id=%d AND o_d_id=%d AND o_c_id=%d "
            "ORDER BY o_id DESC LIMIT 1"
        )
        self.lines = text(
            f"SELECT ol_i_id,ol_supply_w_id,ol_quantity,ol_amount,ol_delivery_d FROM order_line@ WHERE {lines}"
        )
        self.oldest = text(
            "SELECT no_o_id FROM new_orders@ WHERE no_w_id=%d AND no_d_id=%d ORDER BY no_o_id LIMIT 1 FOR UPDATE"
        )
        self.remove_oldest = text("DELETE FROM new_orders@ WHERE no_w_id=%d AND no_d_id=%d AND no_o_id=%d")
        self.customer_of = text(f"SELECT o_c_id FROM orders@ WHERE {order} FOR UPDATE")
        self.set_carrier = text(f"UPDATE orders@ SET o_carrier_id=%d WHERE {order}")
        self.deliver_lines = text(f"UPDATE order_line@ SET ol_delivery_d=NOW() WHERE {lines}")
        self.amount_of = text(f"SELECT SUM(ol_amount) FROM order_line@ WHERE {lines}")
        self.delivered_to = text(
            "UPDATE customer@ SET c_balance=c_balance+%b,c_delivery_cnt=c_delivery_cnt+1 "
            f"WHERE {_OF_CUSTOMER} AND c_id=%d"
        )
        self.next_number = text(f"SELECT d_next_o_id FROM district@ WHERE {district}")
        self.low_stock = text(
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line@,stock@ WHERE ol_w_id=%d AND ol_d_id=%d AND ol_o_id<%d AND "
            "ol_o_id>=%d AND s_w_id=%d AND s_i_id=ol_i_id AND s_quantity<%d"
        )


@cache
def sql_of(end: str) -> Sql:
    """The statements of a set, by what its tables' names end with."""
    return Sql(end)


@dataclass(slots=True)
class NewOrder:
    """Returns 1 if the order was committed, 0 if it was rolled back as its input intends."""

    sql: Sql
    given: inputs.NewOrder
    changed: Counter[str]
    operation = "new_order"

    def steps(self) -> Steps:
        sql, (_, warehouse, district, customer, lines) = self.sql, self.given
        yield BEGIN
        yield sql.discount % (warehouse, district, customer)
        number = int(_row((yield Query(sql.take_number % (warehouse, district))))[0])
        yield sql.set_number % (number + 1, warehouse, district)
        all_local = all(line.supply == warehouse for line in lines)
        yield sql.add_order % (number, district, warehouse, customer, len(lines), all_local)
        yield sql.add_new_order % (number, district, warehouse)
        stock = sql.stock[district - 1]
        for at, (supply, item, quantity) in enumerate(lines, start=1):
            found = _rows((yield Query(sql.item % item)))
            if not found and item == UNUSED_ITEM:
                yield ROLLBACK
                return 0
            price = int(_text(found[0][0]).replace(b".", b""))
            left, _, dist = _row((yield Query(stock % (item, supply))))
            rest = int(left) - quantity
            remote = supply != warehouse
            yield sql.set_stock % (rest if rest >= 10 else rest + 91, quantity, remote, item, supply)
            amount = money(quantity * price)
            yield sql.add_line % (number, district, warehouse, at, item, supply, quantity, amount, dist)
        yield COMMIT
        changed, tables = self.changed, sql.tables
        changed[tables["orders"]] += 1
        changed[tables["new_orders"]] += 1
        changed[tables["order_line"]] += len(lines)
        changed[sql.next_order] += 1
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
        sql, (_, warehouse, district, customer, cents) = self.sql, self.given
        amount = money(cents)
        yield BEGIN
        yield sql.pay_warehouse % (amount, warehouse)
        w_name = _row((yield Query(sql.warehouse % warehouse)))[-1]
        yield sql.pay_district % (amount, warehouse, district)
        d_name = _row((yield Query(sql.district % (warehouse, district))))[-1]
        home, number = (customer.warehouse, customer.district), customer.number
        if customer.last is not None:
            yield sql.count_last % (*home, customer.last.encode())
            number = int(_middle((yield Query(sql.ids_of_last % (*home, customer.last.encode()))))[0])
        credit = _row((yield Query(sql.customer % (*home, number))))[9]
        if credit == b"BC":
            (old,) = _row((yield Query(sql.data % (*home, number))))
            of_customer = (number, customer.district, customer.warehouse)
            head = b"%d %d %d %d %d %b | " % (*of_customer, district, warehouse, amount)
            yield sql.pay_badly % (amount, amount, (head + old)[:_LONGEST_DATA], *home, number)
        else:
            yield sql.pay % (amount, amount, *home, number)
        data = w_name + b"    " + d_name
        yield sql.add_history % (number, *reversed(home), district, warehouse, amount, data)
        yield COMMIT
        self.changed[sql.tables["history"]] += 1
        self.changed[sql.w_ytd] += cents
        return 1


@dataclass(slots=True)
class OrderStatus:
    """Returns 1."""

    sql: Sql
    given: inputs.OrderStatus
    operation = "order_status"

    def steps(self) -> Steps:
        sql, customer = self.sql, self.given.customer
        home, number = (customer.warehouse, customer.district), customer.number
        yield BEGIN
        if customer.last is not None:
            yield sql.count_last % (*home, customer.last.encode())
            number = int(_middle((yield Query(sql.status_of_last % (*home, customer.last.encode()))))[3])
        else:
            yield sql.status_of_id % (*home, number)
        order = int(_first((yield Query(sql.last_order % (*home, number)))))
        yield sql.lines % (*home, order)
        yield COMMIT
        return 1


@dataclass(slots=True)
class Delivery:
    """Returns how many orders it has delivered: one of each district that has orders waiting."""

    sql: Sql
    given: inputs.Delivery
    changed: Counter[str]
    operation = "delivery"

    def steps(self) -> Steps:
        sql, (_, warehouse, carrier) = self.sql, self.given
        delivered = 0
        yield BEGIN
        for district in range(1, DISTRICTS + 1):
            waiting = _rows((yield Query(sql.oldest % (warehouse, district))))
            if not waiting:
                continue
            order = (warehouse, district, int(_text(waiting[0][0])))
            yield sql.remove_oldest % order
            customer = int(_row((yield Query(sql.customer_of % order)))[0])
            yield sql.set_carrier % (carrier, *order)
            yield sql.deliver_lines % order
            (amount,) = _row((yield Query(sql.amount_of % order)))
            yield sql.delivered_to % (amount, warehouse, district, customer)
            delivered += 1
        yield COMMIT
        self.changed[sql.tables["new_orders"]] -= delivered
        return delivered


@dataclass(slots=True)
class StockLevel:
    """Returns 1."""

    sql: Sql
    given: inputs.StockLevel
    operation = "stock_level"

    def steps(self) -> Steps:
        sql, (_, warehouse, district, threshold) = self.sql, self.given
        yield BEGIN
        number = int(_first((yield Query(sql.next_number % (warehouse, district)))))
        yield sql.low_stock % (warehouse, district, number, number - 20, warehouse, threshold)
        yield COMMIT
        return 1


def money(cents: int) -> bytes:
    """An amount as a literal."""
    return b"%d.%02d" % divmod(cents, 100)


def _rows(answer: object) -> Sequence[Row]:
    return cast("Sequence[Row]", answer)


def _row(answer: object) -> tuple[bytes, ...]:
    """The only row of an answer, which has no NULL."""
    (row,) = _rows(answer)
    return cast("tuple[bytes, ...]", row)


def _first(answer: object) -> bytes:
    return _row(answer)[0]


def _middle(answer: object) -> tuple[bytes, ...]:
    """The row in the middle, rounded up: the one that the specification takes of the customers of a last name."""
    rows = _rows(answer)
    return cast("tuple[bytes, ...]", rows[(len(rows) + 1) // 2 - 1])


def _text(value: bytes | None) -> bytes:
    assert value is not None
    return value
