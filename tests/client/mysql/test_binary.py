"""Values of prepared statements, against the text protocol on a real server, and damaged."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from ibench_lib.client.mysql.binary import Prepared, length_encoded, reader_of, with_markers
from ibench_lib.client.mysql.connection import Connection
from ibench_lib.client.mysql.wire import COM_QUERY, BinaryRows, ProtocolError
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from tests.client.mysql.test_wire import BINARY_3, BINARY_3_NO_EOF, ERROR_INSTEAD_OF_ROWS, TEXT_3_NO_EOF
from tests.waiting import PATIENCE_S

COLUMNS = {
    "tiny": ("TINYINT", "-128", "127", "0"),
    "tiny_unsigned": ("TINYINT UNSIGNED", "255", "0"),
    "small": ("SMALLINT", "-32768", "32767"),
    "medium": ("MEDIUMINT", "-8388608", "8388607"),
    "medium_unsigned": ("MEDIUMINT UNSIGNED", "16777215"),
    "number": ("INT", "-2147483648", "2147483647"),
    "filled": ("INT(8) UNSIGNED ZEROFILL", "42", "123456789"),
    "big": ("BIGINT", "-9223372036854775808", "9223372036854775807"),
    "big_unsigned": ("BIGINT UNSIGNED", "18446744073709551615"),
    "money": ("DECIMAL(12,2)", "-1234567890.05", "0.00", "0.10"),
    "y": ("YEAR", "1901", "2155"),
    "d": ("DATE", "'2026-01-31'", "'0000-00-00'"),
    "dt": ("DATETIME", "'2026-01-31 23:59:58'", "'2026-01-31 00:00:00'", "'0000-00-00 00:00:00'"),
    "dt3": ("DATETIME(3)", "'2026-01-31 23:59:58.120'", "'2026-01-31 00:00:00'"),
    "dt6": ("DATETIME(6)", "'2026-01-31 23:59:58.000001'"),
    "ts": ("TIMESTAMP NULL", "'2026-01-31 23:59:58'"),
    "t": ("TIME", "'-838:59:59'", "'00:00:00'", "'10:20:30'"),
    "t2": ("TIME(2)", "'-00:00:01.25'", "'26:00:00.5'"),
    "c": ("CHAR(10)", "''", "'a b'"),
    "v": ("VARCHAR(300)", "REPEAT('x', 250)", "REPEAT('x', 251)", "''", "'it''s'"),
    "long_text": ("MEDIUMTEXT", "REPEAT('y', 70000)", "'z'"),
    "bits": ("BIT(12)", "b'101010101010'"),
    "e": ("ENUM('a', 'b')", "'b'"),
}


@pytest.fixture(scope="module")
def connection(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    folder = tmp_path_factory.mktemp("binary")
    (folder / "my.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=64M\nskip_log_bin\nsql_mode=\n")
    with Sandbox(build, folder / "box", folder / "my.cnf", folder / "log") as address:
        made = Connection(address.arguments(), None, PATIENCE_S)
        made.query("CREATE DATABASE b CHARACTER SET latin1")
        made.query("USE b")
        yield made
        made.close()


def rows(connection: Connection, text: str) -> Sequence[tuple[bytes | None, ...]]:
    return connection.fetch(COM_QUERY + text.encode())


@pytest.mark.parametrize("size", [250, 251, 256])
def test_a_column_with_a_long_name_is_read(connection: Connection, size: int) -> None:
    expression = "1" + "+1" * ((size - 1) // 2) + " " * ((size - 1) % 2)
    text = f"SELECT {expression}"
    assert connection.fetch(connection.prepared(text) % ()) == rows(connection, text)


def test_rows_of_a_prepared_statement_are_those_of_its_text(connection: Connection) -> None:
    """Every type, NULL at every place, and rows of all sizes, drawn by chance."""
    chance = random.Random(4)
    columns = ", ".join(f"{name} {values[0]} NULL" for name, values in COLUMNS.items())
    connection.query(f"CREATE TABLE every (id INT PRIMARY KEY, {columns})")
    for number in range(60):
        drawn = [chance.choice([*values[1:], "NULL"]) for values in COLUMNS.values()]
        connection.query(f"INSERT INTO every VALUES ({number}, {', '.join(drawn)})")
    for _ in range(25):
        chosen = ", ".join(chance.sample(list(COLUMNS), chance.randint(1, len(COLUMNS))))
        text = f"SELECT {chosen} FROM every WHERE id >= %d AND id < %d ORDER BY id"
        limits = tuple(sorted(chance.choices(range(61), k=2)))
        found = connection.fetch(connection.prepared(text) % limits)
        assert found == rows(connection, text % limits) and len(found) == limits[1] - limits[0]
        connection.begin(connection.prepared(text) % limits, fetch=True)
        arrived: Any = None
        while arrived is None:
            arrived = connection.arrived()
        assert arrived == found


def test_parameters_arrive_as_the_literals_of_a_text(connection: Connection) -> None:
    connection.query("CREATE TABLE given (id BIGINT, money DECIMAL(12,2), words MEDIUMTEXT)")
    add = connection.prepared("INSERT INTO given VALUES (%d,%b,'%b')")
    sent = [
        (-1, b"0.05", b"it's"),
        (1 << 62, b"9999999999.99", b"x" * 300),
        (3, b"-1.10", b""),
        (4, b"7", b"y" * 70000),
    ]
    for values in sent:
        assert connection.execute(add % values) == 1
    assert rows(connection, "SELECT id, money, words FROM given") == [
        (b"%d" % number, money if b"." in money else money + b".00", words) for number, money, words in sent
    ]
    change = connection.prepared("UPDATE given SET money=money+%b WHERE id=%d")
    for _ in range(10):
        assert connection.execute(change % (b"0.10", 3)) == 1
    assert rows(connection, "SELECT money FROM given WHERE id = 3") == [(b"-0.10",)], "decimals stay exact"
    with pytest.raises(ProtocolError, match="FLOAT or DOUBLE"):
        BinaryRows(deprecate_eof=False).feed(BINARY_3.replace(b"\x0b\0\0\0\x03", b"\x0b\0\0\0\x05", 1))


def test_a_statement_without_parameters_is_its_head(connection: Connection) -> None:
    assert connection.fetch(connection.prepared("SELECT 1, NULL, 'a'") % ()) == [(b"1", None, b"a")]


def test_markers_and_lengths() -> None:
    assert with_markers("a=%d AND b='%b' AND c=c+%b") == "a=? AND b=? AND c=c+?"
    for size, head in ((250, b"\xfa"), (251, b"\xfc\xfb\0"), (65536, b"\xfd\0\0\x01")):
        assert length_encoded(b"x" * size) == head + b"x" * size
    with pytest.raises(ValueError, match="zip"):
        _ = Prepared(b"", "'%b',%d") % (b"x",)


EXPECTED = [
    (b"1", b"x", b"2023-01-01 00:00:00"),
    (b"2", b"yy", None),
    (b"3", b"", b"2024-05-06 07:08:09"),
]


@pytest.mark.parametrize(
    ("definition", "why"),
    [
        (b"\x01a" * 5 + b"\xfe" + b"\xff" * 8, "incomplete"),  # a name longer than any position can be
        (b"\xfd" + b"\xff" * 3, "incomplete"),
        (b"", "incomplete"),
        (b"\x01a" * 6 + b"\x0c\x3f\0" + b"\xff" * 4 + b"\x03\x40\0\0\0\0", "a display width of 4294967295"),
    ],
)
def test_a_malformed_definition_is_refused(definition: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        reader_of(definition)


@pytest.mark.parametrize(("data", "deprecate_eof"), [(BINARY_3, False), (BINARY_3_NO_EOF, True)])
def test_recorded_rows_cut_at_every_byte_and_damaged(data: bytes, deprecate_eof: bool) -> None:
    """A damaged answer gives rows, as many as were sent, or an error of the protocol; never another one."""
    for cut in range(1, len(data)):
        answer = BinaryRows(deprecate_eof=deprecate_eof)
        assert [answer.feed(data[:cut]), answer.feed(data[cut:])] == [False, True]
        assert len(answer.fetched) == 3
    whole = BinaryRows(deprecate_eof=deprecate_eof)
    assert whole.feed(data)
    assert [(row[0], row[2]) for row in whole.fetched] == [(row[0], row[2]) for row in EXPECTED]
    chance = random.Random(6)
    for _ in range(2_000):
        damaged = bytearray(data)
        damaged[chance.randrange(5, len(data))] = chance.randrange(256)
        answer = BinaryRows(deprecate_eof=deprecate_eof)
        try:
            answer.feed(bytes(damaged))
            list(answer.fetched)
        except Exception as error:
            assert type(error).__name__ in ("ProtocolError", "StatementError"), error
    text = BinaryRows(deprecate_eof=True)
    text.feed(TEXT_3_NO_EOF)
    with pytest.raises(ProtocolError):
        list(text.fetched)
    assert ERROR_INSTEAD_OF_ROWS
