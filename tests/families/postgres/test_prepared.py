"""Prepared statements as bytes: many at once are those made one by one."""

from __future__ import annotations

import struct
from datetime import datetime

import numpy as np
import pytest

from ibench_lib.families.postgres.prepared import Prepared, PreparedRows


@pytest.mark.parametrize("text", ["a=%d", "a=%i AND b=%d", "a IN (%d,%d,%d)"])
def test_commands_made_together_are_those_made_one_by_one(text: str) -> None:
    statement, count = Prepared(text), text.count("%")
    values = np.random.default_rng(1).integers(0, 1 << 31, (40, count))
    assert statement.each(values) == [statement % tuple(row) for row in values.tolist()]
    if count == 1:
        assert statement.each(values[:, 0]) == [statement % value for (value,) in values.tolist()]


def test_a_text_is_sent_with_numbered_places_and_the_types_of_integers() -> None:
    statement = Prepared("a=%d AND b='%b' AND c=%i")
    assert b"a=$1 AND b=$2 AND c=$3\0" + struct.pack(">H3I", 3, 20, 0, 23) in statement.opening
    assert struct.pack(">i", 3) + b"x'y" in statement % (1, b"x'y", 2)


def test_rows_have_strings_of_their_own_lengths() -> None:
    rows = PreparedRows("INSERT INTO t VALUES ", 2, 1, [b"aa\0", b"aaa\0\0"])
    letters = np.array([[0, 0, 0, 0, 0, 88], [0, 0, 0, 0, 89, 90]] * 2, dtype=np.uint8)
    commands = rows.commands(datetime(2000, 1, 1, 0, 0, 1), [np.arange(4)], np.array([0, 1, 0, 1]), letters)
    assert len(commands) == 2
    for number, command in enumerate(commands):
        wanted = b""
        for row, string in enumerate((b"aaX", b"aaaYZ")):
            wanted += struct.pack(">iq", 8, 1_000_000) + struct.pack(">ii", 4, 2 * number + row)
            wanted += struct.pack(">i", len(string)) + string
        assert wanted + b"\0\0" in command
        (length,) = struct.unpack_from(">I", command, 2)
        assert command[2 + length : 3 + length] == b"E", "Bind is as long as it says"
