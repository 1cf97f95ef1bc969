"""Answers of a server of ours that speaks the protocol: whole, torn at every byte, out of step; and logging in."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from ibench_lib.client.driver import CHANGED, DEADLOCK, LOCK_TIMEOUT, ConnectionLost, StatementError
from ibench_lib.families.postgres.wire import Scram, Wire, message

READY = message(b"Z", b"I")
LET_IN = message(b"R", struct.pack(">I", 0))
LOGGED_IN = LET_IN + message(b"K", struct.pack(">II", 42, 7)) + READY
NOTICE = message(b"N", b"SNOTICE\0C00000\0Mhello\0\0")
SETTING = message(b"S", b"TimeZone\0GMT\0")
ROW = message(b"D", struct.pack(">Hi", 2, 2) + b"17" + struct.pack(">i", -1))
SELECT_2 = message(b"T", b"\0\0") + ROW + NOTICE + ROW + message(b"C", b"SELECT 2\0") + READY
INSERT_3 = SETTING + message(b"C", b"INSERT 0 3\0") + READY
TWO = message(b"C", b"DELETE 2\0") + message(b"C", b"UPDATE 5\0") + READY


def error(code: str, text: str = "why") -> bytes:
    return message(b"E", f"SERROR\0C{code}\0M{text}\0".encode() + b"\0")


@contextmanager
def served(
    folder: Path,
    *answers: bytes,
    opening: bytes = LOGGED_IN,
    pieces: int = 1 << 20,
    known: dict[str, int] | None = None,
    heard: list[bytes] | None = None,
) -> Iterator[Wire]:
    """A connection to a server that answers each message in turn, then closes. `heard` gets what it was sent.

    `known` is who has to listen.
    """
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "s"))
    listener.listen()

    def serve() -> None:
        connected, _ = listener.accept()
        with connected:
            for answer in (opening, *answers):
                if not (said := connected.recv(1 << 16)):
                    return
                if heard is not None:
                    heard.append(said)
                for start in range(0, len(answer), pieces):
                    connected.sendall(answer[start : start + pieces])

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        # Who gives a password wants a proof.
        password = "" if opening.startswith(LET_IN) and opening != LET_IN + READY else "p"
        address = {"unix_socket": str(folder / "s"), "user": "u", "password": password, "listener": known}
        wire = Wire(address, None, 30.0)
        yield wire
        wire.close()
    finally:
        listener.close()
        thread.join(30)


def answered(wire: Wire, *, fetch: bool = False) -> object:
    wire.send(message(b"Q", b"?\0"), fetch=fetch)
    return wire.answer()


@pytest.mark.parametrize("pieces", [1, 3, 1 << 20])
def test_rows_are_counted_or_kept_however_the_answer_is_torn(tmp_path: Path, pieces: int) -> None:
    with served(tmp_path, INSERT_3, SELECT_2, SELECT_2, TWO, pieces=pieces) as wire:
        assert wire.id == 42
        assert answered(wire) == 3
        assert answered(wire) == 2
        assert answered(wire, fetch=True) == [(b"17", None)] * 2
        assert answered(wire) == 7, "of both statements"


@pytest.mark.parametrize(
    ("code", "reason"), [("40P01", DEADLOCK), ("40001", CHANGED), ("55P03", LOCK_TIMEOUT), ("23505", None)]
)
def test_an_error_keeps_its_sqlstate_and_the_connection_goes_on(tmp_path: Path, code: str, reason: str | None) -> None:
    with served(tmp_path, error(code) + READY, INSERT_3) as wire:
        with pytest.raises(StatementError, match=rf"\({code}\) why") as caught:
            answered(wire)
        assert (caught.value.code, caught.value.retry_reason) == (code, reason)
        assert answered(wire) == 3


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (error("57P01", "terminating connection"), r"\(57P01\) terminating connection"),
        (b"", "the server closed the connection"),
        (INSERT_3[:-3], "the server closed the connection"),
        (message(b"T", b"\0\0") + ROW + message(b"C", b"SELECT 2\0") + READY, "2 rows said, 1 sent"),
        (message(b"G", b"\0\0\0") + READY, "a message of type b'G'"),
        (b"C\0\0\0\1", "a message of 1 bytes"),
        (INSERT_3 + b"C", "bytes after the end"),
        (error("57P02", "crash of another process"), r"\(57P02\) crash of another process"),
    ],
)
def test_a_server_that_is_lost_or_out_of_step_is_told_as_such(tmp_path: Path, answer: bytes, said: str) -> None:
    with served(tmp_path, answer) as wire, pytest.raises(ConnectionLost, match=said):
        answered(wire)


def test_what_a_server_says_unasked_belongs_to_no_answer(tmp_path: Path) -> None:
    late = SETTING + NOTICE
    with served(tmp_path, INSERT_3 + late, INSERT_3 + late[:9], late[9:] + INSERT_3) as wire:
        assert [answered(wire) for _ in range(3)] == [3, 3, 3]
    (tmp_path / "ends").mkdir()
    with (
        served(tmp_path / "ends", INSERT_3 + error("57P01", "terminating connection")) as wire,
        pytest.raises(ConnectionLost, match=r"\(57P01\) terminating connection"),
    ):
        answered(wire)


def test_a_refused_login_is_an_answer(tmp_path: Path) -> None:
    with (
        pytest.raises(StatementError, match=r"\(28P01\) wrong password"),
        served(tmp_path, opening=error("28P01", "wrong password")),
    ):
        pass


def auth(kind: int, content: bytes = b"") -> bytes:
    return message(b"R", struct.pack(">I", kind) + content)


@pytest.mark.parametrize(
    ("opening", "said"),
    [
        (
            auth(10, b"SCRAM-SHA-512\0\0"),
            r"\(28000\) the server asks for a way of logging in that ibench does not have",
        ),
        (auth(7), "a way of logging in that ibench does not have"),
        (message(b"R", b""), "no PostgreSQL server"),
        (auth(0) + message(b"K", b"\0"), "no PostgreSQL server"),
        (b"HTTP/1.1 400 Bad Request\r\n", "no PostgreSQL server"),
        (auth(0)[:7], "closed the connection"),
        (error("57P03", "the database system is starting up"), r"\(57P03\) the database system is starting up"),
        (error("53300", "too many clients"), r"\(53300\) too many clients"),
    ],
)
def test_a_login_that_goes_wrong_is_one_line(tmp_path: Path, opening: bytes, said: str) -> None:
    with pytest.raises((ConnectionLost, StatementError), match=said), served(tmp_path, opening=opening):
        pass


SASL = auth(10, b"SCRAM-SHA-256\0\0")


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([auth(11, b"r=short,s=AAAA,i=4096")], "SCRAM is wrong: another nonce"),
        ([auth(11, b"no such thing")], "SCRAM is wrong"),
        ([auth(12, b"v=")], "does not know the password"),
        ([auth(0) + READY], "without a proof"),
        ([auth(3)], "asks for the password in clear text, and proves nothing"),
        ([error("28P01", "wrong password")], r"\(28P01\) wrong password"),
    ],
    ids=["nonce", "nonsense", "no exchange", "no proof", "in the clear", "refused"],
)
def test_a_server_that_cannot_prove_itself_is_not_talked_to(tmp_path: Path, answers: list[bytes], said: str) -> None:
    with (
        pytest.raises((ConnectionLost, StatementError), match=said),
        served(tmp_path, *answers, opening=SASL),
    ):
        pass


def test_the_password_itself_is_sent_to_nobody_without_a_certificate(tmp_path: Path) -> None:
    heard: list[bytes] = []
    with (
        pytest.raises(StatementError, match="asks for the password in clear text, and proves nothing of itself"),
        served(tmp_path, LOGGED_IN, opening=auth(3), heard=heard),
    ):
        pass
    assert len(heard) == 1, "who wants to connect"


def test_a_server_that_asks_for_no_password_has_not_proven_that_it_knows_ours(tmp_path: Path) -> None:
    with (
        pytest.raises(ConnectionLost, match="without a proof that it knows the password; if it needs none, leave"),
        served(tmp_path, opening=LET_IN + READY),
    ):
        pass


US = {"process": os.getpid(), "user": os.geteuid()}
BY_MD5 = auth(5, b"salt")


def test_the_server_of_a_sandbox_may_ask_for_md5_where_the_kernel_says_that_it_listens(tmp_path: Path) -> None:
    heard: list[bytes] = []
    with served(tmp_path, LOGGED_IN, INSERT_3, opening=BY_MD5, known=US, heard=heard) as wire:
        assert answered(wire) == 3
    # md5(md5("pu") + "salt"), as the server has it
    assert heard[1] == message(b"p", b"md5c827f95590aef08f2d04ac5e8d94d9c3\0")


@pytest.mark.parametrize("other", [{"process": 1}, {"user": os.geteuid() + 1}], ids=["process", "user"])
def test_a_server_of_another_process_or_user_is_sent_nothing(tmp_path: Path, other: dict[str, int]) -> None:
    heard: list[bytes] = []
    said = f"not our server: process {os.getpid()} of user {os.geteuid()} listens on its socket"
    with (
        pytest.raises(ConnectionLost, match=said),
        served(tmp_path, LOGGED_IN, opening=BY_MD5, known={**US, **other}, heard=heard),
    ):
        pass
    assert heard == []


def test_a_server_that_nobody_vouches_for_gets_no_hash_of_the_password(tmp_path: Path) -> None:
    heard: list[bytes] = []
    said = r"\(28000\) the server asks for an MD5 hash of the password, and proves nothing of itself"
    with (
        pytest.raises(StatementError, match=said),
        served(tmp_path, LOGGED_IN, opening=BY_MD5, heard=heard),
    ):
        pass
    assert len(heard) == 1, "who we are, and no answer"


def test_rows_that_are_not_as_long_as_they_say_are_out_of_step(tmp_path: Path) -> None:
    for number, content in enumerate(
        [struct.pack(">Hi", 2, 2) + b"17", struct.pack(">Hi", 1, 9) + b"17", b"", b"\0\1"]
    ):
        (tmp_path / str(number)).mkdir()
        answer = message(b"T", b"\0\0") + message(b"D", content) + message(b"C", b"SELECT 1\0") + READY
        with (
            served(tmp_path / str(number), answer) as wire,
            pytest.raises(ConnectionLost, match="a row is not as long as it says"),
        ):
            answered(wire, fetch=True)


def test_no_answer_that_is_damaged_raises_anything_else() -> None:
    wire = Wire.__new__(Wire)
    whole = SELECT_2 + TWO[:-1] + error("23505") + INSERT_3
    random = Random(41)
    lost = 0
    for _ in range(2000):
        damaged = bytearray(whole)
        for _ in range(random.randint(1, 3)):
            damaged[random.randrange(len(damaged))] = random.choice([0, 1, 0xFF, random.randrange(256)])
        damaged = damaged[: random.randint(1, len(damaged))]
        wire._unread = b""
        wire._begin_answer(fetch=True)
        try:
            wire._take(bytes(damaged))
            wire._result()
        except (ConnectionLost, StatementError):
            lost += 1
    assert 0 < lost < 2000


def test_scram_as_in_the_standard() -> None:
    scram = Scram("pencil", "rOprNGfwEbeRWgbNEkqO")
    scram._bare = b"n=user,r=rOprNGfwEbeRWgbNEkqO"  # a server takes the user's name of the startup message
    said = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    assert scram.final(said).endswith(b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    scram.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(ConnectionLost, match="does not know the password"):
        scram.check(b"v=AAAA")
    with pytest.raises(ConnectionLost, match="SCRAM is wrong"):
        scram.final(b"r=another,s=AAAA,i=4096")
