"""The SQL of MySQL that TPC-C's clients send apart from their transactions."""

import pytest

from ibench_lib.workloads.tpcc.statements import mysql


@pytest.mark.parametrize(("level", "words"), [("read_committed", "READ COMMITTED"), ("serializable", "SERIALIZABLE")])
def test_the_isolation_of_a_session_is_set_in_the_servers_words(level: str, words: str) -> None:
    assert mysql.isolation(level) == f"SET SESSION TRANSACTION ISOLATION LEVEL {words}"
