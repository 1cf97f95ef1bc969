"""The ten operations of LinkBench, one round trip a statement.

What COMMIT has acknowledged goes to the ledger (`changed`): rows by table, and as `linktable.shown` the links that are
shown. A repeat after a deadlock has the same input, which was drawn before.

The rows of an operation: those that a read found; 1 for a link that came to be shown or hidden, or a node that was
added, updated or deleted, else 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import cast

from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.wire import COM_QUERY
from ibench_lib.client.role import Query, Row, Steps, Transaction, TransactionRole
from ibench_lib.client.spec import Spec
from ibench_lib.workloads.linkbench.inputs import Request, requests
from ibench_lib.workloads.linkbench.population import Graph
from ibench_lib.workloads.linkbench.tables import COUNT, HIDDEN, LINK, NODE, NODE_TYPE, SHOWN

LEDGER_SHOWN = f"{LINK}.shown"

LIST_LIMIT = 10_000
"""Links that get_links_list returns, at most."""

_REMEMBERED = 2048
_GO_ON = 0.003
_READ_FROM = LIST_LIMIT // 2  # a list that was shorter after the load is not read, only counted: few grow so much
_LATEST = (1 << 63) - 1


def _text(statement: str) -> bytes:
    return COM_QUERY + statement.encode()


BEGIN, COMMIT = _text("START TRANSACTION"), _text("COMMIT")

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
        found = yield from _STEPS[self.operation](self)
        return found


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
        graph = Graph(details["nodes"], details["tail"])
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
    if not operation.requester.commits_all:
        yield BEGIN
    found = _number((yield _UPSERT % (*key, request.data, request.now_ms)))
    counted = 0
    if found != 0:
        now_ms = request.now_ms
        counted = _number((yield _COUNT_UP % (request.id1, request.link_type, now_ms, now_ms)))
    if found != 1:
        yield _UPDATE % (request.data, request.now_ms, *key)
    yield COMMIT
    changed[LINK] += found == 1
    changed[COUNT] += counted == 1
    changed[LEDGER_SHOWN] += found != 0
    return int(found != 0)


def _delete_link(operation: Operation) -> Steps:
    request, changed = operation.request, operation.requester.changed
    key = (request.id1, request.id2, request.link_type)
    if not operation.requester.commits_all:
        yield BEGIN
    rows = _rows((yield Query(_VISIBILITY % key)))
    shown = bool(rows) and rows[0][0] == str(SHOWN).encode()
    counted = 0
    if shown:
        yield _HIDE % key
        now_ms = request.now_ms
        counted = _number((yield _COUNT_DOWN % (request.id1, request.link_type, now_ms, now_ms)))
    yield COMMIT
    changed[COUNT] += counted == 1
    changed[LEDGER_SHOWN] -= shown
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
    rows = _rows((yield Query(command)))
    if requester.commits_all:
        yield COMMIT
    entry = (id1, link_type, int(rows[-1][_TIME_COLUMN] or 0)) if len(rows) == LIST_LIMIT else None
    if operation.place is None:
        if entry is not None:
            requester.remember(entry)
    elif entry is not None:
        requester.lists[operation.place] = entry
    else:
        del requester.lists[operation.place]
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
    found = _number((yield command))
    if operation.requester.commits_all:
        yield COMMIT
    return found


def _number(answer: object) -> int:
    return cast(int, answer)


def _rows(answer: object) -> Sequence[Row]:
    return cast("Sequence[Row]", answer)
