"""The ten operations of LinkBench, in as few round trips as the original takes.

START TRANSACTION goes in one packet with the first statement of an operation that writes links, and COMMIT with the
last one, except where the original sends it alone.

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import cast

from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.wire import COM_QUERY
from ibench_lib.client.role import Query, Row, Several, Steps, Transaction, TransactionRole
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.linkbench.inputs import Request, requests
from ibench_lib.workloads.linkbench.population import graph_of
from ibench_lib.workloads.linkbench.tables import COUNT, HIDDEN, LINK, NODE, NODE_TYPE, SHOWN

LEDGER_SHOWN = f"{LINK}.shown"

LIST_LIMIT = 10_000
"""Links that get_links_list returns, at most."""

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


def _text(statement: str) -> bytes:
    return COM_QUERY + statement.encode()


COMMIT = _text("COMMIT")
_BEGIN_AND, _AND_COMMIT = _text("START TRANSACTION;"), b";COMMIT"

_THE_LINK = "WHERE id1=%d AND id2=%d AND link_type=%d"
_COLUMNS = "id1,id2,link_type,visibility,data,time,version"
_UPSERT = _text(
    f"INSERT INTO {LINK} ({_COLUMNS}) VALUES (%d,%d,%d,{SHOWN},x'%b',%d,0) ON DUPLICATE KEY UPDATE visibility={SHOWN}"
)
_UPDATE = _text(f"UPDATE {LINK} SET visibility={SHOWN},data=x'%b',time=%d,version=0 {_THE_LINK}")
_COUNT_UP = _text(
    f"INSERT INTO {COUNT} (id,link_type,count,time,version) VALUES (%d,%d,1,%d,0) "
    "ON DUPLICATE KEY UPDATE count=count+1,version=version+1,time=%d"
)
_COUNT_DOWN = _text(
    f"INSERT INTO {COUNT} (id,link_type,count,time,version) VALUES (%d,%d,0,%d,0) "
    "ON DUPLICATE KEY UPDATE count=IF(count=0,0,count-1),version=version+1,time=%d"
)
_VISIBILITY = _text(f"SELECT visibility FROM {LINK} {_THE_LINK} FOR UPDATE")
_HIDE = _text(f"UPDATE {LINK} SET visibility={HIDDEN} {_THE_LINK}")
_COUNT = _text(f"SELECT count FROM {COUNT} WHERE id=%d AND link_type=%d")
_MULTIGET = _text(f"SELECT {_COLUMNS} FROM {LINK} WHERE id1=%d AND link_type=%d AND id2 IN (%b)")
_LIST = _text(
    f"SELECT {_COLUMNS} FROM {LINK} FORCE INDEX(id1_type) WHERE id1=%d AND link_type=%d AND time>=0 AND time<=%d "
    f"AND visibility={SHOWN} ORDER BY time DESC LIMIT %d,{LIST_LIMIT}"
)
_TIME_COLUMN = _COLUMNS.split(",").index("time")
_ADD_NODE = _text(f"INSERT INTO {NODE} (type,version,time,data) VALUES ({NODE_TYPE},1,%d,x'%b')")
_UPDATE_NODE = _text(f"UPDATE {NODE} SET version=2,time=%d,data=x'%b' WHERE id=%d AND type={NODE_TYPE}")
_DELETE_NODE = _text(f"DELETE FROM {NODE} WHERE id=%d AND type={NODE_TYPE}")
_GET_NODE = _text(f"SELECT id,type,version,time,data FROM {NODE} WHERE id=%d")


@dataclass(slots=True)
class Operation:
    """A request as the client sends it. `place` is the list that a get_links_list goes on with."""

    requester: Requester
    request: Request
    place: int | None = None
    operation: str = field(init=False)

    def __post_init__(self) -> None:
        self.operation = self.request.operation

    def steps(self) -> Steps:
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
        if self.commits_all:
            connection.query("SET SESSION autocommit=0")
        if details["engine"] == "rocksdb":  # whose snapshots would otherwise conflict, which is reported as a deadlock
            connection.query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
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
    request, changed = operation.request, operation.requester.changed
    key = (request.id1, request.id2, request.link_type)
    now_ms, counted = request.now_ms, 0
    upsert = _UPSERT % (*key, request.data, now_ms)
    if operation.requester.commits_all:
        found = _number((yield upsert))
    else:
        found = _number((yield Several(_BEGIN_AND + upsert[1:])))
    if found != 0:
        count_up = _COUNT_UP % (request.id1, request.link_type, now_ms, now_ms)
        counted = _number((yield Several(count_up + _AND_COMMIT) if found == 1 else count_up))
    if found != 1:
        yield Several(_UPDATE % (request.data, now_ms, *key) + _AND_COMMIT)
    changed[LINK] += found == 1
    changed[COUNT] += counted == 1
    changed[LEDGER_SHOWN] += found != 0
    operation.ended(_UPSERTED[found])
    return int(found != 0)


def _delete_link(operation: Operation) -> Steps:
    request, changed = operation.request, operation.requester.changed
    key = (request.id1, request.id2, request.link_type)
    select = _VISIBILITY % key
    if operation.requester.commits_all:
        rows = _rows((yield Query(select)))
    else:
        rows = _rows((yield Query(_BEGIN_AND + select[1:], several=True)))
    shown = bool(rows) and rows[0][0] == str(SHOWN).encode()
    counted = 0
    if shown:
        yield _HIDE % key
        now_ms = request.now_ms
        counted = _number((yield _COUNT_DOWN % (request.id1, request.link_type, now_ms, now_ms)))
    yield COMMIT
    changed[COUNT] += counted == 1
    changed[LEDGER_SHOWN] -= shown
    operation.ended("hidden" if shown else "hidden before" if rows else "missing")
    return int(shown)


def _count_link(operation: Operation) -> Steps:
    request = operation.request
    return (yield from _single(operation, _COUNT % (request.id1, request.link_type)))


def _multiget_link(operation: Operation) -> Steps:
    request = operation.request
    others = ",".join(map(str, request.others)).encode()
    return (yield from _single(operation, _MULTIGET % (request.id1, request.link_type, others)))


def _get_links_list(operation: Operation) -> Steps:
    request, requester = operation.request, operation.requester
    id1, link_type, latest, skipped = request.id1, request.link_type, _LATEST, 0
    if operation.place is not None:
        id1, link_type, latest = requester.lists[operation.place]
        skipped = 1
    command = _LIST % (id1, link_type, latest, skipped)
    if operation.place is None and request.loaded < _READ_FROM:
        return (yield from _single(operation, command))
    if requester.commits_all:
        rows = _rows((yield Query(command + _AND_COMMIT, several=True)))
    else:
        rows = _rows((yield Query(command)))
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
    request = operation.request
    added = yield from _single(operation, _ADD_NODE % (request.now_ms // 1000, request.data))
    operation.requester.changed[NODE] += added
    return added


def _update_node(operation: Operation) -> Steps:
    request = operation.request
    return (yield from _single(operation, _UPDATE_NODE % (request.now_ms // 1000, request.data, request.id1)))


def _delete_node(operation: Operation) -> Steps:
    deleted = yield from _single(operation, _DELETE_NODE % operation.request.id1)
    operation.requester.changed[NODE] -= deleted
    return deleted


def _get_node(operation: Operation) -> Steps:
    return (yield from _single(operation, _GET_NODE % operation.request.id1))


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
    found = _number((yield Several(command + _AND_COMMIT) if operation.requester.commits_all else command))
    of_one = _OF_ONE_ROW.get(operation.operation)
    operation.ended(_SIZES[found.bit_length()] if of_one is None else of_one[found])
    return found


def _number(answer: object) -> int:
    return cast(int, answer)


def _rows(answer: object) -> Sequence[Row]:
    return cast("Sequence[Row]", answer)
