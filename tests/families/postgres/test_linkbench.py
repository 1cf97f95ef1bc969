"""LinkBench on a real PostgreSQL: each answer means what MySQL's does, and a whole run passes its checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import cast

import pytest

import ibench_lib as ib
from ibench_lib.client.exchange import transact
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.families.postgres.driver import Connection
from ibench_lib.paths import Workspace
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.servers.build import Build
from ibench_lib.servers.sandbox import Sandbox
from ibench_lib.store import reader
from ibench_lib.workloads.linkbench.inputs import Request
from ibench_lib.workloads.linkbench.requester import Operation, Requester, sql_of
from ibench_lib.workloads.linkbench.statements import postgres as texts
from tests.families.postgres import boxes
from tests.families.postgres.runs import SMALL, register, table
from tests.synthetic import answer

pytestmark = pytest.mark.slow

LINK = b"SELECT l.visibility, l.data, l.version, c.count, c.version FROM linktable l, counttable c"
TEXT = """
title: LinkBench on PostgreSQL
builds: [pg]
configs_folder: own
configs: [{name: small, fragments: [cx10a, small]}]
setups: [{name: tiny, nodes: 3000, warm_up: 1, seconds: 1}]
workload:
  {benchmark: linkbench, clients: 2, degree_tail: scaled, partitions: 0, requesters: [1, 4], secondary_index: after}
"""


@pytest.fixture
def requester(shared_box: Sandbox) -> Iterator[tuple[Requester, Connection]]:
    """A requester on empty tables, with its connection."""
    connection = boxes.connected(shared_box)
    for statement in texts.create("2015", 0, secondary=True):
        connection.query(statement)
    made = cast(Requester, Requester.__new__(Requester))
    made.commits_all, made.lists, made.random = False, [], Random(1)
    made.sql = sql_of(connection.family, connection.command)
    yield made, connection
    for name in ("linktable", "counttable", "nodetable"):
        connection.query(f"DROP TABLE {name}")
    connection.close()


def test_outcomes_and_rows_are_those_of_mysql(requester: tuple[Requester, Connection]) -> None:
    role, connection = requester

    def sent(operation: str, data: bytes = b"61") -> int:
        others = (9, 10) if operation == "multiget_link" else ()
        return transact(connection, Operation(role, Request(operation, 1, 7, 9, others, data, 5, 0, 0.5)).steps())

    def link() -> list[tuple[bytes | None, ...]]:
        return list(connection.fetch(connection.command(LINK)))

    assert [sent("delete_link"), sent("add_link")] == [0, 1]
    assert link() == [(b"1", rb"\x61", b"0", b"1", b"0")]
    assert [sent("add_link", b"62"), sent("count_link"), sent("multiget_link"), sent("get_links_list")] == [0, 1, 1, 1]
    assert link() == [(b"1", rb"\x62", b"0", b"1", b"0")]
    assert [sent("delete_link"), sent("delete_link"), sent("multiget_link")] == [1, 0, 1]
    assert link() == [(b"0", rb"\x62", b"0", b"0", b"1")]
    assert [sent("update_link", b"63"), sent("get_links_list")] == [1, 1]
    assert link() == [(b"1", rb"\x63", b"0", b"1", b"2")]
    connection.query(str(texts.before_load(1)))
    assert [sent("get_node"), sent("add_node")] == [0, 1]
    assert connection.scalar("SELECT id FROM nodetable") == 2
    connection.query("UPDATE nodetable SET id = 1")
    assert [sent("update_node"), sent("get_node"), sent("delete_node"), sent("delete_node")] == [1, 1, 1, 0]
    assert role.outcomes == {
        ("delete_link", "missing"): 1, ("add_link", "inserted"): 1, ("add_link", "updated"): 1,
        ("count_link", "found"): 1, ("multiget_link", "1"): 2, ("get_links_list", "1"): 2,
        ("delete_link", "hidden"): 1, ("delete_link", "hidden before"): 1, ("update_link", "shown"): 1,
        ("get_node", "missing"): 1, ("add_node", "inserted"): 1, ("update_node", "updated"): 1,
        ("get_node", "found"): 1, ("delete_node", "deleted"): 1, ("delete_node", "missing"): 1,
    }  # fmt: skip
    assert +role.changed == {"linktable": 1, "counttable": 1, "linktable.shown": 1}


@pytest.mark.lake
def test_a_run_from_load_to_seal(postgres: Build, open_path: Path) -> None:
    """The checks after each step have held, or the run would have failed."""
    workspace = Workspace(open_path)
    register(postgres, workspace)
    (open_path / "own").mkdir()
    (open_path / "own" / "small.postgres.conf").write_text(SMALL)
    (open_path / "pg.yaml").write_text(TEXT)
    (manifest,) = run_experiment(load_experiment(open_path / "pg.yaml"), workspace, Observer()).made
    assert manifest.status == "complete" and manifest.workload["engine"] is None
    assert [row["step"] for row in table(workspace, "steps")] == ["load", "index", "warm_up", "t1", "t4", "control"]
    checks = table(workspace, "checks")
    assert {row["rule"] for row in checks if row["step"] == "t4"} == {"rows", "ledger", "counts"}
    assert all(row["found"] == row["expected"] for row in checks)
    done = Counter[str]()
    for row in table(workspace, "ops"):
        done[row["operation"]] += row["ops"]
    assert {"get_links_list", "add_link", "update_link"} <= set(+done)
    said = ib.counted_statements(answer(reader.lake(workspace), "linkbench_statements", "pg"))
    assert said == [
        "pg.small: the server does not count statements by kind, so it proves none of those that the outcomes of "
        "operations explain."
    ]
