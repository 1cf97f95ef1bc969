"""What an operation sends, answer by answer, and what it adds to the ledger; no server is needed for that."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from ibench_lib.client.role import Query
from ibench_lib.workloads.linkbench.inputs import OPERATIONS, Request
from ibench_lib.workloads.linkbench.requester import LIST_LIMIT, Operation, Requester

ROW = (b"7", b"9", b"123456789", b"1", b"x", b"500", b"0")


def requester(*, commits_all: bool = False) -> Requester:
    made = object.__new__(Requester)
    made.changed, made.commits_all, made.lists, made.random = Counter(), commits_all, [], Random(1)
    return made


def request(operation: str, loaded: int = 0) -> Request:
    others = (8, 9) if operation == "multiget_link" else ()
    return Request(operation, 7, 123456789, 9, others, b"6162", 1_767_225_600_000, loaded, 0.5)


def play(operation: Operation, *answers: Any) -> tuple[list[str], int]:
    """The first two words of each statement, and the rows that the operation counts."""
    steps, sent = operation.steps(), []
    command, left = next(steps), list(answers)
    while True:
        text = (command.command if isinstance(command, Query) else command)[1:].decode()
        sent.append(" ".join(text.split()[:2]))
        try:
            command = steps.send(left.pop(0))
        except StopIteration as end:
            assert not left
            return sent, end.value


BEGIN, ADD, COUNT = "START TRANSACTION", "INSERT INTO", "INSERT INTO"
UPDATE = "UPDATE linktable"


@pytest.mark.parametrize(
    ("answers", "sent", "rows", "ledger"),
    [
        ((0, 1, 1, 0), [BEGIN, ADD, COUNT, "COMMIT"], 1, {"linktable": 1, "counttable": 1, "linktable.shown": 1}),
        ((0, 1, 2, 0), [BEGIN, ADD, COUNT, "COMMIT"], 1, {"linktable": 1, "linktable.shown": 1}),
        ((0, 0, 1, 0), [BEGIN, ADD, UPDATE, "COMMIT"], 0, {}),
        ((0, 2, 2, 1, 0), [BEGIN, ADD, COUNT, UPDATE, "COMMIT"], 1, {"linktable.shown": 1}),
    ],
    ids=["new with its count", "new", "shown before", "hidden before"],
)
@pytest.mark.parametrize("operation", ["add_link", "update_link"])
def test_a_link_is_added_or_shown_again(
    operation: str, answers: tuple[int, ...], sent: list[str], rows: int, ledger: dict[str, int]
) -> None:
    role = requester()
    assert play(Operation(role, request(operation)), *answers) == (sent, rows)
    assert +role.changed == ledger


@pytest.mark.parametrize(
    ("found", "rows"), [([], 0), ([(b"0",)], 0), ([(b"1",)], 1)], ids=["missing", "hidden", "shown"]
)
def test_only_a_link_that_is_shown_is_hidden(found: list[tuple[bytes]], rows: int) -> None:
    role = requester()
    sent, counted = play(Operation(role, request("delete_link")), 0, found, *([1, 2] if rows else []), 0)
    assert sent == [BEGIN, "SELECT visibility", *([UPDATE, COUNT] if rows else []), "COMMIT"]
    assert counted == rows and role.changed["linktable.shown"] == -rows and role.changed["counttable"] == 0


@pytest.mark.parametrize(
    ("operation", "change"), [("add_node", 1), ("delete_node", -1), ("update_node", 0), ("get_node", 0)]
)
def test_nodes_are_counted_by_what_the_server_says(operation: str, change: int) -> None:
    for answer in (1, 0):
        role = requester()
        sent, rows = play(Operation(role, request(operation)), answer)
        assert len(sent) == 1 and rows == answer and role.changed["nodetable"] == change * answer


def test_with_the_statements_of_2013_every_operation_ends_with_a_commit_and_none_begins() -> None:
    for name in OPERATIONS:
        operation = Operation(requester(commits_all=True), request(name))
        answers: list[Any] = [1, 0]
        if name in ("add_link", "update_link"):
            answers = [1, 1, 0]
        elif name == "delete_link":
            answers = [[], 0]
        sent, _ = play(operation, *answers)
        assert sent[-1] == "COMMIT" and BEGIN not in sent


def test_a_full_list_is_remembered_and_gone_on_with_until_it_is_short() -> None:
    role = requester()
    full = [ROW] * LIST_LIMIT
    assert play(Operation(role, request("get_links_list", loaded=20_000)), full)[1] == LIST_LIMIT
    assert role.lists == [(7, 123456789, 500)]
    later = [*full[:-1], (*ROW[:5], b"400", b"0")]
    operation = Operation(role, request("get_links_list"), place=0)
    command = next(operation.steps())
    assert isinstance(command, Query)
    assert b"time<=500" in command.command and command.command.endswith(b"LIMIT 1,10000")
    play(operation, later)
    assert role.lists == [(7, 123456789, 400)]
    assert play(Operation(role, request("get_links_list"), place=0), [ROW])[1] == 1 and role.lists == []


def test_a_repeat_sends_the_same_statements() -> None:
    operation = Operation(requester(), request("add_link"))
    first, second = ([next(steps), steps.send(0)] for steps in (operation.steps(), operation.steps()))
    assert first == second
