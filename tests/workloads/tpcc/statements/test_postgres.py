"""The SQL of PostgreSQL that TPC-C's clients send apart from their transactions; the server is in tests/families."""

from itertools import product
from typing import Any

import pytest

from ibench_lib.client.driver import DriverMissing
from ibench_lib.workloads.tpcc import tables
from ibench_lib.workloads.tpcc.statements import postgres
from ibench_lib.workloads.tpcc.workload import WORKLOAD
from tests.workloads.tpcc.warehouse import options, setup


def test_tables_have_types_that_the_server_knows() -> None:
    made = WORKLOAD.prepare(options(history_key="auto_increment"), setup(sets=2), "postgres")
    assert len(made) == 18
    assert not any(word in text for text in made for word in ("TINYINT", "DATETIME", "ENGINE", "CHARSET"))
    assert ["history" in text for text in made] == ["h_id BIGSERIAL PRIMARY KEY" in text for text in made]


@pytest.mark.parametrize(("foreign_keys", "only_needed"), [*product([True, False], repeat=2)])
def test_there_are_as_many_statements_for_indexes_as_on_mysql(foreign_keys: bool, only_needed: bool) -> None:
    made = postgres.index("2", foreign_keys=foreign_keys, only_needed=only_needed)
    of_mysql = tables.index("2", foreign_keys=foreign_keys, only_needed=only_needed)
    assert len(made) == len(of_mysql)
    assert [text.count("CREATE INDEX") for text in made] == [text.count("ADD INDEX") for text in of_mysql]
    names = [part.split()[2] for text in made for part in text.split("; ") if part.startswith("CREATE INDEX")]
    assert len(set(names)) == len(names) and all(name.endswith("2") for name in names)


def test_the_isolation_of_a_session_is_set_in_the_servers_words() -> None:
    wanted = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ"
    assert postgres.isolation("repeatable_read") == wanted


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"profile": "tpcc_mysql"}, "profile: tpcc_mysql: it has no SQL for PostgreSQL: use standard"),
        ({"profile": "sysbench_tpcc"}, "profile: sysbench_tpcc: it has no SQL for PostgreSQL: use standard"),
        ({"foreign_keys": "declared"}, "foreign_keys: declared: PostgreSQL checks what is declared"),
        ({"charset": "utf8mb4"}, "charset: utf8mb4: PostgreSQL's tables have none of their own"),
        ({"engine": "innodb"}, "engine: innodb: PostgreSQL has no storage engines"),
    ],
)
def test_what_does_not_apply_is_refused_in_one_line(given: dict[str, Any], why: str) -> None:
    with pytest.raises(DriverMissing) as caught:
        WORKLOAD.prepare(options(**given), setup(), "postgres")
    assert str(caught.value).startswith(why) and "\n" not in str(caught.value)
    assert len(WORKLOAD.prepare(options(**given), setup(), "mysql")) == 9
