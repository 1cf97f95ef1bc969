"""Answers recorded from MariaDB 10.11.19, whole, cut at every byte, and damaged."""

import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from ibench_lib.client.driver import CHANGED, DEADLOCK, LOCK_TIMEOUT, ConnectionLost, StatementError
from ibench_lib.client.mysql.wire import (
    LARGEST_PACKET,
    Answer,
    ProtocolError,
    Rows,
    Wire,
    packets,
)
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.usefixtures("wire")

_COLUMNS = (
    "01000001031b00000203646566016401740174016101610c3f000b0000000303500000001b00000303646566016401740174016201620c2d00"
    "50000000fd00000000001b00000403646566016401740174016301630c3f00130000000c8000000000"
)
INSERT_3 = bytes.fromhex(
    "2e00000100030002000000265265636f7264733a203320204475706c6963617465733a203020205761726e696e67733a2030"
)
DELETE_0 = bytes.fromhex("0700000100000002000000")
TEXT_3 = bytes.fromhex(
    _COLUMNS + "05000005fe00002200180000060131017813323032332d30312d30312030303a30303a3030060000070132027979fb17"
    "00000801330013323032342d30352d30362030373a30383a303905000009fe00002200"
)
TEXT_3_NO_EOF = bytes.fromhex(
    _COLUMNS + "180000050131017813323032332d30312d30312030303a30303a3030060000060132027979fb1700000701330013323032"
    "342d30352d30362030373a30383a303907000008fe000022000000"
)
BINARY_3 = bytes.fromhex(
    _COLUMNS + "05000005fe000002000d000006000001000000017804e7070101090000070010020000000279790f0000080000030000000007"
    "e807050607080905000009fe00000200"
)
BINARY_3_NO_EOF = bytes.fromhex(
    _COLUMNS + "0d000005000001000000017804e7070101090000060010020000000279790f0000070000030000000007e8070506070809"
    "07000008fe000002000000"
)
EMPTY = bytes.fromhex(
    "01000001011b00000203646566016401740174016101610c3f000b00000003035000000005000003fe0000020005000004fe00000200"
)
EMPTY_NO_EOF = bytes.fromhex(
    "01000001011b00000203646566016401740174016101610c3f000b00000003035000000007000003fe000002000000"
)
ERROR = bytes.fromhex("2a000001ff1e04233432533232556e6b6e6f776e20636f6c756d6e20276e6f70652720696e202753454c45435427")
ERROR_INSTEAD_OF_ROWS = bytes.fromhex(
    "01000001021c0000020364656601640274320174016101610c3f000b0000000303500000003700000303646566000000212873656c6563742062"
    "2066726f6d20742077686572652061203e3d2074322e6129000c2d0050000000fd000027000005000004fe0000220029000005ffda0423323130"
    "303053756271756572792072657475726e73206d6f7265207468616e203120726f77"
)

GOOD = [
    pytest.param(INSERT_3, False, 3, id="insert"),
    pytest.param(DELETE_0, False, 0, id="delete"),
    pytest.param(DELETE_0, True, 0, id="delete, deprecate EOF"),
    pytest.param(TEXT_3, False, 3, id="text"),
    pytest.param(TEXT_3_NO_EOF, True, 3, id="text, deprecate EOF"),
    pytest.param(BINARY_3, False, 3, id="binary"),
    pytest.param(BINARY_3_NO_EOF, True, 3, id="binary, deprecate EOF"),
    pytest.param(EMPTY, False, 0, id="no rows"),
    pytest.param(EMPTY_NO_EOF, True, 0, id="no rows, deprecate EOF"),
]


def scan(pieces: list[bytes], deprecate_eof: bool) -> int:
    answer = Answer(deprecate_eof=deprecate_eof)
    done = [answer.feed(piece) for piece in pieces]
    assert done == [False] * (len(pieces) - 1) + [True]
    return answer.rows


def outcome(*replies: bytes, deprecate_eof: bool = False) -> int | str:
    """What a wire makes of the last of these answers, after which the server hangs up: rows, or the error's type."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire = Wire(ours, deprecate_eof=deprecate_eof, timeout_s=PATIENCE_S)
        for reply in replies[:-1]:
            theirs.sendall(reply)
            wire.execute(b"\x03SELECT")
        theirs.sendall(replies[-1])
        theirs.shutdown(socket.SHUT_WR)
        try:
            return wire.execute(b"\x03SELECT")
        except (ConnectionLost, StatementError) as error:
            return type(error).__name__


def packet(number: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "little") + bytes([number & 0xFF]) + body


def result(rows: list[bytes]) -> bytes:
    """A one-column text result with these row packets."""
    definition = EMPTY[5 : 5 + 4 + 0x1B]
    parts = [packet(1, b"\x01"), definition, packet(3, b"\xfe\0\0\2\0")]
    parts += [packet(4 + number, row) for number, row in enumerate(rows)]
    return b"".join([*parts, packet(4 + len(rows), b"\xfe\0\0\2\0")])


@pytest.mark.parametrize(("data", "deprecate_eof", "rows"), GOOD)
def test_whole_answers_are_counted_the_first_time_and_again(data: bytes, deprecate_eof: bool, rows: int) -> None:
    assert scan([data], deprecate_eof) == rows
    for times in range(1, 8):
        assert outcome(*[data] * times, deprecate_eof=deprecate_eof) == rows


@pytest.mark.parametrize(("data", "deprecate_eof", "rows"), GOOD)
def test_answers_cut_at_every_byte(data: bytes, deprecate_eof: bool, rows: int) -> None:
    for cut in range(1, len(data)):
        assert outcome(data, data, data[:cut], deprecate_eof=deprecate_eof) == "ConnectionLost", f"cut at {cut}"
        assert scan([data[:cut], data[cut:]], deprecate_eof) == rows
    assert scan([bytes([byte]) for byte in data], deprecate_eof) == rows


@pytest.mark.parametrize(("data", "deprecate_eof", "rows"), GOOD)
def test_bytes_after_an_answer_are_noticed(data: bytes, deprecate_eof: bool, rows: int) -> None:
    for extra in (b"\0", DELETE_0, data):
        assert outcome(data, data, data + extra, deprecate_eof=deprecate_eof) == "ProtocolError"
        with pytest.raises(ProtocolError, match="after the end of an answer"):
            Answer(deprecate_eof=deprecate_eof).feed(data + extra)


@pytest.mark.parametrize("data", [ERROR, ERROR_INSTEAD_OF_ROWS])
def test_error_packets_first_and_in_mid_result_cut_at_every_byte(data: bytes) -> None:
    for cut in range(1, len(data) + 1):
        assert outcome(TEXT_3, data[:cut]) == ("StatementError" if cut == len(data) else "ConnectionLost")
        answer = Answer(deprecate_eof=False)
        with pytest.raises(StatementError) as caught:
            answer.feed(data[:cut])
            answer.feed(data[cut:])
        assert caught.value.code in (1054, 1242)
    assert "Subquery returns more than 1 row" in str(caught.value) or "Unknown column 'nope'" in str(caught.value)
    assert caught.value.retry_reason is None


@pytest.mark.parametrize(("code", "reason"), [(1020, CHANGED), (1205, LOCK_TIMEOUT), (1213, DEADLOCK)])
@pytest.mark.fault("F12")
def test_deadlock_lock_wait_and_changed_row_are_retryable(code: int, reason: str) -> None:
    with pytest.raises(StatementError) as caught:
        Answer(deprecate_eof=False).feed(packet(1, b"\xff" + code.to_bytes(2, "little") + b"#40001try again"))
    assert caught.value.retry_reason == reason
    assert str(caught.value) == f"({code}) try again"


def test_an_error_packet_without_sql_state_and_of_any_number_is_read() -> None:
    with pytest.raises(StatementError, match=r"\(1927\) Connection was killed"):
        Answer(deprecate_eof=False).feed(packet(0, b"\xff" + (1927).to_bytes(2, "little") + b"Connection was killed"))


def several(*replies: bytes) -> bytes:
    """One answer of several results: packets numbered through, each end but the last one says that more follows."""
    found, number = [], 1
    for position, reply in enumerate(replies):
        bodies = _bodies(reply)
        for place, body in enumerate(bodies):
            ends = place == len(bodies) - 1 and position < len(replies) - 1
            found.append(packet(number, _with_more(body) if ends else body))
            number += 1
    return b"".join(found)


def _bodies(data: bytes) -> list[bytes]:
    found, position = [], 0
    while position < len(data):
        length = int.from_bytes(data[position : position + 3], "little")
        found.append(data[position + 4 : position + 4 + length])
        position += 4 + length
    return found


def _with_more(body: bytes) -> bytes:
    """An OK packet without a large number in it, or an EOF packet, with the status `more results`."""
    place = 3
    return body[:place] + bytes([body[place] | 8]) + body[place + 1 :]


@pytest.mark.parametrize(
    ("replies", "rows"),
    [
        ((DELETE_0, INSERT_3), 3),
        ((INSERT_3, DELETE_0), 3),
        ((DELETE_0, TEXT_3), 3),
        ((TEXT_3, DELETE_0), 3),
        ((INSERT_3, TEXT_3, EMPTY), 6),
    ],
)
def test_rows_of_several_statements_are_added_up_however_the_answer_is_cut(
    replies: tuple[bytes, ...], rows: int
) -> None:
    data = several(*replies)
    for cut in range(1, len(data)):
        for kind in (Answer, Rows):
            answer = kind(deprecate_eof=False, several=True)
            assert [answer.feed(data[:cut]), answer.feed(data[cut:])] == [False, True]
            assert answer.rows == rows
    with pytest.raises(ProtocolError, match="more than one result"):
        Answer(deprecate_eof=False).feed(data)


def test_an_error_ends_the_answer_to_several_statements() -> None:
    data = several(DELETE_0, ERROR)

    def script(theirs: socket.socket) -> None:
        for reply in (data, INSERT_3):
            theirs.recv(1000)
            theirs.sendall(reply)

    with server(script) as wire:
        with pytest.raises(StatementError, match="Unknown column"):
            wire.execute_several(b"\x03START TRANSACTION;SELECT nope")
        assert wire.execute(b"\x03INSERT") == 3


@pytest.mark.parametrize("count", [250, 251, 252, 300, 1000])
def test_sequence_numbers_wrap(count: int) -> None:
    data = result([b"\x05hello"] * count)
    assert outcome(data, data, data) == count
    assert scan([data], False) == count
    assert scan([data[i : i + 7] for i in range(0, len(data), 7)], False) == count


def test_rows_that_begin_like_other_packets_are_rows() -> None:
    null_row, empty_row, eof_like = b"\xfb", b"\x00", b"\xfe" + (20).to_bytes(8, "little") + b"x" * 20
    data = result([null_row, empty_row, eof_like, b"\x05\x05\0\0\x07\xfe"])
    assert outcome(data, data, data) == 4
    assert scan([data], False) == 4


def test_a_row_of_16_megabytes_is_one_row() -> None:
    value = b"x" * (LARGEST_PACKET + 10)
    row = b"\xfe" + len(value).to_bytes(8, "little") + value
    definition = EMPTY[5 : 5 + 4 + 0x1B]
    data = b"".join(
        [
            packet(1, b"\x01"),
            definition,
            packet(3, b"\xfe\0\0\2\0"),
            packet(4, row[:LARGEST_PACKET]),
            packet(5, row[LARGEST_PACKET:]),
            packet(6, b"\x05hello"),
            packet(7, b"\xfe\0\0\2\0"),
        ]
    )
    step = 1 << 16
    assert scan([data[i : i + step] for i in range(0, len(data), step)], False) == 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (packet(1, b"\xfb/etc/passwd" + b"x" * 10), "starts with 0xfb"),
        (packet(1, b"\xfe\0\0\2\0" + b"x" * 10), "starts with 0xfe"),
        (packet(2, b"\0\0\0\2\0\0\0"), "packet number 2 instead of 1"),
        (packet(1, b""), "empty packet"),
        (packet(1, b"\x02xxxxxxxx"), "unexpected data after the column count"),
        (packet(1, b"\x00\xfc\x01"), "malformed"),
        (TEXT_3[:5] + packet(2, b"x" * 20) * 2, "packet number 2 instead of 3"),
        (packet(1, b"\x01") + packet(2, b"x" * 20) + packet(3, b"\x05hello"), "no EOF packet after"),
        (packet(1, b"\0\0\0\x0a\0\0\0"), "more than one result"),
        (result([b"\x01a"])[:-2] + b"\x0a\0", "more than one result"),
    ],
)
def test_what_is_no_answer_is_an_error(data: bytes, words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        Answer(deprecate_eof=False).feed(data)


@pytest.mark.slow
def test_damage_is_an_error_or_the_same_count_at_first_and_again() -> None:
    """Random damage: what was seen before makes no difference, unless it lets the right count be seen after all."""
    chance = random.Random(5)
    for data, deprecate_eof, rows in (parameter.values for parameter in GOOD):
        rows_begin = {data.rindex(packet(number, body)) + 4 for number, body in row_packets(data, deprecate_eof)}
        for _ in range(1_000):
            damaged = bytearray(data)
            for _ in range(chance.randint(1, 3)):
                damaged[chance.randrange(len(damaged))] = chance.choice(
                    (0, 1, 0xFB, 0xFC, 0xFE, 0xFF, chance.randrange(256))
                )
            if any(damaged[position] != data[position] for position in rows_begin):
                continue  # an error packet is the last of its answer: no server goes on after one
            at_first = outcome(bytes(damaged), deprecate_eof=deprecate_eof)
            assert outcome(data, data, bytes(damaged), deprecate_eof=deprecate_eof) in (at_first, rows)


def row_packets(data: bytes, deprecate_eof: bool) -> list[tuple[int, bytes]]:
    """(sequence number, body) of each row of a good answer."""
    bodies, position = [], 0
    while position < len(data):
        length = int.from_bytes(data[position : position + 3], "little")
        bodies.append((data[position + 3], data[position + 4 : position + 4 + length]))
        position += 4 + length
    columns = bodies[0][1][0]
    return bodies[1 + columns + (0 if deprecate_eof else 1) : -1] if columns else []


def test_a_command_longer_than_a_packet_is_split() -> None:
    command = b"\x03" + b"x" * (2 * LARGEST_PACKET)
    sent = packets(command)
    sizes, bodies, position = [], [], 0
    while position < len(sent):
        length = int.from_bytes(sent[position : position + 3], "little")
        assert sent[position + 3] == len(sizes)
        sizes.append(length)
        bodies.append(sent[position + 4 : position + 4 + length])
        position += 4 + length
    assert sizes == [LARGEST_PACKET, LARGEST_PACKET, 1]
    assert b"".join(bodies) == command
    assert packets(b"x" * LARGEST_PACKET)[-4:] == b"\0\0\0\1", "a full packet is followed by an empty one"


def test_the_answer_to_a_command_of_several_packets_goes_on_from_their_numbers() -> None:
    command = b"\x03" + b"x" * LARGEST_PACKET  # two packets, 0 and 1
    short = b"\x03INSERT 1"
    renumbered = INSERT_3[:3] + b"\2" + INSERT_3[4:]

    def read_all(peer: socket.socket) -> None:
        for asked, answer in ((command, renumbered), (short, INSERT_3), (command, renumbered)):
            left = len(packets(asked))
            while left and (piece := peer.recv(min(left, 1 << 20))):
                left -= len(piece)
            peer.sendall(answer)

    with server(read_all) as wire:
        assert wire.execute(command) == 3
        assert wire.execute(short) == 3
        wire.begin(command, fetch=False)
        until(lambda: wire.arrived() == 3, "the answer has arrived")


@pytest.mark.parametrize("replies", [(DELETE_0, TEXT_3), (INSERT_3, DELETE_0)])
def test_results_that_nobody_asked_for_are_an_error(replies: tuple[bytes, ...]) -> None:
    """Also where one of them is known."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        wire = Wire(ours, deprecate_eof=False, timeout_s=PATIENCE_S)
        wire.heads.remember(TEXT_3)
        theirs.sendall(several(*replies))
        with pytest.raises(ProtocolError, match=r"more than one result|after the end"):
            wire.execute(b"\x03SELECT 1")


@contextmanager
def server(script: Callable[[socket.socket], None], timeout_s: float = PATIENCE_S) -> Iterator[Wire]:
    """A wire to a peer that runs `script` in a thread."""
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=lambda: (script(theirs), theirs.close()), daemon=True)
    thread.start()
    try:
        yield Wire(ours, deprecate_eof=False, timeout_s=timeout_s)
    finally:
        ours.close()
        thread.join(PATIENCE_S)


def test_an_answer_in_pieces_is_put_together() -> None:
    def drip(peer: socket.socket) -> None:
        assert peer.recv(100) == packets(b"\x03SELECT 1")
        for cut in range(0, len(TEXT_3), 11):
            peer.sendall(TEXT_3[cut : cut + 11])
            time.sleep(0.002)

    with server(drip) as wire:
        assert wire.execute(b"\x03SELECT 1") == 3


def test_an_error_leaves_the_connection_usable() -> None:
    def answer_twice(peer: socket.socket) -> None:
        for reply in (ERROR, INSERT_3):
            peer.recv(100)
            peer.sendall(reply)

    with server(answer_twice) as wire:
        with pytest.raises(StatementError):
            wire.execute(b"\x03SELECT nope FROM t")
        assert wire.execute(b"\x03INSERT") == 3


def test_answers_that_start_alike_are_counted_each_for_itself() -> None:
    one_row = TEXT_3[: TEXT_3.index(b"\x06\x00\x00\x07")] + packet(7, b"\xfe\0\0\2\0")
    replies = [TEXT_3, one_row, TEXT_3, EMPTY, TEXT_3, ERROR_INSTEAD_OF_ROWS, BINARY_3, one_row]

    def answer_all(peer: socket.socket) -> None:
        for reply in [*replies, TEXT_3[:100]]:
            peer.recv(100)
            peer.sendall(reply)
            if reply == TEXT_3[:100]:
                time.sleep(0.05)
                peer.sendall(TEXT_3[100:])

    with server(answer_all) as wire:
        found: list[int | str] = []
        for _ in replies:
            try:
                found.append(wire.execute(b"\x03SELECT 1"))
            except StatementError as error:
                found.append(str(error.code))
        assert found == [3, 1, 3, 0, 3, "1242", 3, 1]
        assert wire.execute(b"\x03SELECT 1") == 3, "in two pieces"


@pytest.mark.parametrize("sent_before", [0, 3, 40])
def test_a_connection_closed_in_mid_answer_is_lost(sent_before: int) -> None:
    def hang_up(peer: socket.socket) -> None:
        peer.recv(100)
        peer.sendall(TEXT_3[:sent_before])

    with server(hang_up) as wire, pytest.raises(ConnectionLost, match=r"closed|reset"):
        wire.execute(b"\x03SELECT 1")


@pytest.mark.parametrize("sent_before", [0, 40])
@pytest.mark.fault("F10")
def test_a_silent_server_is_lost_after_the_timeout_not_a_hang(sent_before: int) -> None:
    def fall_silent(peer: socket.socket) -> None:
        peer.recv(100)
        peer.sendall(TEXT_3[:sent_before])
        peer.recv(1)  # until the client gives up

    began = time.monotonic()
    with server(fall_silent, timeout_s=0.3) as wire, pytest.raises(ConnectionLost, match=r"no answer within 0\.3 s"):
        wire.execute(b"\x03SELECT 1")
    assert time.monotonic() - began < 60, "the peer would wait for ever"


@pytest.mark.fault("F10")
def test_a_server_that_drips_for_ever_is_lost_too() -> None:
    def drip(peer: socket.socket) -> None:
        peer.recv(100)
        for byte in result([b"\x05hello"] * 5_000):
            try:
                peer.sendall(bytes([byte]))
            except OSError:
                return
            time.sleep(0.001)

    with server(drip, timeout_s=1.0) as wire, pytest.raises(ConnectionLost, match="no whole answer within"):
        wire.execute(b"\x03SELECT 1")
