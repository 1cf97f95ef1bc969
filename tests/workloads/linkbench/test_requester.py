"""What an operation sends, answer by answer, what it adds to the ledger, and what it leaves on a real server."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from ibench_lib.client.driver import ROWS, SEVERAL
from ibench_lib.client.mysql.compiled import CompiledWire
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.role import Transaction
from ibench_lib.client.spec import Spec
from ibench_lib.paths import workspace
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.workloads.linkbench.inputs import OPERATIONS, Request
from ibench_lib.workloads.linkbench.population import Graph, inserts, parts_of
from ibench_lib.workloads.linkbench.requester import Operation, Requester, sql_of
from ibench_lib.workloads.linkbench.tables import LIST_LIMIT, NAMES, create
from tests.fakes.offline import Offline

ROW = (b"7", b"9", b"123456789", b"1", b"x", b"500", b"0")


def requester(*, commits_all: bool = False) -> Requester:
    made = cast(Requester, Requester.__new__(Requester))
    made.commits_all, made.lists, made.random = commits_all, [], Random(1)
    made.sql = sql_of(Offline.family, Offline.command)
    return made


def request(operation: str, loaded: int = 0) -> Request:
    others = (8, 9) if operation == "multiget_link" else ()
    return Request(operation, 7, 123456789, 9, others, b"6162", 1_767_225_600_000, loaded, 0.5)


def play(operation: Operation, *answers: Any) -> tuple[list[str], int]:
    """The first two words of each statement of each packet, and the rows that the operation counts."""
    steps, sent = operation.steps(), []
    command, left = next(steps), list(answers)
    while True:
        text = (command if isinstance(command, bytes) else command[0])[1:].decode()
        sent.append("; ".join(" ".join(statement.split()[:2]) for statement in text.split(";")))
        several = isinstance(command, tuple) and bool(command[1] & SEVERAL)
        assert several == (";" in text)
        try:
            command = steps.send(left.pop(0))
        except StopIteration as end:
            assert not left
            return sent, end.value


ADD = COUNT = "INSERT INTO"
FIRST = f"START TRANSACTION; {ADD}"
UPDATE = "UPDATE linktable"
LAST = "; COMMIT"


@pytest.mark.parametrize(
    ("answers", "sent", "outcome", "ledger"),
    [
        ((1, 1), [FIRST, COUNT + LAST], "inserted", {"linktable": 1, "counttable": 1, "linktable.shown": 1}),
        ((1, 2), [FIRST, COUNT + LAST], "inserted", {"linktable": 1, "linktable.shown": 1}),
        ((0, 1), [FIRST, UPDATE + LAST], "updated", {}),
        ((2, 2, 1), [FIRST, COUNT, UPDATE + LAST], "shown", {"linktable.shown": 1}),
    ],
    ids=["new with its count", "new", "shown before", "hidden before"],
)
@pytest.mark.parametrize("operation", ["add_link", "update_link"])
def test_a_link_is_added_or_shown_again(
    operation: str, answers: tuple[int, ...], sent: list[str], outcome: str, ledger: dict[str, int]
) -> None:
    role = requester()
    assert play(Operation(role, request(operation)), *answers) == (sent, int(outcome != "updated"))
    assert +role.changed == ledger and role.outcomes == {(operation, outcome): 1}


@pytest.mark.parametrize(("found", "outcome"), [([], "missing"), ([(b"0",)], "hidden before"), ([(b"1",)], "hidden")])
def test_only_a_link_that_is_shown_is_hidden(found: list[tuple[bytes]], outcome: str) -> None:
    role, rows = requester(), int(outcome == "hidden")
    sent, counted = play(Operation(role, request("delete_link")), found, *([1, 2] if rows else []), 0)
    assert sent == ["START TRANSACTION; SELECT visibility", *([UPDATE, COUNT] if rows else []), "COMMIT"]
    assert counted == rows and role.changed["linktable.shown"] == -rows and role.changed["counttable"] == 0
    assert role.outcomes == {("delete_link", outcome): 1}


@pytest.mark.parametrize(
    ("operation", "change", "outcome"),
    [
        ("add_node", 1, "inserted"),
        ("delete_node", -1, "deleted"),
        ("update_node", 0, "updated"),
        ("get_node", 0, "found"),
    ],
)
def test_nodes_are_counted_by_what_the_server_says(operation: str, change: int, outcome: str) -> None:
    for answer in (1, 0):
        role = requester()
        sent, rows = play(Operation(role, request(operation)), answer)
        assert len(sent) == 1 and rows == answer and role.changed["nodetable"] == change * answer
        assert role.outcomes == {(operation, outcome if answer else "missing"): 1}


def test_lists_are_counted_by_their_size_in_powers_of_two() -> None:
    role = requester()
    for size in (0, 1, 2, 3, 4, 7, 8, LIST_LIMIT):
        play(Operation(role, request("get_links_list")), size)
    assert {size: count for (_, size), count in role.outcomes.items()} == {
        "0": 1, "1": 1, "2-3": 2, "4-7": 2, "8-15": 1, "8192-16383": 1,
    }  # fmt: skip


def test_an_operation_that_is_not_committed_has_no_outcome() -> None:
    role = requester()
    steps = Operation(role, request("add_link")).steps()
    next(steps)
    steps.send(1)  # the answer to the next packet, which has COMMIT, never comes
    assert not role.outcomes and not +role.changed


def test_with_the_statements_of_2013_every_operation_ends_with_a_commit_and_none_begins() -> None:
    for name in OPERATIONS:
        operation = Operation(requester(commits_all=True), request(name))
        answers: list[Any] = [1]
        if name in ("add_link", "update_link"):
            answers = [1, 1]
        elif name == "delete_link":
            answers = [[], 0]
        sent, _ = play(operation, *answers)
        assert sent[-1].endswith("COMMIT") and not any("START" in packet for packet in sent)


def test_a_full_list_is_remembered_and_gone_on_with_until_it_is_short() -> None:
    role = requester()
    full = [ROW] * LIST_LIMIT
    assert play(Operation(role, request("get_links_list", loaded=20_000)), full)[1] == LIST_LIMIT
    assert role.lists == [(7, 123456789, 500)]
    later = [*full[:-1], (*ROW[:5], b"400", b"0")]
    operation = Operation(role, request("get_links_list"), place=0)
    command = next(operation.steps())
    text, marks = command
    assert marks == ROWS and b"time<=500" in text and text.endswith(b"LIMIT 1,10000")
    play(operation, later)
    assert role.lists == [(7, 123456789, 400)]
    assert play(Operation(role, request("get_links_list"), place=0), [ROW])[1] == 1 and role.lists == []


def test_a_repeat_sends_the_same_statements() -> None:
    operation = Operation(requester(), request("add_link"))
    first, second = ([next(steps), steps.send(0)] for steps in (operation.steps(), operation.steps()))
    assert first == second


@pytest.fixture
def graph_on_server(build: Build, tmp_path: Path) -> Iterator[Callable[[int], Connection]]:
    """A connection to the tables of a graph of 500 nodes, loaded by so many processes, after one another."""
    (tmp_path / "my.cnf").write_text("[mysqld]\nskip_log_bin\ninnodb_flush_log_at_trx_commit=0\n")
    connections = []
    with Sandbox(build, tmp_path / "box", tmp_path / "my.cnf", tmp_path / "log", templates=workspace().datadirs) as box:

        def loaded(loaders: int) -> Connection:
            connection = Connection(box.arguments(), None, 60)
            connections.append(connection)
            connection.query("DROP DATABASE IF EXISTS d")
            connection.query("CREATE DATABASE d")
            connection.query("USE d")
            for statement in create("2015", 4, secondary=True):
                connection.query(statement)
            graph = Graph(500, "scaled")
            for loader in range(loaders):
                for part in parts_of(graph, loader, loaders):
                    for insert in inserts(3, graph, part):
                        connection.execute(connection.command(insert.text))
            return connection

        yield loaded
        for connection in connections:
            connection.close()


@pytest.mark.slow
def test_the_same_seed_leaves_the_same_rows(
    graph_on_server: Callable[[int], Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one requester, whose 5,000 requests are sent to the same graph twice, and whatever number of loaders."""
    before, after, left = [], [], []
    rest = CompiledWire.rest

    def counted(wire: CompiledWire, answered: Any, command: bytes, **asked: bool) -> Any:
        left.append(bytes(command))
        return rest(wire, answered, command, **asked)

    monkeypatch.setattr(CompiledWire, "rest", counted)
    details = {
        "statements": "2015", "engine": "innodb", "nodes": 500, "tail": "scaled", "points": None, "step_id": 2,
    }  # fmt: skip
    for loaders in (1, 2):
        connection = graph_on_server(loaders)
        before.append(checksums(connection))
        spec = Spec(
            module="", role="requester", client=1, number=0, operations=OPERATIONS, statements=None, seconds=1.0,
            tick_ns=None, timeout_s=60.0, seed=3, details=details,
        )  # fmt: skip
        role = Requester(spec, connection)
        for _ in range(5000):
            carry_out(role.next_transaction(), connection)
        assert sum(role.outcomes.values()) == 5000
        assert left == [], "the core reads every answer itself"
        after.append(checksums(connection))
    assert (
        before[0] == before[1]
        and after[0] == after[1]
        and all(a != b for a, b in zip(before[0], after[0], strict=True))
    )


def checksums(connection: Connection) -> list[int]:
    return [int(connection.text(f"CHECKSUM TABLE {table}", 1)) for table in NAMES]


def carry_out(operation: Transaction, connection: Connection) -> None:
    steps, answer = operation.steps(), None
    with contextlib.suppress(StopIteration):
        while True:
            command: Any = steps.send(answer)  # type: ignore[arg-type]
            if isinstance(command, bytes):
                answer = connection.execute(command)
            elif command[1] & ROWS:
                answer = connection.fetch(command[0], several=bool(command[1] & SEVERAL))
            else:
                answer = connection.execute_several(command[0])
