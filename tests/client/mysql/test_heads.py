"""Rows read from answers that start as one before them, against the scan of every packet."""

from __future__ import annotations

import random
import socket
import threading
import time

import pytest

from ibench_lib.client.mysql.binary import length_encoded
from ibench_lib.client.mysql.heads import GOES_ON, KEY, Heads
from ibench_lib.client.mysql.wire import Answer, BinaryRows, ConnectionLost, ProtocolError, Rows, Wire
from tests.client.mysql.test_wire import (
    BINARY_3,
    BINARY_3_NO_EOF,
    DELETE_0,
    EMPTY,
    EMPTY_NO_EOF,
    INSERT_3,
    TEXT_3,
    TEXT_3_NO_EOF,
    packet,
    result,
    several,
)
from tests.waiting import PATIENCE_S

TEXT_ROWS = [
    (b"1", b"x", b"2023-01-01 00:00:00"),
    (b"2", b"yy", None),
    (b"3", b"", b"2024-05-06 07:08:09"),
]
READ = [
    pytest.param(TEXT_3, False, False, TEXT_ROWS, id="text"),
    pytest.param(TEXT_3_NO_EOF, True, False, TEXT_ROWS, id="text, deprecate EOF"),
    pytest.param(BINARY_3, False, True, TEXT_ROWS, id="binary"),
    pytest.param(BINARY_3_NO_EOF, True, True, TEXT_ROWS, id="binary, deprecate EOF"),
    pytest.param(EMPTY, False, False, [], id="no rows"),
    pytest.param(EMPTY_NO_EOF, True, True, [], id="no rows, binary, deprecate EOF"),
]


def heads_of(*answers: bytes, deprecate_eof: bool = False) -> Heads:
    """What has seen these answers."""
    heads = Heads(deprecate_eof=deprecate_eof)
    for answer in answers:
        heads.remember(answer)
    return heads


def scanned(data: bytes, *, deprecate_eof: bool, prepared: bool, several: bool = False) -> Rows:
    answer = (BinaryRows if prepared else Rows)(deprecate_eof=deprecate_eof, several=several)
    assert answer.feed(data)
    return answer


@pytest.mark.parametrize(("data", "deprecate_eof", "prepared", "rows"), READ)
def test_known_answers_are_read_as_a_scan_reads_them(
    data: bytes, deprecate_eof: bool, prepared: bool, rows: list[tuple[bytes | None, ...]]
) -> None:
    assert scanned(data, deprecate_eof=deprecate_eof, prepared=prepared).fetched == rows
    heads = heads_of(data, deprecate_eof=deprecate_eof)
    assert heads.read(data, prepared=prepared, several=False) == (len(rows), rows)
    assert Heads(deprecate_eof=deprecate_eof).read(data, prepared=prepared, several=False) is None, "never seen"


@pytest.mark.parametrize(("data", "deprecate_eof", "prepared", "rows"), READ)
def test_a_known_answer_that_is_not_whole_or_too_long_is_left_to_the_scan(
    data: bytes, deprecate_eof: bool, prepared: bool, rows: list[tuple[bytes | None, ...]]
) -> None:
    heads = heads_of(data, deprecate_eof=deprecate_eof)
    for cut in range(1, len(data)):
        assert heads.read(data[:cut], prepared=prepared, several=False) is None, f"cut at {cut}"
    for extra in (b"\0", DELETE_0, data):
        assert heads.read(data + extra, prepared=prepared, several=False) is None


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize(("data", "deprecate_eof", "prepared", "rows"), READ)
def test_the_next_answer_is_fetched_without_a_scan_whether_waited_for_or_not(
    data: bytes, deprecate_eof: bool, prepared: bool, rows: list[tuple[bytes | None, ...]]
) -> None:
    command = b"\x17" + b"x" * 9 if prepared else b"\x03SELECT 1"
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire = Wire(ours, deprecate_eof=deprecate_eof, timeout_s=PATIENCE_S)
        for _ in range(3):
            theirs.sendall(data)
            assert wire.fetch(command) == rows
            wire.begin(command, fetch=True)
            assert wire.arrived() is None
            theirs.sendall(data)
            assert wire.arrived() == rows
        # In two pieces, and then whole again.
        wire.begin(command, fetch=True)
        theirs.sendall(data[:20])
        assert wire.arrived() is None
        theirs.sendall(data[20:])
        assert wire.arrived() == rows
        theirs.sendall(data)
        assert wire.fetch(command) == rows


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize(
    ("replies", "changed", "rows"),
    [
        ((DELETE_0, INSERT_3), 3, []),
        ((DELETE_0, TEXT_3), 3, TEXT_ROWS),
        ((TEXT_3, DELETE_0), 3, TEXT_ROWS),
        ((INSERT_3, TEXT_3, EMPTY), 6, TEXT_ROWS),
        ((TEXT_3, TEXT_3), 6, TEXT_ROWS * 2),
    ],
)
def test_several_results_are_read_one_after_another(
    replies: tuple[bytes, ...], changed: int, rows: list[tuple[bytes | None, ...]]
) -> None:
    data = several(*replies)
    heads = heads_of(data)
    assert heads.read(data, prepared=False, several=True) == (changed, rows)
    of_scan = scanned(data, deprecate_eof=False, prepared=False, several=True)
    assert (of_scan.rows, of_scan.fetched) == (changed, rows)
    assert heads.read(data, prepared=False, several=False) is None, "more results than statements"
    between = _ends(data)
    for cut in range(1, len(data)):
        expected = GOES_ON if cut in between else None
        assert heads.read(data[:cut], prepared=False, several=True) is expected, f"cut at {cut}"
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire = Wire(ours, deprecate_eof=False, timeout_s=PATIENCE_S)
        for _ in range(3):
            theirs.sendall(data)
            assert wire.execute_several(b"\x03SELECT 1") == changed
            wire.begin(b"\x03SELECT 1", fetch=False, several=True)
            theirs.sendall(data)
            assert wire.arrived() == changed


@pytest.mark.usefixtures("wire")
@pytest.mark.parametrize("prefix", [0, 5])
def test_results_that_are_sent_one_by_one_are_put_together(prefix: int) -> None:
    """`prefix`: so many bytes of the second result come with the first."""
    data = several(DELETE_0, TEXT_3)
    cut = len(DELETE_0) + prefix
    ours, theirs = socket.socketpair()

    def answer() -> None:
        for _ in range(3):
            theirs.recv(100)
            theirs.sendall(data[:cut])
            time.sleep(0.01)
            theirs.sendall(data[cut:])

    thread = threading.Thread(target=answer, daemon=True)
    with ours, theirs:
        wire = Wire(ours, deprecate_eof=False, timeout_s=PATIENCE_S)
        for _ in range(3):
            wire.begin(b"\x03SELECT 1", fetch=True, several=True)
            theirs.recv(100)
            theirs.sendall(data[:cut])
            assert wire.arrived() is None
            theirs.sendall(data[cut:])
            assert wire.arrived() == TEXT_ROWS
        thread.start()
        assert wire.fetch(b"\x03SELECT 1", several=True) == TEXT_ROWS
        assert wire.execute_several(b"\x03SELECT 1") == 3
        assert wire.execute_several(b"\x03SELECT 1") == 3
        thread.join(PATIENCE_S)


@pytest.mark.usefixtures("wire")
def test_a_connection_that_ends_between_results_is_lost() -> None:
    data = several(DELETE_0, TEXT_3)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire = Wire(ours, deprecate_eof=False, timeout_s=PATIENCE_S, heads=heads_of(data))
        theirs.sendall(data[: len(DELETE_0)])
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionLost, match="closed"):
            wire.execute_several(b"\x03SELECT 1")


@pytest.mark.parametrize("piece", [700, 16_384, 1_000_000])
def test_a_list_of_many_rows_is_read_in_any_pieces(piece: int) -> None:
    rows = [(str(number).encode(), None, b"x" * (number % 300)) for number in range(5_000)]
    data = _three_columns(rows)
    answer, counted = Rows(deprecate_eof=False), Answer(deprecate_eof=False)
    for begin in range(0, len(data), piece):
        done = answer.feed(data[begin : begin + piece]), counted.feed(data[begin : begin + piece])
        assert done == (begin + piece >= len(data),) * 2
    assert answer.rows == counted.rows == len(rows)
    assert answer.fetched == rows
    assert (answer.fetched[-1], answer.fetched[7:9]) == (rows[-1], rows[7:9])


def test_a_torn_row_of_a_scanned_answer_is_an_error_when_it_is_read() -> None:
    answer = Rows(deprecate_eof=False)
    assert answer.feed(result([b"\x05hello", b"\x05hell"]))
    assert answer.fetched[0] == (b"hello",)
    with pytest.raises(ProtocolError, match="incomplete"):
        answer.fetched[1]


def _ends(data: bytes) -> set[int]:
    """Where the results of an answer end, except the last one."""
    position, found = 0, set()
    while position < len(data):
        length = int.from_bytes(data[position : position + 3], "little")
        kind = data[position + 4]
        position += 4 + length
        if kind == 0 or (kind == 0xFE and data[position - 2] & 8):
            found.add(position)
    return found - {len(data)}


def _three_columns(rows: list[tuple[bytes | None, ...]]) -> bytes:
    """A text result with the columns of TEXT_3."""
    head = heads_of(TEXT_3).known[TEXT_3[KEY]].text
    parts, number = [head], 6
    for row in rows:
        parts.append(packet(number, b"".join(b"\xfb" if value is None else length_encoded(value) for value in row)))
        number += 1
    return b"".join([*parts, packet(number, b"\xfe\0\0\2\0")])


def test_counted_rows_are_known_the_second_time_also_where_nobody_waits() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire = Wire(ours, deprecate_eof=False, timeout_s=PATIENCE_S)
        for _ in range(3):
            wire.begin(b"\x03SELECT 1", fetch=False)
            theirs.sendall(TEXT_3)
            assert wire.arrived() == 3
        assert wire.heads.rows_of(TEXT_3) == 3


@pytest.mark.parametrize("size", [0, 250, 251, 60_000, 70_000])
def test_long_values_are_read(size: int) -> None:
    value = b"v" * size
    data = result([length_encoded(value), b"\xfb"])
    assert heads_of(data).read(data, prepared=False, several=False) == (2, [(value,), (None,)])
    assert scanned(data, deprecate_eof=False, prepared=False).fetched == [(value,), (None,)]


@pytest.mark.parametrize("count", [250, 251, 252, 300, 1000])
def test_sequence_numbers_wrap(count: int) -> None:
    data = result([b"\x05hello"] * count)
    assert heads_of(data).read(data, prepared=False, several=False) == (count, [(b"hello",)] * count)


def test_an_error_after_rows_is_left_to_the_scan() -> None:
    data = result([b"\x05hello"])
    begin = data.rindex(packet(5, b"\xfe\0\0\2\0"))
    broken = data[:begin] + packet(5, b"\xff\xda\x04#21000Subquery returns more than 1 row")
    assert heads_of(data).read(broken, prepared=False, several=False) is None


def test_connections_share_what_they_have_seen() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire = Wire(ours, deprecate_eof=False, timeout_s=PATIENCE_S, heads=heads_of(TEXT_3))
        theirs.sendall(TEXT_3)
        assert wire.fetch(b"\x03SELECT 1") == TEXT_ROWS


def test_answers_that_differ_in_their_last_column_are_all_known() -> None:
    """As the ten queries of TPC-C's stock, `s_dist_01` to `s_dist_10`: their keys are one and the same."""
    answers = [TEXT_3.replace(b"\x01c\x01c", b"\x01c\x01" + name) for name in (b"c", b"d", b"e", b"f")]
    assert len({answer[KEY] for answer in answers}) == 1 and len(set(answers)) == 4
    heads = heads_of(*answers, *answers)
    for answer in answers:
        assert heads.rows_of(answer) == 3
        assert heads.read(answer, prepared=False, several=False) == (3, TEXT_ROWS)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire = Wire(ours, deprecate_eof=False, timeout_s=PATIENCE_S, heads=heads)
        for answer in (*answers, *answers):
            theirs.sendall(answer)
            assert wire.execute(b"\x03SELECT 1") == 3


def test_a_short_start_is_known_whatever_its_rows_are() -> None:
    """An expression without a table has a definition so short that the key would reach into the first row."""
    first = result([b"\x010"])
    assert Heads(deprecate_eof=False).find(first, 0) is None
    heads = heads_of(first)
    assert heads.short and not heads.known and heads.short[0].size < KEY.stop
    for number in range(1000):
        value = str(number).encode()
        answer = result([length_encoded(value)])
        assert heads.read(answer, prepared=False, several=False) == (1, [(value,)])
        heads.remember(answer)
    assert len(heads.short) == 1


def test_more_forms_than_are_kept_do_not_shut_out_later_ones() -> None:
    answers = [
        TEXT_3.replace(b"\x01c\x01c", b"\x01c\x01" + bytes([33 + n % 90])).replace(
            b"\x01a\x01a", bytes([1, 33 + n // 90, 1]) + b"a"
        )
        for n in range(600)
    ]
    assert len(set(answers)) == 600
    heads = heads_of(*answers)
    assert heads.rows_of(answers[-1]) == 3
    assert Heads(deprecate_eof=False).rows_of(answers[-1]) < 0


@pytest.mark.slow
def test_damage_is_never_read_as_something_else_than_a_scan_reads() -> None:
    chance = random.Random(7)
    answers = [parameter.values[:3] for parameter in READ]
    seen = 0
    for data, deprecate_eof, prepared in answers:
        heads = heads_of(data, deprecate_eof=deprecate_eof)
        for _ in range(2_000):
            damaged = bytearray(data)
            for _ in range(chance.randint(1, 3)):
                damaged[chance.randrange(len(damaged))] = chance.choice((0, 1, 0xFB, 0xFC, 0xFE, chance.randrange(256)))
            found = heads.read(bytes(damaged), prepared=prepared, several=False)
            if found is None:
                continue
            seen += 1
            try:
                expected = scanned(bytes(damaged), deprecate_eof=deprecate_eof, prepared=prepared).fetched
            except (ProtocolError, ConnectionLost):
                # A wrong number amid right ones is all that the walk does not see.
                continue
            assert found[1] == expected
    assert seen > 100, "some damage is in values, and both read it"
