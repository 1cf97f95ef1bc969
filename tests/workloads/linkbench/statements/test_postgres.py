"""The SQL of PostgreSQL that LinkBench's clients send; the server is in tests/families."""

from typing import Any

import pytest

from ibench_lib.client.driver import DriverMissing
from ibench_lib.workloads.linkbench.options import Options, Setup
from ibench_lib.workloads.linkbench.population import Graph, inserts, parts_of
from ibench_lib.workloads.linkbench.statements import mysql, postgres
from ibench_lib.workloads.linkbench.workload import WORKLOAD

SETUP = Setup(name="s", nodes=100, seconds=1.0, warm_up=1.0)


def test_statements_take_the_values_of_mysqls_in_their_order() -> None:
    link = postgres.UPSERT.encode() % (1, 2, 3, b"6162", 5)
    assert rb"VALUES (1,2,3,1,'\x6162',5,0) ON CONFLICT (link_type,id1,id2) DO UPDATE SET visibility=1" in link
    assert b"VALUES (1,3,1,5,0)" in postgres.COUNT_UP.encode() % (1, 3, 5, 6)
    assert b"version=counttable.version+1,time=6 " in postgres.COUNT_DOWN.encode() % (1, 3, 5, 6)
    texts = {name: text for name, text in vars(mysql).items() if name.isupper() and "%" in str(text)}
    assert len(texts) >= 13
    for name, text in texts.items():
        kinds = [part[:1] for part in text.split("%")[1:]]
        assert [part[:1] for part in getattr(postgres, name).split("%")[1:]] == kinds, name


def test_the_load_has_the_same_bytes() -> None:
    graph = Graph(50, "scaled")
    for part in parts_of(graph, 0, 1):
        for insert in inserts(1, graph, part):
            text = postgres.of_load(insert.text)
            assert text.count(rb"'\x") == insert.text.count(b"x'")
            assert text.replace(rb"'\x", b"x'") == insert.text == mysql.of_load(insert.text)
    assert mysql.before_load(50) is None
    assert postgres.before_load(50) == "SELECT setval('nodetable_id_seq', 50)"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "partitions: 16: tables on PostgreSQL are not partitioned: write partitions: 0"),
        ({"partitions": 0, "statements": "2013"}, "statements: 2013: they need sessions without autocommit"),
        ({"partitions": 0, "engine": "innodb"}, "engine: innodb: PostgreSQL has no storage engines"),
    ],
)
def test_what_does_not_apply_is_refused_in_one_line(given: dict[str, Any], why: str) -> None:
    with pytest.raises(DriverMissing) as caught:
        WORKLOAD.prepare(Options(benchmark="linkbench", **given), SETUP, "postgres")
    assert str(caught.value).startswith(why) and "\n" not in str(caught.value)


@pytest.mark.parametrize(("secondary", "count"), [("before", 4), ("after", 3)])
def test_the_secondary_index_is_made_before_the_load_or_after_it(secondary: str, count: int) -> None:
    chosen = Options.model_validate({"benchmark": "linkbench", "partitions": 0, "secondary_index": secondary})
    made = WORKLOAD.prepare(chosen, SETUP, "postgres")
    assert len(made) == count and (made[-1] == postgres.add_secondary("2015")) == (secondary == "before")
