"""The connection of the collectors."""

import pymysql
import pytest

from ibench_lib.families.mysql.connection import connect, name_and_value, raw_rows, rows
from tests.capture.scenes import Booted


def test_raw_rows_are_the_answer(running: Booted) -> None:
    with connect(running.address.arguments()) as connection:
        long = "x" * 70_000
        query = f"SELECT 'a', '{long}' UNION ALL SELECT 'b', NULL UNION ALL SELECT 'c', REPEAT('y', 300)"
        answer = [name_and_value(row) for row in raw_rows(connection, query)]
        assert answer == [("a", long.encode()), ("b", b""), ("c", b"y" * 300)]
        with pytest.raises(pymysql.err.MySQLError, match="nowhere"):
            raw_rows(connection, "SELECT * FROM nowhere.at_all")
        assert raw_rows(connection, "SELECT 'a', 'b' FROM dual WHERE 1 = 0") == []
        assert rows(connection, "SELECT 1") == [(1,)], "the connection is as good as before"
