"""What clients of TPC-C send, as data: the statements of each profile, and what else distinguishes it.

`standard` follows the specification. The other profiles send what two well-known clients send, their defects included.
`deviations.json` lists in words how each differs from the specification. In a text, @ stands for the end of
table names, %d for an integer, '%b' for a string and %b for a decimal. Parameters have the same order in all profiles,
so columns and conditions may be in another order than in the client that a profile is named after.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

_ADDRESS = "{0}street_1,{0}street_2,{0}city,{0}state,{0}zip"
_OF_CUSTOMER = "c_w_id=%d AND c_d_id=%d"
_CUSTOMER = f"FROM customer@ WHERE {_OF_CUSTOMER} AND c_id=%d"
_BY_LAST = f"FROM customer@ WHERE {_OF_CUSTOMER} AND c_last='%b'"
_DISTRICT = "d_w_id=%d AND d_id=%d"
_ORDER = "o_w_id=%d AND o_d_id=%d AND o_id=%d"
_ORDERS_OF = "o_w_id=%d AND o_d_id=%d AND o_c_id=%d"
_LINES = "ol_w_id=%d AND ol_d_id=%d AND ol_o_id=%d"
_WAITING = "FROM new_orders@ WHERE no_w_id=%d AND no_d_id=%d"
_OF_PAYER = f"SELECT c_first,c_middle,c_last,{_ADDRESS.format('c_')},c_phone,c_credit,c_credit_lim,c_discount,c_balance"
_PAID = "c_balance=c_balance-%b,c_ytd_payment=c_ytd_payment+%b,c_payment_cnt=c_payment_cnt+1"
_DISTS = ",".join(f"s_dist_{number:02}" for number in range(1, 11))


def _pay(assignments: str) -> dict[str, str]:
    """The updates of a payment, for good and for bad credit."""
    where = f"WHERE {_OF_CUSTOMER} AND c_id=%d"
    return {
        "pay": f"UPDATE customer@ SET {assignments} {where}",
        "pay_badly": f"UPDATE customer@ SET {assignments},c_data='%b' {where}",
    }


_STANDARD: Mapping[str, str] = {
    "discount": "SELECT c_discount,c_last,c_credit,w_tax FROM customer@,warehouse@ WHERE w_id=%d AND c_w_id=w_id AND "
    "c_d_id=%d AND c_id=%d",
    "take_number": f"SELECT d_next_o_id,d_tax FROM district@ WHERE {_DISTRICT} FOR UPDATE",
    "set_number": f"UPDATE district@ SET d_next_o_id=%d WHERE {_DISTRICT}",
    "add_order": "INSERT INTO orders@ (o_id,o_d_id,o_w_id,o_c_id,o_entry_d,o_ol_cnt,o_all_local) "
    "VALUES (%d,%d,%d,%d,NOW(),%d,%d)",
    "add_new_order": "INSERT INTO new_orders@ (no_o_id,no_d_id,no_w_id) VALUES (%d,%d,%d)",
    "item": "SELECT i_price,i_name,i_data FROM item@ WHERE i_id=%d",
    # {0} is the column of the district.
    "stock": "SELECT s_quantity,s_data,{0} FROM stock@ WHERE s_i_id=%d AND s_w_id=%d FOR UPDATE",
    "set_stock": "UPDATE stock@ SET s_quantity=%d,s_ytd=s_ytd+%d,s_order_cnt=s_order_cnt+1,"
    "s_remote_cnt=s_remote_cnt+%d WHERE s_i_id=%d AND s_w_id=%d",
    "add_line": "INSERT INTO order_line@ (ol_o_id,ol_d_id,ol_w_id,ol_number,ol_i_id,ol_supply_w_id,ol_quantity,"
    "ol_amount,ol_dist_info) VALUES (%d,%d,%d,%d,%d,%d,%d,%b,'%b')",
    "pay_warehouse": "UPDATE warehouse@ SET w_ytd=w_ytd+%b WHERE w_id=%d",
    "warehouse": f"SELECT {_ADDRESS.format('w_')},w_name FROM warehouse@ WHERE w_id=%d",
    "pay_district": f"UPDATE district@ SET d_ytd=d_ytd+%b WHERE {_DISTRICT}",
    "district": f"SELECT {_ADDRESS.format('d_')},d_name FROM district@ WHERE {_DISTRICT}",
    "count_last": f"SELECT COUNT(c_id) {_BY_LAST}",
    "ids_of_last": f"SELECT c_id {_BY_LAST} ORDER BY c_first",
    "customer": f"{_OF_PAYER},c_since {_CUSTOMER} FOR UPDATE",
    "data": f"SELECT c_data {_CUSTOMER} FOR UPDATE",
    **_pay(_PAID),
    "add_history": "INSERT INTO history@ (h_c_id,h_c_d_id,h_c_w_id,h_d_id,h_w_id,h_date,h_amount,h_data) "
    "VALUES (%d,%d,%d,%d,%d,NOW(),%b,'%b')",
    "status_of_last": f"SELECT c_balance,c_first,c_middle,c_id {_BY_LAST} ORDER BY c_first",
    "status_of_id": f"SELECT c_balance,c_first,c_middle,c_last {_CUSTOMER}",
    "last_order": f"SELECT o_id,o_carrier_id,o_entry_d FROM orders@ WHERE {_ORDERS_OF} ORDER BY o_id DESC LIMIT 1",
    "lines": f"SELECT ol_i_id,ol_supply_w_id,ol_quantity,ol_amount,ol_delivery_d FROM order_line@ WHERE {_LINES}",
    "oldest": f"SELECT no_o_id {_WAITING} ORDER BY no_o_id LIMIT 1 FOR UPDATE",
    "remove_oldest": f"DELETE {_WAITING} AND no_o_id=%d",
    "customer_of": f"SELECT o_c_id FROM orders@ WHERE {_ORDER} FOR UPDATE",
    "set_carrier": f"UPDATE orders@ SET o_carrier_id=%d WHERE {_ORDER}",
    "deliver_lines": f"UPDATE order_line@ SET ol_delivery_d=NOW() WHERE {_LINES}",
    "amount_of": f"SELECT SUM(ol_amount) FROM order_line@ WHERE {_LINES}",
    "delivered_to": "UPDATE customer@ SET c_balance=c_balance+%b,c_delivery_cnt=c_delivery_cnt+1 "
    f"WHERE {_OF_CUSTOMER} AND c_id=%d",
    "next_number": f"SELECT d_next_o_id FROM district@ WHERE {_DISTRICT}",
    "low_stock": "SELECT COUNT(DISTINCT s_i_id) FROM order_line@,stock@ WHERE ol_w_id=%d AND ol_d_id=%d AND "
    "ol_o_id<%d AND ol_o_id>=%d AND s_w_id=%d AND s_i_id=ol_i_id AND s_quantity<%d",
}


@dataclass(frozen=True, eq=False)
class Profile:
    """What a client sends. The defaults are those of the specification.

    `begin` starts a transaction; None with autocommit off. `deck`: types come from a shuffled deck, or each is drawn.
    `redrawn` are the constants C of NURand that are drawn again for each number. `remote`: some lines and payments are
    of another warehouse. `any_district`: payments that find no other warehouse are of any district. `sorted_lines`: the
    lines of an order are in the order of warehouse and item. `unused` is the place of the unused item: the last line,
    the last but one, or where it belongs in that order. `whole_amounts`: payments have no cents. `taxed`: an order
    line's amount has tax and discount; `whole_lines`: and no cents. `peer_stock`: the stock is filled up when the order
    takes all that is left, and only its quantity changes. `all_dists`: all ten s_dist are read. `customer` is how a
    payment changes its customer: relative to the row, or absolute values of balance and payments, or the balance as a
    single-precision number. `old_data`: with bad credit, c_data stays as it was. `past_middle`: of several customers of
    one name, the one after the middle. `own_customer`: an order status by name looks for the orders of the drawn
    number. `lines_of_district`: it reads the lines of the order whose number is that of the district.
    `commit_districts`: a delivery commits after each district. `count_items`: a stock level counts each item on its
    own. `broken` are the conditions that its own defects break.
    """

    name: str
    statements: Mapping[str, str] = field(default_factory=lambda: _STANDARD)
    protocol: Literal["text", "prepared"] = "text"
    begin: str | None = "START TRANSACTION"
    deck: bool = True
    redrawn: frozenset[str] = frozenset()
    remote: bool = True
    any_district: bool = False
    sorted_lines: bool = True
    unused: Literal["last", "last but one", "sorted"] = "last"
    whole_amounts: bool = False
    taxed: bool = False
    whole_lines: bool = False
    peer_stock: bool = False
    all_dists: bool = False
    customer: Literal["relative", "absolute", "balance"] = "relative"
    old_data: bool = False
    past_middle: bool = False
    own_customer: bool = False
    lines_of_district: bool = False
    commit_districts: bool = False
    count_items: bool = False
    broken: tuple[str, ...] = ()


STANDARD = Profile("standard")

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        STANDARD,
        Profile(
            "sysbench_tpcc",
            {
                **_STANDARD,
                "set_stock": "UPDATE stock@ SET s_quantity=%d WHERE s_i_id=%d AND s_w_id=%d",
                "customer": f"{_OF_PAYER},c_ytd_payment,c_since {_CUSTOMER} FOR UPDATE",
                "data": f"SELECT c_data {_CUSTOMER}",
                **_pay("c_balance=%b,c_ytd_payment=%b"),
                "last_order": f"SELECT o_id,o_carrier_id,o_entry_d FROM orders@ WHERE {_ORDERS_OF} ORDER BY o_id DESC",
                "customer_of": f"SELECT o_c_id FROM orders@ WHERE {_ORDER}",
            },
            begin="BEGIN",
            deck=False,
            redrawn=frozenset({"name", "customer", "item"}),
            remote=False,
            any_district=True,
            sorted_lines=False,
            unused="last but one",
            whole_amounts=True,
            taxed=True,
            whole_lines=True,
            peer_stock=True,
            customer="absolute",
            past_middle=True,
            lines_of_district=True,
        ),
        Profile(
            "tpcc_mysql",
            {
                **_STANDARD,
                "set_number": f"UPDATE district@ SET d_next_o_id=%d+1 WHERE {_DISTRICT}",
                "stock": f"SELECT s_quantity,s_data,{_DISTS} FROM stock@ WHERE s_i_id=%d AND s_w_id=%d FOR UPDATE",
                "set_stock": "UPDATE stock@ SET s_quantity=%d WHERE s_i_id=%d AND s_w_id=%d",
                "data": f"SELECT c_data {_CUSTOMER}",
                **_pay("c_balance=%b"),
                "status_of_last": f"SELECT c_balance,c_first,c_middle,c_last {_BY_LAST} ORDER BY c_first",
                "last_order": f"SELECT o_id,o_entry_d,COALESCE(o_carrier_id,0) FROM orders@ WHERE {_ORDERS_OF} AND "
                f"o_id=(SELECT MAX(o_id) FROM orders@ WHERE {_ORDERS_OF})",
                "oldest": f"SELECT COALESCE(MIN(no_o_id),0) {_WAITING}",
                "customer_of": f"SELECT o_c_id FROM orders@ WHERE {_ORDER}",
                "sold_items": "SELECT DISTINCT ol_i_id FROM order_line@ WHERE ol_w_id=%d AND ol_d_id=%d AND ol_o_id<%d "
                "AND ol_o_id>=(%d - 20)",
                "low_stock": "SELECT COUNT(*) FROM stock@ WHERE s_w_id=%d AND s_i_id=%d AND s_quantity<%d",
            },
            protocol="prepared",
            begin=None,
            redrawn=frozenset({"item"}),
            any_district=True,
            unused="sorted",
            whole_amounts=True,
            taxed=True,
            peer_stock=True,
            all_dists=True,
            customer="balance",
            old_data=True,
            own_customer=True,
            commit_districts=True,
            count_items=True,
            broken=("C10", "C12"),
        ),
    )
}


@cache
def deviations(name: str) -> list[dict[str, str]]:
    """How a profile differs from the specification: what, the specification, here. Empty for standard."""
    text = (Path(__file__).parent / "deviations.json").read_text(encoding="utf-8")
    of_profiles: dict[str, list[dict[str, str]]] = json.loads(text)
    return of_profiles.get(name, [])
