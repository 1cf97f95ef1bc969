"""Transactions on a real server: the statements that are sent, what they leave, and errors that are forced."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from ibench_lib.client.driver import Steps
from ibench_lib.client.mysql.compiled import CompiledWire
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.role import Role, Transaction, TransactionRole
from ibench_lib.workloads.tpcc import inputs
from ibench_lib.workloads.tpcc.client import Terminal
from ibench_lib.workloads.tpcc.mix import TYPES
from ibench_lib.workloads.tpcc.profiles import PROFILES, STANDARD
from ibench_lib.workloads.tpcc.transactions import NewOrder, Payment, money, sql_of
from ibench_lib.workloads.tpcc.workload import WORKLOAD
from tests.client.mysql.conftest import NEEDS_CORE
from tests.fakes.offline import Offline
from tests.workloads.tpcc.warehouse import Warehouse, load_with, options, setup, step_of

FULL = options(checks="full")
COUNTED = ("select", "insert", "update", "delete", "commit", "rollback", "begin")
VERBS = {b"START": "begin"}


@dataclass
class Watched:
    """A transaction, with something that sees each command before it is sent and each repeat before it begins."""

    inner: Transaction
    before: Callable[[int, bytes], None] = lambda _number, _command: None
    begins: Callable[[int], None] = lambda _attempt: None
    attempts: int = 0

    @property
    def operation(self) -> str:
        return self.inner.operation

    def steps(self) -> Steps:
        self.attempts += 1
        self.begins(self.attempts)
        steps, answer, number = self.inner.steps(), None, 0
        while True:
            try:
                command = steps.send(answer)
            except StopIteration as end:
                return int(end.value or 0)
            self.before(number, command[0] if isinstance(command, tuple) else command)
            number += 1
            answer = yield command


class Scripted(TransactionRole):
    """One transaction after another, of a list."""

    max_retries = 3

    def __init__(self, *made: Transaction) -> None:
        self.left = list(made)

    def next_transaction(self) -> Transaction:
        return self.left.pop(0)


@contextmanager
def terminals(warehouse: Warehouse, count: int) -> Iterator[tuple[list[Terminal], list[Connection]]]:
    """Terminals of a step `run`, in this process."""
    chosen, size = options(clients=1), setup(terminals=count)
    step = step_of("run", chosen, size)
    (worker,) = WORKLOAD.workers(chosen, step)
    spec = WORKLOAD.spec(chosen, step, worker, 3)
    with ExitStack() as stack:
        connections = [stack.enter_context(warehouse.connected()) for _ in range(count)]
        specs = [replace(spec, terminal=number) for number in range(count)]
        yield [Terminal(*made) for made in zip(specs, connections, strict=True)], connections


def status(warehouse: Warehouse) -> Counter[str]:
    found = warehouse.ask("SHOW GLOBAL STATUS LIKE 'Com\\_%'")
    return Counter({name[4:]: int(value) for name, value in found if name[4:] in COUNTED})


def test_the_server_counts_the_statements_that_were_sent(warehouse: Warehouse) -> None:
    sent: Counter[str] = Counter()

    def count(_number: int, command: bytes) -> None:
        verb = command[1:].split()[0]
        sent[VERBS.get(verb, verb.decode().lower())] += 1

    with terminals(warehouse, 4) as (roles, connections):
        watched: list[Role] = []
        for role in roles:
            plain = role.next_transaction
            role.next_transaction = lambda plain=plain: Watched(plain(), count)  # type: ignore[method-assign,misc]
            watched.append(role)
        before = status(warehouse)
        totals, seconds = load_with(watched, connections, TYPES, 23 * 8)
        after = status(warehouse)
    assert totals["status"] == "complete" and totals["ops"] == 23 * 8
    repeats = sum(row["retries"] for row in seconds)
    sent["rollback"] += repeats
    assert after - before == sent
    warehouse.note(totals["rows_by_table"])
    assert warehouse.broken(FULL, setup()) == []


def undone(steps: Steps, connection: Connection) -> Steps:
    """A transaction that is rolled back where it would be committed."""
    answer, commit, rollback = None, connection.command(b"COMMIT"), connection.command(b"ROLLBACK")
    while True:
        try:
            command = steps.send(answer)
        except StopIteration as end:
            return int(end.value or 0)
        answer = yield rollback if command == commit else command


@NEEDS_CORE
@pytest.mark.parametrize("protocol", ["text", "prepared"])
@pytest.mark.parametrize("profile", PROFILES)
def test_the_core_reads_every_answer_itself(
    warehouse: Warehouse, profile: str, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it leaves to Python costs ten times as much, and is the same."""
    left: list[bytes] = []
    monkeypatch.setattr(CompiledWire, "rest", lambda _self, _answered, command, **_: left.append(bytes(command)))
    chosen = options(clients=1, profile=profile, protocol=protocol)
    step = step_of("run", chosen, setup(terminals=1))
    (worker,) = WORKLOAD.workers(chosen, step)
    with warehouse.connected() as connection:
        role, kinds = Terminal(WORKLOAD.spec(chosen, step, worker, 3), connection), set()
        while kinds < set(TYPES):
            transaction = role.next_transaction()
            kinds.add(transaction.operation)
            connection.transact(undone(transaction.steps(), connection))
    assert left == []


def test_64_terminals_of_one_process_get_their_turns(warehouse: Warehouse) -> None:
    """Each does between a third and three times its part, on one warehouse whose rows they wait for in turn."""
    of_each, done = 12, Counter[int]()

    def begun(number: int, plain: Callable[[], Transaction]) -> Transaction:
        done[number] += 1
        return plain()

    with terminals(warehouse, 64) as (roles, connections):
        for number, role in enumerate(roles):
            role.next_transaction = partial(begun, number, role.next_transaction)  # type: ignore[method-assign]
        totals, _ = load_with([*roles], connections, TYPES, 64 * of_each)
    warehouse.note(totals["rows_by_table"])
    assert totals["status"] == "complete" and totals["ops"] == done.total() == 64 * of_each
    assert len(done) == 64 and of_each / 3 <= min(done.values()) <= max(done.values()) <= 3 * of_each
    assert warehouse.broken(FULL, setup()) == []


def new_order(role: TransactionRole, *, unused: bool = False) -> NewOrder:
    lines = [inputs.Line(1, 100 + number, number) for number in range(1, 6)]
    if unused:
        lines.append(inputs.Line(1, inputs.UNUSED_ITEM, 1))
    return NewOrder(sql_of("", STANDARD, Offline.command), inputs.NewOrder(1, 1, 5, 77, lines), role.changed)


def payment(role: TransactionRole, last: str | None = None, cents: int = 12_345) -> Payment:
    customer = inputs.Customer(1, 4, 99, last)
    return Payment(sql_of("", STANDARD, Offline.command), inputs.Payment(1, 1, 3, customer, cents), role.changed)


def played(warehouse: Warehouse, role: Scripted, *prepared: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """All transactions of a role, on one connection of the loop of many; the ledger has what they acknowledge."""
    with warehouse.connected() as connection:
        for statement in ("SET SESSION innodb_lock_wait_timeout = 1", *prepared):
            connection.query(statement)
        totals, seconds = load_with([role], [connection], TYPES, len(role.left))
    warehouse.note(totals["rows_by_table"])
    return totals, seconds


def test_a_new_order_that_is_rolled_back_as_intended_leaves_nothing(warehouse: Warehouse) -> None:
    before = warehouse.ask("SELECT d_next_o_id FROM district WHERE d_id = 5")
    role = Scripted()
    role.left = [new_order(role, unused=True), new_order(role)]
    totals, _ = played(warehouse, role)
    assert (totals["ops"], totals["rows"], totals["errors"]) == (2, 1, 0)
    assert warehouse.ask("SELECT d_next_o_id FROM district WHERE d_id = 5")[0][0] == before[0][0] + 1
    number = before[0][0]
    lines = warehouse.ask(
        "SELECT ol_number, ol_i_id, ol_quantity, ol_amount = ol_quantity * i_price, ol_dist_info = s_dist_05 "
        "FROM order_line JOIN item ON i_id = ol_i_id JOIN stock ON s_i_id = ol_i_id AND s_w_id = 1 "
        f"WHERE ol_d_id = 5 AND ol_o_id = {number} ORDER BY ol_number"
    )
    assert lines == [(at, 100 + at, at, 1, 1) for at in range(1, 6)]
    assert warehouse.broken(FULL, setup()) == []


def test_a_payment_by_name_takes_the_customer_in_the_middle(warehouse: Warehouse) -> None:
    found = warehouse.ask("SELECT c_id FROM customer WHERE c_d_id = 4 AND c_last = 'BARBARBAR' ORDER BY c_first")
    middle = found[(len(found) + 1) // 2 - 1][0]
    of_customer = f"SELECT c_balance, c_ytd_payment, c_payment_cnt FROM customer WHERE c_d_id = 4 AND c_id = {middle}"
    ((balance, paid, count),) = warehouse.ask(of_customer)
    role = Scripted()
    role.left = [payment(role, "BARBARBAR", 12_305)]
    played(warehouse, role)
    ((balance_after, paid_after, count_after),) = warehouse.ask(of_customer)
    assert [str(balance - balance_after), str(paid_after - paid), count_after - count] == ["123.05", "123.05", 1]


def test_bad_credit_puts_a_payment_before_the_old_data_and_cuts_it(warehouse: Warehouse) -> None:
    ((bad,),) = warehouse.ask("SELECT c_id FROM customer WHERE c_d_id = 4 AND c_credit = 'BC' LIMIT 1")
    of_customer = f"SELECT c_data FROM customer WHERE c_d_id = 4 AND c_id = {bad}"
    ((old,),) = warehouse.ask(of_customer)
    role = Scripted()
    customer = inputs.Customer(1, 4, bad, None)
    role.left = [Payment(sql_of("", STANDARD, Offline.command), inputs.Payment(1, 1, 3, customer, 5_000), role.changed)]
    played(warehouse, role)
    assert warehouse.ask(of_customer) == [((f"{bad} 4 1 3 1 50.00 | " + old)[:500],)]


@dataclass
class Conflict:
    """Another connection, which holds locks while the first attempt lasts."""

    warehouse: Warehouse
    code: int
    always: bool = False
    hand: Any = field(init=False)
    thread: threading.Thread | None = None
    done: bool = False

    def __post_init__(self) -> None:
        self.hand = self.warehouse.hand()

    def does(self, statement: str) -> None:
        with self.hand.cursor() as cursor:
            cursor.execute(statement)

    def begins(self, attempt: int) -> None:
        if self.thread is not None:
            self.thread.join()
            self.thread = None
        self.hand.rollback()
        if attempt == 1 and self.code == 1205:
            self.does("START TRANSACTION")
            self.does("SELECT * FROM district WHERE d_id = 5 FOR UPDATE")
        elif attempt == 1 and self.code == 1213:
            self.does("START TRANSACTION")
            self.does("UPDATE item SET i_im_id = i_im_id + 1 WHERE i_id > 90000")  # the server rolls back who did less
            self.does("SELECT * FROM stock WHERE s_i_id = 103 FOR UPDATE")

    def before(self, _number: int, command: bytes) -> None:
        """Called with each command of each attempt, before it is sent."""
        if self.code == 1020 and b"SELECT d_next_o_id" in command and (self.always or not self.done):
            self.done = True
            self.does("UPDATE district SET d_street_1 = LEFT(MD5(RAND()), 20) WHERE d_id = 5")
        if self.code == 1213 and b"s_i_id=103 " in command and not self.done:
            self.done = True
            self.thread = threading.Thread(target=self.does, args=["SELECT * FROM district WHERE d_id = 5 FOR UPDATE"])
            self.thread.start()


COLUMNS = {1213: "deadlocks", 1205: "lock_timeouts", 1020: "changed"}


@pytest.mark.parametrize("code", COLUMNS)
def test_a_forced_error_is_counted_once_and_the_same_input_is_sent_again(warehouse: Warehouse, code: int) -> None:
    conflict, sent = Conflict(warehouse, code), list[list[bytes]]()

    def begins(attempt: int) -> None:
        sent.append([])
        conflict.begins(attempt)

    def before(number: int, command: bytes) -> None:
        conflict.before(number, command)
        sent[-1].append(command)

    role = Scripted()
    role.left = [Watched(new_order(role), before, begins)]
    snapshot = ["SET SESSION innodb_snapshot_isolation = ON"] if code == 1020 else []
    totals, seconds = played(warehouse, role, *snapshot)
    conflict.hand.close()
    assert (totals["status"], totals["ops"], totals["retries"], totals["errors"]) == ("complete", 1, 1, 0)
    for error, column in COLUMNS.items():
        assert sum(row[column] for row in seconds if row["operation"] == "new_order") == (error == code), column
    first, second = sent
    assert len(first) > 2 and second[: len(first)] == first, "nothing was drawn again"
    assert warehouse.broken(FULL, setup()) == []


def test_a_transaction_that_never_succeeds_ends_the_load(warehouse: Warehouse) -> None:
    conflict = Conflict(warehouse, 1020, always=True)
    role = Scripted()
    role.left = [payment(role), Watched(new_order(role), conflict.before, conflict.begins)]
    totals, seconds = played(warehouse, role, "SET SESSION innodb_snapshot_isolation = ON")
    conflict.hand.close()
    assert totals["status"] == "failed" and "(1020)" in totals["error"]
    assert (totals["ops"], totals["retries"], totals["errors"]) == (1, Scripted.max_retries, 1)
    assert sum(row["errors"] for row in seconds if row["operation"] == "new_order") == 1
    assert warehouse.broken(FULL, setup()) == []


def test_amounts_are_literals() -> None:
    assert [money(cents) for cents in (0, 5, 100, 500_000)] == [b"0.00", b"0.05", b"1.00", b"5000.00"]
