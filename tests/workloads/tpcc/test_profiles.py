"""What each profile sends, by the server's general log, and what it leaves."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from ibench_lib.client.driver import CHANGED, ROWS, StatementError
from ibench_lib.workloads.tpcc import inputs, profiles
from ibench_lib.workloads.tpcc.client import Terminal
from ibench_lib.workloads.tpcc.inputs import UNUSED_ITEM, Inputs, Size
from ibench_lib.workloads.tpcc.mix import TYPES
from ibench_lib.workloads.tpcc.nurand import Constants
from ibench_lib.workloads.tpcc.profiles import PROFILES, Profile
from ibench_lib.workloads.tpcc.transactions import Delivery, _middle, money, sql_of
from ibench_lib.workloads.tpcc.workload import WORKLOAD
from tests.fakes.offline import Offline
from tests.workloads.tpcc.warehouse import Warehouse, options, setup, step_of

# The statements of the clients that two profiles are named after, as their public sources have them.
PEERS = json.loads((Path(__file__).parent / "peers.json").read_text(encoding="utf-8"))


def parts(statement: str) -> tuple[str, ...]:
    """The columns, conditions and other parts of a statement, sorted, with ? for each value and without names for
    columns or numbers of tables. A moment of the client counts as one of the server."""
    text = re.sub(r"'(?:[^'\\\\]|\\\\.)*'|NOW\(\)|(?<=[a-z])@|(?<![\w.%])-?\d+(?:\.\d+)?", _value, statement)
    text = re.sub(r"\b(FROM|INTO|UPDATE|,) ?([a-z_]+)%d\b", r"\1 \2", text)
    text = re.sub(r"%[bdf]|'%s'", "?", text).lower()
    text = re.sub(r" (namecnt|sm|s_dist) from", " from", text).replace(" asc ", " ").replace("distinct (", "distinct ")
    separators = r" (?:from|where|and|set|values|order by|limit|for update)\b|[(),]"
    return tuple(sorted(re.sub(r"\s+", "", part) for part in re.split(separators, text) if part.strip()))


def _value(found: re.Match[str]) -> str:
    return "" if found[0] == "@" else found[0] if found[0] == "'%s'" else "?"


@contextmanager
def terminal(warehouse: Warehouse, **more: Any) -> Iterator[tuple[Terminal, Any]]:
    """One terminal of a step `run`, in this process."""
    chosen, size = options(clients=1, **more), setup(terminals=1)
    step = step_of("run", chosen, size)
    (worker,) = WORKLOAD.workers(chosen, step)
    with warehouse.connected() as connection:
        yield Terminal(WORKLOAD.spec(chosen, step, worker, 3), connection), connection


def played(terminal: Terminal, connection: Any, count: int) -> list[tuple[str, Any, list[Any]]]:
    """The input of some transactions and the answers that each gets. All are rolled back: others see the same rows."""
    found, commit = [], connection.command(b"COMMIT")
    for _ in range(count):
        transaction = cast(Any, terminal.next_transaction())
        steps, answers, answer = transaction.steps(), list[Any](), None
        try:
            while True:
                command = steps.send(answer)
                if isinstance(command, tuple):
                    answer = connection.fetch(command[0])
                else:
                    answer = connection.execute(connection.rollback if command == commit else command)
                answers.append(answer)
        except StopIteration:
            found.append((transaction.operation, transaction.given, answers))
    return found


def test_a_profile_has_the_statements_of_its_clients_source() -> None:
    assert set(PEERS) == set(PROFILES) - {"standard"}
    for name, peer in PEERS.items():
        profile = PROFILES[name]
        texts = [text.format("s_dist_%s") if key == "stock" else text for key, text in profile.statements.items()]
        assert sorted(map(parts, texts)) == sorted(map(parts, peer["statements"])), name


def verbs(profile: Profile, operation: str, given: Any, answers: list[Any], items: dict[int, int]) -> Counter[str]:
    """The statements of a transaction, as the flow of the client's source makes them of its input.

    `items` are the different items of the last 20 orders of each district.
    """
    begun = int(profile.begin is not None)
    made = Counter(begin=begun, rollback=1)
    match operation:
        case "new_order":
            numbers = [line.item for line in given.lines]
            missing = UNUSED_ITEM in numbers
            whole = numbers.index(UNUSED_ITEM) if missing else len(numbers)
            made.update(select=2 + 2 * whole + missing, update=1 + whole, insert=2 + whole)
        case "payment":
            named = 2 * (given.customer.last is not None)
            bad = answers[begun + 4 + named][0][9] == b"BC"
            made.update(select=3 + named + bad, update=3, insert=1)
        case "order_status":
            made.update(select=3 + (given.customer.last is not None))
        case "delivery":
            made.update(select=30, delete=10, update=30)
            made["rollback"] = 10 if profile.name == "tpcc_mysql" else 1
        case "stock_level":
            made.update(select=1 + (items[given.district] + 1 if profile.name == "tpcc_mysql" else 1))
    return made


def commands(connection: Any) -> Counter[str]:
    """The session's counters Com_*, without that prefix."""
    rows = connection.fetch(connection.command(b"SHOW SESSION STATUS LIKE 'Com\\_%'"))
    return Counter({name.decode().removeprefix("Com_").lower(): int(value) for name, value in rows})


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_sends_the_statements_of_its_client(warehouse: Warehouse, profile: str) -> None:
    """As many as its source makes of each input, by the server's counters; and no other, by its general log."""
    sold = warehouse.ask(
        "SELECT d_id, COUNT(DISTINCT ol_i_id) FROM district JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id "
        "WHERE ol_o_id < d_next_o_id AND ol_o_id >= d_next_o_id - 20 GROUP BY d_id"
    )
    with terminal(warehouse, profile=profile) as (role, connection):
        number, before = connection.scalar("SELECT CONNECTION_ID()"), commands(connection)
        warehouse.ask("SET GLOBAL log_output = 'TABLE'")
        warehouse.ask("SET GLOBAL general_log = ON")
        try:
            found = played(role, connection, 230)
        finally:
            warehouse.ask("SET GLOBAL general_log = OFF")
        counted = commands(connection)
        counted.subtract(before)
    logged = warehouse.ask(
        "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log "
        f"WHERE thread_id = {number} AND command_type IN ('Query', 'Execute')"
    )
    warehouse.ask("TRUNCATE mysql.general_log")
    sent = Counter[str]()
    for operation, given, answers in found:
        expected = verbs(PROFILES[profile], operation, given, answers, dict(sold))
        assert len(answers) == expected.total(), (operation, given)
        sent += expected
    assert {operation for operation, _, _ in found} == set(TYPES)
    assert {verb: counted[verb] for verb in (*sent, "commit")} == {**sent, "commit": 0}
    known = {*PROFILES[profile].statements.values(), "ROLLBACK", PROFILES[profile].begin or "ROLLBACK"}
    if not PROFILES[profile].all_dists:
        stock = PROFILES[profile].statements["stock"]
        known |= {stock.format(f"s_dist_{number:02}") for number in range(1, 11)}
    assert {parts(text) for (text,) in logged} <= {parts(text) for text in known}


@pytest.mark.parametrize("profile", PROFILES)
def test_both_protocols_get_the_same_rows_and_make_the_same_ledger(warehouse: Warehouse, profile: str) -> None:
    seen = {}
    for protocol in ("text", "prepared"):
        with terminal(warehouse, profile=profile, protocol=protocol) as (role, connection):
            seen[protocol] = played(role, connection, 46), role.changed
    assert seen["text"] == seen["prepared"]
    assert len(seen["text"][0]) == 46 and seen["text"][1]["history"]


@pytest.mark.long
@pytest.mark.slow
def test_one_terminal_leaves_the_same_rows_for_the_same_seed(warehouse: Warehouse) -> None:
    """In all columns but dates, which are the server's."""
    left, chosen, size = [], options(clients=1), setup(terminals=1)
    for database in ("twin_a", "twin_b"):
        warehouse.fill(database, options(), setup())
        try:
            loaded = without_dates(warehouse, database)
            step = step_of("run", chosen, size)
            (worker,) = WORKLOAD.workers(chosen, step)
            with warehouse.connected(database) as connection:
                role = Terminal(WORKLOAD.spec(chosen, step, worker, 3), connection)
                for _ in range(46):
                    done(cast(Any, role.next_transaction()).steps(), connection)
            left.append(without_dates(warehouse, database))
            assert {table for table in loaded if left[-1][table] != loaded[table]} == {*loaded} - {"item"}
        finally:
            warehouse.ask(f"DROP DATABASE {database}", None)
    assert left[0] == left[1]


def without_dates(warehouse: Warehouse, database: str) -> dict[str, int]:
    """A sum over each table's rows, without the columns that are dates."""
    columns = warehouse.ask(
        "SELECT table_name, GROUP_CONCAT(CONCAT('IFNULL(', column_name, ',-1)')) FROM information_schema.columns "
        f"WHERE table_schema = '{database}' AND data_type NOT IN ('datetime', 'timestamp') GROUP BY table_name"
    )
    return {
        table: warehouse.ask(f"SELECT SUM(CRC32(CONCAT_WS('|', {listed}))) FROM {table}", database)[0][0]
        for table, listed in columns
    }


@pytest.mark.long
def test_prepared_statements_leave_what_they_acknowledge(warehouse: Warehouse) -> None:
    result, _ = warehouse.run(options(protocol="prepared"), setup())
    assert result.failure is None
    assert warehouse.broken(options(checks="full"), setup()) == []


@pytest.mark.long
def test_a_condition_that_a_profile_breaks_is_named_as_such(warehouse: Warehouse) -> None:
    chosen = options(profile="tpcc_mysql", weights=[1, 1, 1, 1, 0], checks="full")
    with terminal(warehouse, profile="tpcc_mysql") as (role, connection):
        for _ in range(23):
            done(cast(Any, role.next_transaction()).steps(), connection)
        warehouse.note(role.changed)
    try:
        broken = warehouse.broken(chosen, setup())
        assert [name.split()[-1] for name in broken] == ["C12"], "one terminal alone delivers no order twice"
        checks = WORKLOAD.checks(chosen, step_of("run", chosen, setup()), warehouse.rows)
        made = {check.subject: check for check in checks}
        assert made[broken[0]].broken_by == "profile tpcc_mysql"
        assert {name.split()[-1] for name, check in made.items() if check.broken_by} == {"C10", "C12"}
    finally:
        repair(warehouse)
    assert warehouse.broken(options(checks="full"), setup()) == []


@pytest.mark.long
def test_a_delivery_that_reads_without_a_lock_delivers_twice_and_c10_says_so(warehouse: Warehouse) -> None:
    """One delivery has read the oldest order when another one delivers it; it goes on all the same."""
    chosen = options(profile="tpcc_mysql", weights=[0, 0, 0, 1, 0], checks="full")
    with terminal(warehouse, profile="tpcc_mysql", weights=[0, 0, 0, 1, 0]) as (slow, one):
        steps = cast(Any, slow.next_transaction()).steps()
        command = next(steps)
        while not isinstance(command, tuple):
            command = steps.send(one.execute(command))
        oldest = one.fetch(command[0])
        with terminal(warehouse, profile="tpcc_mysql", weights=[0, 0, 0, 1, 0]) as (fast, other):
            done(cast(Any, fast.next_transaction()).steps(), other)
        done(steps, one, steps.send(oldest))
        for role in (slow, fast):
            warehouse.note(role.changed)
    try:
        broken = [name.split()[-1] for name in warehouse.broken(chosen, setup())]
        assert "C10" in broken and set(broken) <= {"C10", "C12"}
    finally:
        repair(warehouse)
    assert warehouse.broken(options(checks="full"), setup()) == []


def done(steps: Any, connection: Any, command: Any = None) -> None:
    """Send a transaction to its end, from a command on."""
    command = command or next(steps)
    try:
        while True:
            read = isinstance(command, tuple)
            command = steps.send(connection.fetch(command[0]) if read else connection.execute(command))
    except StopIteration:
        pass


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
    assert any(payment.customer.district != payment.district for payment in payments)
    orders = [next(mysql.new_orders) for _ in range(3000)]
    assert all(order.lines == sorted(order.lines) for order in orders)
    assert any(line.supply != order.warehouse for order in orders for line in order.lines)


def test_the_customer_of_a_name_is_the_one_that_the_profiles_client_takes() -> None:
    rows = [(str(number).encode(),) for number in range(1, 6)]
    for profile, taken in (("standard", [1, 1, 2, 2, 3]), ("sysbench_tpcc", [1, 2, 3, 3, 4])):
        past = PROFILES[profile].past_middle
        assert [int(_middle(rows[:count], past=past)[0]) for count in range(1, 6)] == taken


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


def test_an_order_that_is_newer_than_the_read_view_has_its_delivery_repeated() -> None:
    """sysbench-tpcc locks the oldest order, which shows it as it is now, and reads its customer as of the begin."""
    profile = PROFILES["sysbench_tpcc"]
    steps = Delivery(sql_of("", profile, Offline.command), inputs.Delivery(1, 1, 5), Counter()).steps()
    command = next(steps)
    if profile.begin:
        command = steps.send(0)
    assert isinstance(command, tuple)
    assert b"new_orders" in steps.send([(b"3001",)])  # it is removed  # type: ignore[operator]
    assert steps.send(1)[1] == ROWS  # type: ignore[index]
    with pytest.raises(StatementError, match="newer than the transaction's read view") as caught:
        steps.send([])
    assert caught.value.retry_reason == CHANGED
