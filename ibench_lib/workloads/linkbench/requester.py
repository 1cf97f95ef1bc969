"""The ten operations of LinkBench, in as few round trips as the original takes.

The statement that begins a transaction goes in one round trip with the first one of an operation that writes links, and
COMMIT with the last one, except where the original sends it alone. `statements/` has their texts.

What COMMIT has acknowledged goes to the ledger (`changed`): rows by table, and as `linktable.shown` the links that are
shown. A repeat after a deadlock has the same input, which was drawn before.

The rows of an operation: those that a read found; 1 for a link that came to be shown or hidden, or a node that was
added, updated or deleted, else 0.

The outcome of an operation, together with the form of the statements, says which statements it took (`outcomes`):

    add_link, update_link       inserted: the link is new. shown: it was hidden. updated: it was shown.
    delete_link                 hidden: it was shown. hidden before. missing: there is no such link.
    get_links_list, multiget    how many links were found, by powers of two: 0, 1, 2-3, 4-7 and so on
    count_link, get_node        found, missing
    nodes                       inserted; updated, deleted or missing
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from ibench_lib.client.driver import ROWS, SEVERAL, Connection, Steps, statements_of
from ibench_lib.client.role import Transaction, TransactionRole
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.linkbench import statements
from ibench_lib.workloads.linkbench.inputs import Request, requests
from ibench_lib.workloads.linkbench.population import graph_of
from ibench_lib.workloads.linkbench.tables import COLUMNS_OF_LINK, COUNT, LINK, LIST_LIMIT, NODE, SHOWN

LEDGER_SHOWN = f"{LINK}.shown"

_REMEMBERED = 2048
_GO_ON = 0.003
_READ_FROM = LIST_LIMIT // 2  # a list that was shorter after the load is not read, only counted: few grow so much
_LATEST = (1 << 63) - 1
_SIZES = ["0", "1", *(f"{1 << bits}-{(2 << bits) - 1}" for bits in range(1, 15))]
_UPSERTED = {0: "updated", 1: "inserted", 2: "shown"}
_OF_ONE_ROW = {  # without a row, and with it
    "count_link": ("missing", "found"),
    "get_node": ("missing", "found"),
    "add_node": ("missing", "inserted"),
    "update_node": ("missing", "updated"),
    "delete_node": ("missing", "deleted"),
}


_AND_COMMIT = b";COMMIT"
_TIME_COLUMN = COLUMNS_OF_LINK.split(",").index("time")


class Sql:
    """The statements of an operation as commands of a driver, to be completed with `%`."""

    def __init__(self, texts: Any, command: Callable[[bytes], bytes]) -> None:
        """`texts` is a module of `statements/`; `command` makes a command of a text (`Connection.command`)."""

        def made(text: str) -> bytes:
            return command(text.encode())

        self.commit = made("COMMIT")
        self.upsert = made(texts.UPSERT)
        self.begin_and_upsert = made(f"{texts.BEGIN};{texts.UPSERT}")
        self.update = made(texts.UPDATE)
        self.count_up = made(texts.COUNT_UP)
        self.count_down = made(texts.COUNT_DOWN)
        self.visibility = made(texts.VISIBILITY)
        self.begin_and_visibility = made(f"{texts.BEGIN};{texts.VISIBILITY}")
        self.hide = made(texts.HIDE)
        self.count = made(texts.COUNT)
        self.multiget = made(texts.MULTIGET)
        self.list = made(texts.LIST)
        self.add_node = made(texts.ADD_NODE)
        self.update_node = made(texts.UPDATE_NODE)
        self.delete_node = made(texts.DELETE_NODE)
        self.get_node = made(texts.GET_NODE)


@cache
def sql_of(family: str, command: Callable[[bytes], bytes]) -> Sql:
    """The statements for a family of servers, shared by the requesters of a process."""
    return Sql(statements_of(statements, family), command)


class Operation:
    """A request as the client sends it. `place` is the list that a get_links_list goes on with."""

    __slots__ = ("operation", "place", "request", "requester")

    def __init__(self, requester: Requester, request: Request, place: int | None = None) -> None:
        self.requester, self.request, self.place = requester, request, place
        self.operation = request.operation

    def steps(self) -> Steps:
        """The statements of the request, one after another; returns how many rows it counts."""
        return _STEPS[self.operation](self)

    def ended(self, outcome: str) -> None:
        """Count the operation, now that the server has acknowledged it."""
        self.requester.outcomes[self.operation, outcome] += 1


class Requester(TransactionRole):
    """One requester. `lists` are full answers to get_links_list: node, type and time of the last link.

    With the statements of 2013, nothing is committed automatically, and each operation ends with COMMIT, reads too.
    """

    max_retries = 100

    def __init__(self, spec: Spec, connection: Connection) -> None:
        details = spec.details
        self.commits_all = details["statements"] == "2013"
        texts = statements_of(statements, connection.family)
        if self.commits_all:
            connection.query(texts.NO_AUTOCOMMIT)
        if details["engine"] == "rocksdb":  # whose snapshots would otherwise conflict, which is reported as a deadlock
            connection.query(texts.READ_COMMITTED)
        self.sql = sql_of(connection.family, connection.command)
        graph = graph_of(details)
        seed = [spec.seed, 3, details["step_id"], spec.client, spec.terminal]
        self.lists: list[tuple[int, int, int]] = []
        self.random = Random(repr(seed))
        self._requests = requests(graph, seed, details["step_id"], spec.seed)

    def next_transaction(self) -> Transaction:
        request = next(self._requests)
        goes_on = request.operation == "get_links_list" and self.lists and request.draw < _GO_ON
        return Operation(self, request, self.random.randrange(len(self.lists)) if goes_on else None)

    def remember(self, entry: tuple[int, int, int]) -> None:
        """Keep a full list; if there are too many, in place of a random one."""
        if len(self.lists) < _REMEMBERED:
            self.lists.append(entry)
        else:
            self.lists[self.random.randrange(_REMEMBERED)] = entry


def _upsert_link(operation: Operation) -> Steps:
    """1: it is new. 2: it was hidden. 0: it was shown."""
    request, sql, changed = operation.request, operation.requester.sql, operation.requester.changed
    key = (request.id1, request.id2, request.link_type)
    now_ms, counted = request.now_ms, 0
    if operation.requester.commits_all:
        affected = yield sql.upsert % (*key, request.data, now_ms)
    else:
        affected = yield sql.begin_and_upsert % (*key, request.data, now_ms), SEVERAL
    if affected != 0:
        count_up = sql.count_up % (request.id1, request.link_type, now_ms, now_ms)
        counted = yield (count_up + _AND_COMMIT, SEVERAL) if affected == 1 else count_up
    if affected != 1:
        yield sql.update % (request.data, now_ms, *key) + _AND_COMMIT, SEVERAL
    changed[LINK] += affected == 1
    changed[COUNT] += counted == 1
    changed[LEDGER_SHOWN] += affected != 0
    operation.ended(_UPSERTED[affected])
    return int(affected != 0)


def _delete_link(operation: Operation) -> Steps:
    request, sql, changed = operation.request, operation.requester.sql, operation.requester.changed
    key = (request.id1, request.id2, request.link_type)
    if operation.requester.commits_all:
        rows = yield sql.visibility % key, ROWS
    else:
        rows = yield sql.begin_and_visibility % key, ROWS | SEVERAL
    shown = bool(rows) and rows[0][0] == str(SHOWN).encode()
    counted = 0
    if shown:
        yield sql.hide % key
        now_ms = request.now_ms
        counted = yield sql.count_down % (request.id1, request.link_type, now_ms, now_ms)
    yield sql.commit
    changed[COUNT] += counted == 1
    changed[LEDGER_SHOWN] -= shown
    operation.ended("hidden" if shown else "hidden before" if rows else "missing")
    return int(shown)


def _count_link(operation: Operation) -> Steps:
    request = operation.request
    return _single(operation, operation.requester.sql.count % (request.id1, request.link_type))


def _multiget_link(operation: Operation) -> Steps:
    request = operation.request
    others = ",".join(map(str, request.others)).encode()
    multiget = operation.requester.sql.multiget % (request.id1, request.link_type, others)
    return _single(operation, multiget)


def _get_links_list(operation: Operation) -> Steps:
    request, requester = operation.request, operation.requester
    id1, link_type, latest, skipped = request.id1, request.link_type, _LATEST, 0
    if operation.place is not None:
        id1, link_type, latest = requester.lists[operation.place]
        skipped = 1
    command = requester.sql.list % (id1, link_type, latest, skipped)
    if operation.place is None and request.loaded < _READ_FROM:
        return _single(operation, command)
    return _read_list(operation, command, id1, link_type)


def _read_list(operation: Operation, command: bytes, id1: int, link_type: int) -> Steps:
    """Get a list whose links are read, so that a later request can go on with it."""
    requester = operation.requester
    rows = yield (command + _AND_COMMIT, ROWS | SEVERAL) if requester.commits_all else (command, ROWS)
    entry = (id1, link_type, int(rows[-1][_TIME_COLUMN] or 0)) if len(rows) == LIST_LIMIT else None
    if operation.place is None:
        if entry is not None:
            requester.remember(entry)
    elif entry is not None:
        requester.lists[operation.place] = entry
    else:
        del requester.lists[operation.place]
    operation.ended(_SIZES[len(rows).bit_length()])
    return len(rows)


def _add_node(operation: Operation) -> Steps:
    request, requester = operation.request, operation.requester
    added = yield from _single(operation, requester.sql.add_node % (request.now_ms // 1000, request.data))
    requester.changed[NODE] += added
    return added


def _update_node(operation: Operation) -> Steps:
    request = operation.request
    update = operation.requester.sql.update_node % (request.now_ms // 1000, request.data, request.id1)
    return _single(operation, update)


def _delete_node(operation: Operation) -> Steps:
    requester = operation.requester
    deleted = yield from _single(operation, requester.sql.delete_node % operation.request.id1)
    requester.changed[NODE] -= deleted
    return deleted


def _get_node(operation: Operation) -> Steps:
    return _single(operation, operation.requester.sql.get_node % operation.request.id1)


_STEPS: dict[str, Callable[[Operation], Steps]] = {
    "add_link": _upsert_link,
    "delete_link": _delete_link,
    "update_link": _upsert_link,
    "count_link": _count_link,
    "multiget_link": _multiget_link,
    "get_links_list": _get_links_list,
    "add_node": _add_node,
    "update_node": _update_node,
    "delete_node": _delete_node,
    "get_node": _get_node,
}


def _single(operation: Operation, command: bytes) -> Steps:
    """An operation of one statement, which is committed automatically if the session does that."""
    rows = yield (command + _AND_COMMIT, SEVERAL) if operation.requester.commits_all else command
    of_one = _OF_ONE_ROW.get(operation.operation)
    operation.ended(_SIZES[rows.bit_length()] if of_one is None else of_one[rows])
    return int(rows)
