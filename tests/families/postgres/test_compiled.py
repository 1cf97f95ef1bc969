"""The compiled exchange gives what Python's wire gives: the same answers and the same errors, in the same words."""

from __future__ import annotations

import random
import socket
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ibench_lib.client.compiled import CompiledExchange
from ibench_lib.client.driver import ConnectionLost
from ibench_lib.client.exchange import Exchange, PythonExchange
from ibench_lib.families.postgres import wire as wires
from ibench_lib.families.postgres.compiled import CompiledWire, completed_by
from ibench_lib.families.postgres.driver_core import CORE
from ibench_lib.families.postgres.prepared import Prepared
from ibench_lib.families.postgres.wire import TEXT, Wire, framed, message
from tests.client.questions import Question, torn
from tests.families.postgres.test_wire import INSERT_3, LOGGED_IN, NOTICE, READY, ROW, SELECT_2, SETTING, TWO, error
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.skipif(CORE.used().module is None, reason=f"no compiled core: {CORE.used().why}")

QUERY, EXECUTION = TEXT + b"SELECT 1", b"B" + message(b"B", b"\0s1\0\0\0\0\0\0\0")
BOUND = message(b"2", b"")


def rows(*values: bytes | None) -> bytes:
    content = b"".join(struct.pack(">i", -1 if one is None else len(one)) + (one or b"") for one in values)
    return message(b"D", struct.pack(">H", len(values)) + content)


def done(tag: bytes) -> bytes:
    return message(b"C", tag + b"\0") + READY


ANSWERS = [
    INSERT_3,
    SELECT_2,
    TWO,
    BOUND + message(b"T", b"\0\0") + rows(b"17", None, b"") * 3 + done(b"SELECT 3"),
    BOUND + rows() * 2 + done(b"SELECT 2"),
    BOUND + done(b"SELECT 0"),
    done(b"VACUUM"),
    done(b"9999999999999999999"),
    done(b"INSERT 0 99999999999999999999"),
    message(b"C", b"UPDATE 9999999999999999999\0") * 3 + READY,
    message(b"I", b"") + READY,
    error("40P01") + READY,
    ROW + error("23505") + READY,
    error("57P01", "terminating connection"),
    INSERT_3 + error("57P01", "terminating connection"),
    INSERT_3 + NOTICE + SETTING,
    INSERT_3 + NOTICE[:7],
    rows(b"x" * 300) * 300 + done(b"SELECT 300"),
    rows(b"x" * 30_000) * 3 + done(b"SELECT 3"),
    rows(b"x" * 80_000) + done(b"SELECT 1"),
]


def wire_on(kind: type[Wire], ours: socket.socket, theirs: socket.socket) -> Wire:
    """A wire that has logged in, on a socket."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wires, "_connected", lambda _address: ours)
        theirs.sendall(LOGGED_IN)
        made = kind({"user": "u", "password": ""}, None, PATIENCE_S)
    theirs.recv(1 << 16)
    return made


@dataclass(frozen=True)
class Asked(Question):
    """A question to a wire of PostgreSQL."""

    core = CORE

    def wire(self, kind: type[Wire], ours: socket.socket, theirs: socket.socket) -> Wire:
        return wire_on(kind, ours, theirs)


def damaged(chance: random.Random) -> Asked:
    """An answer, perhaps with some bytes changed, in up to six pieces."""
    changed = bytearray(chance.choice(ANSWERS))
    for _ in range(chance.choice((0, 0, 1, 2, 3))):
        most = len(changed) if chance.random() < 0.5 else min(60, len(changed))
        changed[chance.randrange(most)] = chance.choice((0, 1, 2, 5, 0xFF, *b"CDZTIENS 9", chance.randrange(256)))
    pieces = torn(chance, bytes(changed))
    asked = [chance.random() < 0.5 for _ in range(3)]
    return Asked(pieces, chance.choice((QUERY, EXECUTION)), asked[0], asked[1], asked[2])


def until_answered(said: list[Any]) -> list[Any]:
    """What a wire has said up to its answer: what comes after that, an exchange leaves to the next command."""
    ends = [place for place, one in enumerate(said) if one is not None]
    return said[: ends[0] + 1] if ends else said


def test_damaged_answers_in_pieces_are_the_same_to_both() -> None:
    chance, good = random.Random(1), 0
    for _ in range(1500):
        question = damaged(chance)
        python, fast = (until_answered(question.outcome(kind)) for kind in (Wire, CompiledWire))
        assert fast == python, question
        good += not isinstance(python[-1], tuple)
    assert good > 400


@pytest.mark.parametrize("answer", ANSWERS[:7], ids=range(7))
@pytest.mark.parametrize("fetch", [False, True])
def test_what_is_usual_is_not_left_to_python(answer: bytes, fetch: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Asked((answer,), QUERY, fetch, False, True).outcome(Wire)
    monkeypatch.setattr(CompiledWire, "rest", lambda *_given, **_named: pytest.fail("it was left to Python"))
    assert Asked((answer,), QUERY, fetch, False, True).outcome(CompiledWire) == expected


@pytest.mark.parametrize("command", [QUERY, EXECUTION, TEXT, TEXT + b"x" * 5000])
def test_what_is_sent_is_the_same(command: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        made = wire_on(CompiledWire, ours, theirs)
        theirs.sendall(INSERT_3)
        assert made.execute(command) == 3
        assert theirs.recv(1 << 16) == framed(command)


@pytest.mark.parametrize("tear", [-3, -4, 1, 3])
@pytest.mark.parametrize("ask", ["execute", "fetch", "transact"])
def test_what_a_server_says_unasked_and_in_part_comes_before_the_next_answer(ask: str, tear: int) -> None:
    """Torn three bytes before its end, it goes on like a message that is not whole."""
    late = message(b"N", b"SI\0\0")

    def asked() -> Any:
        return (yield QUERY)

    ours, theirs = socket.socketpair()
    with ours, theirs:
        made = wire_on(CompiledWire, ours, theirs)
        assert isinstance(made, CompiledWire)
        theirs.sendall(INSERT_3 + late[:tear])
        assert (made.transact(asked()) if ask == "transact" else made.execute(QUERY)) == 3
        assert made.keeps
        theirs.sendall(late[tear:] + SELECT_2)
        if ask == "fetch":
            assert made.fetch(QUERY) == [(b"17", None)] * 2
        else:
            assert (made.transact(asked()) if ask == "transact" else made.execute(QUERY)) == 2
        assert not made.keeps
        theirs.sendall(INSERT_3)
        assert made.execute(QUERY) == 3


@pytest.mark.parametrize("before", [error("40P01") + READY, rows(b"x" * 80_000) + done(b"SELECT 1")])
@pytest.mark.parametrize("kind", [Wire, CompiledWire])
def test_a_connection_that_is_lost_at_rest_is_lost_whatever_was_answered_before(
    kind: type[Wire], before: bytes
) -> None:
    """An answer that Python took, and then one that the core took, leave nothing of theirs."""
    ours, theirs = socket.socketpair()

    def asked() -> Any:
        return (yield QUERY)

    with ours, theirs:
        made = wire_on(kind, ours, theirs)
        module = CORE.used().module
        assert module is not None
        together: Exchange = PythonExchange([made])  # type: ignore[list-item]
        if isinstance(made, CompiledWire):
            together = CompiledExchange(module, [made])
        for answer in (before, INSERT_3):
            together.start(0, asked())
            theirs.sendall(answer)
            assert together.serve(1 << 62) is not None
        theirs.sendall(error("57P01", "terminating connection"))
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionLost, match=r"\(57P01\) terminating connection"):
            together.serve(1 << 62)
        together.close()


def completed(statement: Any, values: Any) -> bytes | tuple[type[Exception], str]:
    try:
        made: bytes = statement % values
        return made
    except Exception as failure:
        return type(failure), str(failure)


@pytest.mark.parametrize("text", ["SELECT %d", "SELECT %i", "SELECT %b", "SELECT 1", "SELECT %d, '%b', %i, %b"])
def test_a_prepared_statement_is_completed_alike(text: str) -> None:
    python = Prepared(text)
    fast = completed_by(python)
    assert type(fast) is not Prepared
    one: list[Any] = [
        0, -1, 255, 1 << 31, -(1 << 31), (1 << 31) - 1, 1 << 63, (1 << 63) - 1, -(1 << 63), True, None, 1.5, "text",
        (), [], np.int64(-3), np.uint8(200), b"", b"x" * 250, b"x" * 4070, bytearray(b"x"), memoryview(b"xy"),
    ]  # fmt: skip
    chance = random.Random(text)
    for values in [*one, *((value,) for value in one), *(tuple(chance.choices(one, k=4)) for _ in range(3000))]:
        assert completed(fast, values) == completed(python, values), values
    if text == "SELECT %d":
        assert fast.each(np.array([1, 2])) == python.each(np.array([1, 2])) == [fast % 1, fast % 2]


def test_one_of_many_connections_is_lost_with_its_own_words() -> None:
    module = CORE.used().module
    assert module is not None
    pairs = [socket.socketpair() for _ in range(2)]
    made = [wire_on(CompiledWire, *pair) for pair in pairs]
    together = CompiledExchange(module, [one for one in made if isinstance(one, CompiledWire)])

    def steps() -> Any:
        return (yield QUERY)

    for number, (_, theirs) in enumerate(pairs):
        together.start(number, steps())
        theirs.sendall((INSERT_3, error("57P01", "terminating connection"))[number])
        theirs.shutdown(socket.SHUT_WR)
    ended = together.serve(1 << 62)
    assert ended is not None and (ended.number, ended.outcome) == (0, 3)
    with pytest.raises(ConnectionLost, match=r"\(57P01\) terminating connection"):
        together.serve(1 << 62)
    together.close()
    for ours, theirs in pairs:
        ours.close()
        theirs.close()
