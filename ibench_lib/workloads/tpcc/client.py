"""What the client processes of TPC-C send: the load, the indexes, and the transactions of terminals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ibench_lib.client.driver import Connection, statements_of
from ibench_lib.client.role import Insert, Loader, Role, Transaction, TransactionRole
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.tpcc import statements, tables
from ibench_lib.workloads.tpcc.inputs import Inputs, Size
from ibench_lib.workloads.tpcc.mix import TYPES
from ibench_lib.workloads.tpcc.nurand import Constants
from ibench_lib.workloads.tpcc.parts import parts_of
from ibench_lib.workloads.tpcc.population import inserts
from ibench_lib.workloads.tpcc.profiles import PROFILES
from ibench_lib.workloads.tpcc.transactions import Delivery, NewOrder, OrderStatus, Payment, Sql, StockLevel, sql_of
from ibench_lib.workloads.tpcc.waits import Waits


class Indexer(Role):
    """The secondary indexes of this process's sets, and their foreign keys if they are declared."""

    def __init__(self, spec: Spec, connection: Connection) -> None:
        _set_checks(spec, connection)
        self._command = connection.command
        of_family = statements_of(statements, connection.family).index
        self._statements = iter(tables.index_statements(spec.details, spec.client, of_family))

    def next_statement(self) -> bytes:
        return self._command(next(self._statements).encode())


class Terminal(TransactionRole):
    """The transactions of one terminal, by a deck of 23."""

    max_retries = 100

    def __init__(self, spec: Spec, connection: Connection) -> None:
        details = spec.details
        _set_checks(spec, connection)
        texts = statements_of(statements, connection.family)
        connection.query(texts.isolation(details["isolation"]))
        seed = np.random.SeedSequence([spec.seed, 2, details["step_id"], spec.client, spec.terminal])
        size, profile = Size(details["sets"], details["warehouses"], _home(spec)), PROFILES[details["profile"]]
        self._inputs = Inputs(size, Constants.of(spec.seed), seed, details["weights"], profile)
        prepared = details["protocol"] == "prepared"
        self._sql = [
            Sql(end, profile, connection.command, connection.prepared)
            if prepared
            else sql_of(end, profile, connection.command)
            for end in tables.suffixes(size.sets)
        ]
        if profile.begin is None:
            connection.query(texts.NO_AUTOCOMMIT)
        self._waits: Waits | None = None
        if details["think_time"] is not None:
            of_waits = np.random.SeedSequence([spec.seed, 3, details["step_id"], spec.client, spec.terminal])
            self._waits, self.pauses = Waits(details["think_time"], of_waits), True

    def next_transaction(self) -> Transaction:
        inputs, sql, changed = self._inputs, self._sql, self.changed
        kind = TYPES[next(inputs.types)]
        if self._waits is not None:
            self.pause_ns = self._waits.before(kind)
        match kind:
            case "new_order":
                order = next(inputs.new_orders)
                return NewOrder(sql[order.set - 1], order, changed)
            case "payment":
                payment = next(inputs.payments)
                return Payment(sql[payment.set - 1], payment, changed)
            case "order_status":
                status = next(inputs.order_statuses)
                return OrderStatus(sql[status.set - 1], status)
            case "delivery":
                delivery = next(inputs.deliveries)
                return Delivery(sql[delivery.set - 1], delivery, changed)
        level = next(inputs.stock_levels)
        return StockLevel(sql[level.set - 1], level)


def _set_checks(spec: Spec, connection: Connection) -> None:
    """Foreign keys that are only declared are checked neither by the transactions nor where they are made."""
    unchecked = statements_of(statements, connection.family).NO_FOREIGN_KEY_CHECKS
    if spec.details["foreign_keys"] != "checked" and unchecked is not None:
        connection.query(unchecked)


def _home(spec: Spec) -> int | None:
    """The warehouse of a terminal, from 0 over all sets; None if it draws one for each transaction."""
    details = spec.details
    if details["home"] != "fixed":
        return None
    number = spec.terminal * int(details["processes"]) + spec.client - 1
    return number % (int(details["sets"]) * int(details["warehouses"]))


def _population(spec: Spec) -> Iterator[Insert]:
    """The INSERTs of this process's part of the population."""
    details = spec.details
    for part in parts_of(details["sets"], details["warehouses"], spec.client - 1, details["processes"]):
        yield from inserts(spec.seed, details["sets"], part)


def make_role(spec: Spec, connection: Connection) -> Role:
    """The role that `spec` (see `steps.spec`) asks for."""
    if spec.role == "loader":
        return Loader(connection, _population(spec))
    return {"indexer": Indexer, "terminal": Terminal}[spec.role](spec, connection)
