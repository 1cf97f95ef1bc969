"""A connection to something that is no MySQL server, or to one over a damaged wire, ends in PyMySQL's own errors."""

import random
import socket
import struct
from typing import Any

import pymysql
import pytest

from ibench_lib.base import mysql
from tests.fakes.protocol import greeting, ok, packet, result

SEEDS = range(400)


def answers(seed: int) -> bytes:
    """What a server sends to somebody who logs in and asks something, with some bytes changed or lost."""
    chance = random.Random(seed)
    eof = chance.random() < 0.5
    whole = greeting(deprecate_eof=eof) + ok(number=2) + ok()  # of SET NAMES
    asked = bytearray(result(3, deprecate_eof=eof) if chance.random() < 0.7 else ok())
    damaged = bytearray(whole) if chance.random() < 0.3 else asked
    for _ in range(chance.randint(1, 4)):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    stream = bytes(damaged) + bytes(asked) if damaged is not asked else whole + bytes(asked)
    return stream[: chance.randint(1, len(stream))] if chance.random() < 0.2 else stream


def asked(kind: type[Any], sent: bytes) -> Any:
    """What becomes of a connection that gets these bytes: rows, or the error."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(sent)
        theirs.shutdown(socket.SHUT_WR)
        try:
            connection = kind(user="u", password="", autocommit=None, defer_connect=True, ssl_disabled=True)
            connection.connect(ours)
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
                return cursor.fetchall()
        except Exception as error:
            return error


def test_whatever_the_bytes_only_errors_of_pymysql_and_of_the_system_are_raised() -> None:
    expected = (pymysql.err.MySQLError, OSError)
    found = [asked(mysql.Connection, answers(seed)) for seed in SEEDS]
    odd = [error for error in found if isinstance(error, Exception) and not isinstance(error, expected)]
    assert odd == []
    assert any(isinstance(error, tuple) for error in found), "some bytes do no harm"
    plain = [asked(pymysql.Connection, answers(seed)) for seed in SEEDS]
    assert any(isinstance(error, Exception) and not isinstance(error, expected) for error in plain)


@pytest.mark.parametrize(
    "sent",
    [
        greeting(deprecate_eof=False) + packet(2, b""),
        greeting(deprecate_eof=False) + ok(number=2) + packet(1, b"\xfb/etc/passwd"),
        packet(0, b"\x09old"),
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        struct.pack("<I", 0xFFFFFF),
    ],
)
def test_an_answer_of_another_kind_is_one_line(sent: bytes) -> None:
    error = asked(mysql.Connection, sent)
    assert isinstance(error, pymysql.err.MySQLError | OSError)
    assert len(str(error).splitlines()) == 1
