"""What each profile sends, by the server's general log, and what it leaves."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from ibench_lib.client.role import Query
from ibench_lib.workloads.tpcc import profiles
from ibench_lib.workloads.tpcc.client import Terminal
from ibench_lib.workloads.tpcc.inputs import UNUSED_ITEM, Inputs, Size
from ibench_lib.workloads.tpcc.nurand import Constants
from ibench_lib.workloads.tpcc.profiles import PROFILES, Profile
from ibench_lib.workloads.tpcc.transactions import COMMIT, ROLLBACK, money
from ibench_lib.workloads.tpcc.workload import WORKLOAD
from tests.workloads.tpcc.warehouse import Warehouse, options, setup, step_of

# Statements of each type on average, from the research behind this workload, and how far a mean of few may be off.
MEANS = {
    "standard": (47, 10, 6, 72, 4),
    "sysbench_tpcc": (47, 10, 6, 72, 4),
    "tpcc_mysql": (46, 10, 5, 80, 190),
}
OFF = {"new_order": 6, "payment": 1, "order_status": 1, "delivery": 0, "stock_level": 40}

# What distinguishes the statements of a profile, as the general log has them with ? for each value.
SENT = {
    "standard": {
        "START TRANSACTION",
        "SELECT no_o_id FROM new_orders WHERE no_w_id=? AND no_d_id=? ORDER BY no_o_id LIMIT ? FOR UPDATE",
        "SELECT o_c_id FROM orders WHERE o_w_id=? AND o_d_id=? AND o_id=? FOR UPDATE",
        "UPDATE stock SET s_quantity=?,s_ytd=s_ytd+?,s_order_cnt=s_order_cnt+?,s_remote_cnt=s_remote_cnt+? "
        "WHERE s_i_id=? AND s_w_id=?",
        "UPDATE customer SET c_balance=c_balance-?,c_ytd_payment=c_ytd_payment+?,c_payment_cnt=c_payment_cnt+? "
        "WHERE c_w_id=? AND c_d_id=? AND c_id=?",
    },
    "sysbench_tpcc": {
        "BEGIN",
        "UPDATE stock SET s_quantity=? WHERE s_i_id=? AND s_w_id=?",
        "UPDATE customer SET c_balance=?,c_ytd_payment=? WHERE c_w_id=? AND c_d_id=? AND c_id=?",
        "SELECT o_id,o_carrier_id,o_entry_d FROM orders WHERE o_w_id=? AND o_d_id=? AND o_c_id=? ORDER BY o_id DESC",
        "SELECT no_o_id FROM new_orders WHERE no_w_id=? AND no_d_id=? ORDER BY no_o_id LIMIT ? FOR UPDATE",
        "SELECT o_c_id FROM orders WHERE o_w_id=? AND o_d_id=? AND o_id=?",
    },
    "tpcc_mysql": {
        "UPDATE stock SET s_quantity=? WHERE s_i_id=? AND s_w_id=?",
        "UPDATE customer SET c_balance=? WHERE c_w_id=? AND c_d_id=? AND c_id=?",
        "UPDATE district SET d_next_o_id=?+? WHERE d_w_id=? AND d_id=?",
        "SELECT COALESCE(MIN(no_o_id),?) FROM new_orders WHERE no_w_id=? AND no_d_id=?",
        "SELECT DISTINCT ol_i_id FROM order_line WHERE ol_w_id=? AND ol_d_id=? AND ol_o_id<? AND ol_o_id>=(? - ?)",
        "SELECT COUNT(*) FROM stock WHERE s_w_id=? AND s_i_id=? AND s_quantity<?",
    },
}


def shape(statement: str) -> str:
    """A statement with ? for each value."""
    return re.sub(r"'(?:[^'\\]|\\.)*'|(?<![\w.])-?\d+(?:\.\d+)?", "?", statement)


@contextmanager
def terminal(warehouse: Warehouse, **more: Any) -> Iterator[tuple[Terminal, Any]]:
    """One terminal of a step `run`, in this process."""
    chosen, size = options(clients=1, **more), setup(terminals=1)
    step = step_of("run", chosen, size)
    (worker,) = WORKLOAD.workers(chosen, step)
    with warehouse.connected() as connection:
        yield Terminal(WORKLOAD.spec(chosen, step, worker, 3), connection), connection


def played(terminal: Terminal, connection: Any, count: int) -> list[tuple[str, list[Any]]]:
    """The answers that each of some transactions gets. All are rolled back, so that others see the same rows."""
    found = []
    for _ in range(count):
        transaction = terminal.next_transaction()
        steps, answers, answer = transaction.steps(), list[Any](), None
        try:
            while True:
                command = steps.send(answer)
                if isinstance(command, Query):
                    answer = connection.fetch(command.command)
                else:
                    answer = connection.execute(ROLLBACK if command == COMMIT else command)
                answers.append(answer)
        except StopIteration:
            found.append((transaction.operation, answers))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_sends_the_statements_of_its_client(warehouse: Warehouse, profile: str) -> None:
    with terminal(warehouse, profile=profile) as (role, connection):
        number = connection.scalar("SELECT CONNECTION_ID()")
        warehouse.ask("SET GLOBAL log_output = 'TABLE'")
        warehouse.ask("SET GLOBAL general_log = ON")
        try:
            found = played(role, connection, 200)
        finally:
            warehouse.ask("SET GLOBAL general_log = OFF")
        logged = warehouse.ask(
            "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log "
            f"WHERE thread_id = {number} AND command_type IN ('Query', 'Execute')"
        )
        warehouse.ask("TRUNCATE mysql.general_log")
    shapes = {shape(text) for (text,) in logged}
    assert len(logged) == sum(len(answers) for _, answers in found)
    assert SENT[profile] <= shapes
    others = set.union(*(sent for name, sent in SENT.items() if name != profile)) - SENT[profile]
    assert not others & shapes
    known = {shape(re.sub(r"'?%[bd]'?", "1", text.replace("@", ""))) for text in PROFILES[profile].statements.values()}
    known |= {shape(text) for text in ("START TRANSACTION", "BEGIN", "ROLLBACK")}
    stock = re.compile(r"SELECT s_quantity,s_data,s_dist_.* FROM stock WHERE s_i_id=\? AND s_w_id=\? FOR UPDATE")
    assert {text for text in shapes - known if not stock.fullmatch(text)} == set()
    counts = defaultdict[str, list[int]](list)
    for operation, answers in found:
        counts[operation].append(len(answers))
    for (operation, off), mean in zip(OFF.items(), MEANS[profile], strict=True):
        assert abs(np.mean(counts[operation]) - mean) <= off, operation


@pytest.mark.parametrize("profile", PROFILES)
def test_both_protocols_get_the_same_rows_and_make_the_same_ledger(warehouse: Warehouse, profile: str) -> None:
    seen = {}
    for protocol in ("text", "prepared"):
        with terminal(warehouse, profile=profile, protocol=protocol) as (role, connection):
            seen[protocol] = played(role, connection, 46), role.changed
    assert seen["text"] == seen["prepared"]
    assert len(seen["text"][0]) == 46 and seen["text"][1]["history"]


def test_prepared_statements_leave_what_they_acknowledge(warehouse: Warehouse) -> None:
    result, _ = warehouse.run(options(protocol="prepared"), setup())
    assert result.failure is None
    assert warehouse.broken(options(checks="full"), setup()) == []


def test_a_condition_that_a_profile_breaks_is_named_as_such(warehouse: Warehouse) -> None:
    chosen = options(profile="tpcc_mysql", weights=[1, 1, 1, 1, 0], checks="full")
    with terminal(warehouse, profile="tpcc_mysql") as (role, connection):
        for _ in range(23):
            steps, answer = role.next_transaction().steps(), None
            try:
                while True:
                    command = steps.send(answer)
                    read = isinstance(command, Query)
                    answer = connection.fetch(command.command) if read else connection.execute(command)
            except StopIteration:
                pass
        warehouse.note(role.changed)
    try:
        broken = warehouse.broken(chosen, setup())
        assert [name.split()[-1] for name in broken] == ["C12"], "one terminal alone delivers no order twice"
        made = {check.name: check for check in WORKLOAD.checks(chosen, step_of("run", chosen, setup()), warehouse.rows)}
        assert made[broken[0]].broken_by == "profile tpcc_mysql"
        assert {name.split()[-1] for name, check in made.items() if name and check.broken_by} == {"C10", "C12"}
    finally:
        repair(warehouse)
    assert warehouse.broken(options(checks="full"), setup()) == []


def repair(warehouse: Warehouse) -> None:
    """Give all customers the balances and payments that orders and history have."""
    for table, key, amounts in (
        ("paid", "h_c_w_id, h_c_d_id, h_c_id", "SUM(h_amount) AS a FROM history"),
        (
            "delivered",
            "o_w_id, o_d_id, o_c_id",
            "SUM(ol_amount) AS a FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND "
            "ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL",
        ),
    ):
        warehouse.ask(f"CREATE TABLE {table} (PRIMARY KEY ({key})) SELECT {key}, {amounts} GROUP BY {key}")
    warehouse.ask(
        "UPDATE customer JOIN paid ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id "
        "LEFT JOIN delivered ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id "
        "SET c_balance = COALESCE(delivered.a, 0) - paid.a, c_ytd_payment = paid.a"
    )
    warehouse.ask("DROP TABLE paid, delivered")


def drawn(profile: Profile, warehouses: int = 3) -> Inputs:
    return Inputs(Size(1, warehouses), Constants.of(1), np.random.SeedSequence(7), profile=profile)


def test_inputs_have_the_defects_of_a_profile() -> None:
    sysbench, mysql = (drawn(PROFILES[name]) for name in ("sysbench_tpcc", "tpcc_mysql"))
    orders = [next(sysbench.new_orders) for _ in range(3000)]
    assert all(line.supply == order.warehouse for order in orders for line in order.lines)
    assert any(order.lines != sorted(order.lines) for order in orders)
    missing = [[line.item for line in order.lines].index(UNUSED_ITEM) - len(order.lines) for order in orders
               if any(line.item == UNUSED_ITEM for line in order.lines)]  # fmt: skip
    assert missing and set(missing) == {-2}
    payments = [next(sysbench.payments) for _ in range(500)]
    assert all(payment.customer.warehouse == payment.warehouse and payment.cents % 100 == 0 for payment in payments)
    orders = [next(mysql.new_orders) for _ in range(3000)]
    assert all(order.lines == sorted(order.lines) for order in orders)
    assert any(line.supply != order.warehouse for order in orders for line in order.lines)


def hottest(inputs: Inputs) -> float:
    """The share of the hottest tenth of the items in what is ordered."""
    counts = Counter(line.item for _ in range(20_000) for line in next(inputs.new_orders).lines)
    return sum(count for _, count in counts.most_common(10_000)) / counts.total()


@pytest.mark.slow
def test_items_are_skewed_as_the_specification_wants_and_nearly_uniform_if_constants_are_redrawn() -> None:
    shares = {name: hottest(drawn(profile)) for name, profile in PROFILES.items()}
    assert shares["standard"] > 2 * shares["sysbench_tpcc"] and shares["standard"] > 2 * shares["tpcc_mysql"]


def test_every_profile_but_the_standard_lists_its_deviations() -> None:
    assert [name for name in PROFILES if not profiles.deviations(name)] == ["standard"]
    for name in PROFILES:
        described = WORKLOAD.describe(options(profile=name), setup(), WORKLOAD.steps(options(), setup(), 1.0))
        assert described["deviations"] == profiles.deviations(name)
    assert money(-1_005) == b"-10.05"
