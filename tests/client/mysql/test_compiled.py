"""The compiled exchange gives what Python's wire gives: the same answers and the same errors, in the same words."""

from __future__ import annotations

import random
import socket
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ibench_lib.client.driver import StatementError
from ibench_lib.client.mysql.binary import Prepared, length_encoded
from ibench_lib.client.mysql.compiled import CompiledWire, completed_by
from ibench_lib.client.mysql.connection_core import CORE
from ibench_lib.client.mysql.wire import LARGEST_PACKET, Wire
from tests.client.mysql.conftest import NEEDS_CORE
from tests.client.mysql.test_wire import (
    BINARY_3,
    BINARY_3_NO_EOF,
    DELETE_0,
    EMPTY,
    EMPTY_NO_EOF,
    ERROR,
    ERROR_INSTEAD_OF_ROWS,
    INSERT_3,
    TEXT_3,
    TEXT_3_NO_EOF,
    packet,
    result,
    several,
)
from tests.client.questions import Question, torn
from tests.waiting import PATIENCE_S

TEXT, EXECUTION = b"\x03SELECT", b"\x17\1\0\0\0\0\1\0\0\0"

ANSWERS = [
    (INSERT_3, False),
    (DELETE_0, False),
    (DELETE_0, True),
    (TEXT_3, False),
    (TEXT_3_NO_EOF, True),
    (BINARY_3, False),
    (BINARY_3_NO_EOF, True),
    (EMPTY, False),
    (EMPTY_NO_EOF, True),
    (ERROR, False),
    (ERROR_INSTEAD_OF_ROWS, False),
    (result([b"\x05hello"] * 300), False),
    (result([b"\xfb", b"\0", b"\xfc\x20\x01" + b"x" * 288]), False),
    (result([b"\xfd\x40\x9c\0" + b"x" * 40_000] * 3), False),
    (several(DELETE_0, TEXT_3), False),
    (several(INSERT_3, DELETE_0), False),
    (several(TEXT_3, DELETE_0), False),
]


@dataclass(frozen=True)
class Asked(Question):
    """A question to a wire of MySQL's."""

    deprecate_eof: bool

    core = CORE

    def wire(self, kind: type[Wire], ours: socket.socket, theirs: socket.socket) -> Wire:
        return kind(ours, deprecate_eof=self.deprecate_eof, timeout_s=PATIENCE_S)


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's wire scans each answer packet by packet: its short cuts let some damage pass."""
    monkeypatch.setattr("ibench_lib.client.mysql.wire.rows_changed", lambda _data: -1)
    monkeypatch.setattr("ibench_lib.client.mysql.heads.rows_changed", lambda _data: -1)
    monkeypatch.setattr("ibench_lib.client.mysql.heads.Heads.read", lambda *_data, **_named: None)


def compare(seed: int, times: int) -> int:
    """Ask both wires for damaged answers in pieces. Returns how many were answers, and not errors."""
    chance, good = random.Random(seed), 0
    for _ in range(times):
        question = damaged(chance)
        python, fast = question.outcome(Wire), question.outcome(CompiledWire)
        assert fast == python, question
        good += not any(isinstance(said, tuple) and said[0] in ("ProtocolError",) for said in python)
    return good


def damaged(chance: random.Random) -> Asked:
    """An answer, perhaps with some bytes changed, in up to six pieces."""
    data, deprecate_eof = chance.choice(ANSWERS)
    changed = bytearray(data)
    for _ in range(chance.choice((0, 0, 1, 2, 3))):
        most = len(changed) if chance.random() < 0.5 else min(120, len(changed))
        changed[chance.randrange(most)] = chance.choice((0, 1, 0xFB, 0xFC, 0xFE, 0xFF, chance.randrange(256)))
    pieces = torn(chance, bytes(changed))
    asked = [chance.random() < 0.5 for _ in range(3)]
    return Asked(pieces, chance.choice((TEXT, EXECUTION)), asked[0], asked[1], asked[2], deprecate_eof)


@NEEDS_CORE
@pytest.mark.usefixtures("scanned")
def test_damaged_answers_in_pieces_are_the_same_to_both() -> None:
    assert compare(1, 1000) > 300


def definition(kind: int, flags: int = 0, decimals: int = 0) -> bytes:
    names = b"".join(map(length_encoded, (b"def", b"d", b"t", b"t", b"a", b"a")))
    fixed = b"\x0c\x3f\0" + (11).to_bytes(4, "little") + bytes([kind]) + flags.to_bytes(2, "little")
    return names + fixed + bytes([decimals, 0, 0])


def of_columns(definitions: list[bytes], rows: list[bytes]) -> bytes:
    """The answer to a prepared statement, with CLIENT_DEPRECATE_EOF."""
    packets = [length_encoded_number(len(definitions)), *definitions, *rows, b"\xfe\0\0\2\0\0\0"]
    return b"".join(packet(number, body) for number, body in enumerate(packets, start=1))


def length_encoded_number(value: int) -> bytes:
    return bytes([value]) if value < 0xFB else b"\xfc" + value.to_bytes(2, "little")


UNSIGNED, ZEROFILL = 0x20, 0x40

VALUES = [
    *((kind, flags, bits.to_bytes(width, "little")) for kind, width in ((1, 1), (2, 2), (3, 4), (9, 4), (8, 8))
      for flags in (0, UNSIGNED, UNSIGNED | ZEROFILL)
      for bits in (0, 1, 9, 10, (1 << 8 * width - 1) - 1, 1 << 8 * width - 1, (1 << 8 * width) - 1)),
    *((kind, 0, bytes([len(value)]) + value) for kind in (7, 10, 12)
      for value in (b"", b"\xe8\7\2\x1d", b"\xe8\7\2\x1d\x17\x3b\x3a", b"\xe8\7\2\x1d\x17\x3b\x3a\x40\x42\x0f\0",
                    b"\x0f\x27\1\1", b"\x10\x27\1\1", b"\1\0\x64\1", b"\xff\xff\xff\xff\xff\xff\xff", b"12345")),
    *((kind, 0, value) for kind in (7, 10, 12)
      for value in (b"\4\xe8\7\2", b"\xfc\4\0\xe8\7\2\x1d", b"\xfb", b"\5\xe8\7\2\x1d", b"")),
    (11, 0, b"\0"), (13, 0, b"\xe8\7"), (4, 0, bytes(4)), (5, 0, bytes(8)), (6, 0, b"\0"),
    *((kind, 0, length_encoded(value)) for kind in (0, 15, 16, 245, 246, 252, 253, 254)
      for value in (b"", b"12.50", b"x" * 300)),
]  # fmt: skip


@NEEDS_CORE
@pytest.mark.parametrize("decimals", [0, 3])
def test_values_of_every_type_are_the_same_text(decimals: int) -> None:
    for kind, flags, value in VALUES:
        for null in (False, True):
            row = b"\0" + (b"\x04" if null else b"\0") + (b"" if null else value)
            answer = of_columns([definition(kind, flags, decimals)], [row])
            question = Asked((answer,), EXECUTION, True, False, True, True)
            assert question.outcome(CompiledWire) == question.outcome(Wire), (kind, flags, value, null)


@NEEDS_CORE
@pytest.mark.parametrize("kind", [7, 10, 12], ids=["timestamp", "date", "datetime"])
def test_dates_are_written_by_the_core_itself(kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CompiledWire, "rest", lambda *_given, **_named: pytest.fail("it was left to Python"))
    values = (b"\0", b"\4\xe8\7\2\x1d", b"\7\x0f\x27\x0c\x1f\x17\x3b\x3a")
    answer = of_columns([definition(kind)] * 3, [bytes(2) + b"".join(values)])
    (row,) = Asked((answer,), EXECUTION, True, False, True, True).outcome(CompiledWire)[0]
    until = 10 if kind == 10 else 19
    assert row == tuple(
        text[:until] for text in (b"0000-00-00 00:00:00", b"2024-02-29 00:00:00", b"9999-12-31 23:59:58")
    )


@NEEDS_CORE
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 250, 251, 300])
@pytest.mark.parametrize("as_two_bytes", [False, True])
def test_any_number_of_columns_is_the_same_to_both(count: int, as_two_bytes: bool) -> None:
    row = bytes(1 + (count + 9) // 8) + b"".join(bytes([number % 256]) for number in range(count))
    answer = of_columns([definition(1)] * count, [row, row])
    if as_two_bytes:
        rest = answer[4 + (answer[0]) :]
        answer = packet(1, b"\xfc" + count.to_bytes(2, "little")) + rest
    for fetch in (False, True):
        question = Asked((answer,), EXECUTION, fetch, False, True, True)
        assert question.outcome(CompiledWire) == question.outcome(Wire)


@NEEDS_CORE
def test_arguments_that_are_none_are_refused() -> None:
    module: Any = CORE.used().module
    exchange = module.Exchange((), 0, StatementError)
    for call, arguments in [
        (module.ask, ((b"\x03", None), 0, 0)), (module.ask, ((b"\x03",), 0, 0)), (module.transact, ((), 0, 0)),
        (module.ask, ()), (module.ask, (b"\x03", 0)), (module.ask, ("text", 0, 0)), (module.transact, ([],)),
        (module.ask, (bytearray(b"\x03"), 0, 0)), (module.ask, (b"\x03", None, 0)), (module.Exchange, ()),
        (module.Exchange, ([0], 0, StatementError)), (module.Prepared, (None, "head", b"")),
        (module.Exchange, (("0",), 0, StatementError)), (exchange.start, (0,)), (exchange.serve, (0,)),
    ]:  # fmt: skip
        with pytest.raises(TypeError):
            call(*arguments)
    for descriptor in (-1, 1 << 40):
        with pytest.raises(ValueError, match="out of range"):
            module.ask(b"\x03", descriptor, 0)
    with pytest.raises(OSError, match="Bad file descriptor"):
        module.ask(b"\x03", 1 << 20, 0)
    with pytest.raises(OSError, match="Bad file descriptor"):
        module.Exchange((1 << 20,), 0, StatementError)
    with pytest.raises(ValueError, match="no connection 0"):
        exchange.start(0, iter((b"\x03",)))
    with pytest.raises(ValueError, match="no operation on connection 0"):
        exchange.serve(0, 0, 1)


@NEEDS_CORE
def test_a_command_of_several_packets_is_left_to_python() -> None:
    module: Any = CORE.used().module
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for command in (b"", bytes(LARGEST_PACKET)):
            assert module.ask(command, ours.fileno(), 0) is None
            exchange = module.Exchange((ours.fileno(),), 0, StatementError)
            assert exchange.start(0, (one for one in (command,))) == (0, command, False)
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            theirs.recv(1)


def completed(statement: Any, values: Any) -> bytes | tuple[type[Exception], str]:
    try:
        made: bytes = statement % values
        return made
    except Exception as error:
        return type(error), str(error)


@NEEDS_CORE
@pytest.mark.parametrize("text", ["SELECT %d", "SELECT %i", "SELECT %b", "SELECT 1", "SELECT %d, '%b', %i, %b"])
def test_a_prepared_statement_is_completed_alike(text: str) -> None:
    python = Prepared(EXECUTION, text)
    fast = completed_by(python)
    assert type(fast) is not Prepared
    one: list[Any] = [
        0, -1, 1 << 31, -(1 << 31), (1 << 31) - 1, 1 << 63, (1 << 63) - 1, -(1 << 63), True, None, 1.5, "text", (), [],
        np.int64(-3), np.uint8(200), b"", b"x" * 250, b"x" * 251, b"x" * 70_000, bytearray(b"x"), memoryview(b"xy"),
    ]  # fmt: skip
    chance = random.Random(text)
    for values in [*one, *((value,) for value in one), *(tuple(chance.choices(one, k=4)) for _ in range(3000))]:
        assert completed(fast, values) == completed(python, values), values
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = 5 % fast  # type: ignore[operator]
    if text == "SELECT %d":
        assert fast.each(np.array([1, 2])) == python.each(np.array([1, 2]))
