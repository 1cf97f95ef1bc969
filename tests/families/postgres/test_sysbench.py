"""The real sysbench on a real PostgreSQL: what is counted is what the server has done, exactly."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import ibench_lib as ib
from ibench_lib.errors import ExperimentError
from ibench_lib.experiment.cells import load_experiment
from ibench_lib.families.postgres.driver import Connection
from ibench_lib.paths import Workspace
from ibench_lib.runner.observer import Observer
from ibench_lib.runner.plan import plan_experiment
from ibench_lib.runner.sweep import run_experiment
from ibench_lib.servers.build import Build
from ibench_lib.servers.certificate import make_certificate
from ibench_lib.store import reader
from tests.families.postgres import boxes
from tests.families.postgres.runs import SMALL, register, table
from tests.synthetic import answer
from tests.workloads.sysbench.place import Place
from tests.workloads.sysbench.test_real import sums

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("sysbench")]

DRIVER = "ibench_lib.families.postgres.driver"
MODULE = "pg_stat_statements"
BY_TLS = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname = 'b' AND ssl"
TEXT = """
title: sysbench on PostgreSQL
builds: [pg]
configs_folder: own
configs: [{name: small, fragments: [cx10a, small]}]
setups: [{name: tiny, tables: 2, table_size: 500, seconds: 1, warm_up: 0}]
workload: {benchmark: sysbench, tests: [read-write-100, scan, oltp_delete], threads: [2], rand_type: uniform}
"""


class Served(NamedTuple):
    """A server with the tables of sysbench in the database `b`, and a connection next to it."""

    place: Place
    connection: Connection

    def counted(self) -> Counter[str]:
        """How often the server has executed statements in `b`, by their first word."""
        query = f"SELECT upper(split_part(query, ' ', 1)), sum(calls) FROM {MODULE} JOIN pg_database d ON d.oid = dbid"
        rows = self.connection.fetch(self.connection.command(f"{query} WHERE datname = 'b' GROUP BY 1".encode()))
        return Counter({str(word or b"", "ascii"): int(calls or 0) for word, calls in rows})

    def number(self, query: str) -> int | None:
        """The answer of `b`."""
        connection = boxes.connected(self.place.box, "b")
        try:
            return connection.scalar(query)
        finally:
            connection.close()


@pytest.fixture(scope="module")
def served(postgres: Build, open_folder: Path) -> Iterator[Served]:
    if not any(postgres.basedir.rglob(f"{MODULE}.so")):
        pytest.skip(f"this build has no {MODULE}")
    box = boxes.sandbox(postgres, open_folder / "sysbench", f"{boxes.SMALL}shared_preload_libraries = {MODULE}\n")
    with box:
        connection = boxes.connected(box)
        connection.query(f"CREATE EXTENSION {MODULE}")
        connection.query("CREATE DATABASE b")
        served = Served(Place(box, box.address.arguments(), connection, DRIVER), connection)
        driven, rows = served.place.drive(0)
        assert (driven.error, driven.seconds.ops, rows) == (None, 1000, [])
        yield served
        connection.close()


@pytest.mark.parametrize(
    ("test", "threads", "db_ps_mode"),
    [
        ("oltp_point_select", 2, "auto"), ("oltp_read_write", 1, "auto"), ("oltp_read_write", 1, "disable"),
        ("oltp_update_index", 2, "auto"), ("update-inlist", 1, "auto"), ("update-zipf", 1, "disable"),
        ("read-only-count", 1, "auto"), ("points-notcovered-si", 1, "auto"), ("scan", 2, "auto"),
    ],
)  # fmt: skip
def test_every_statement_that_the_server_has_executed_is_counted(
    served: Served, test: str, threads: int, db_ps_mode: str
) -> None:
    served.connection.query(f"SELECT {MODULE}_reset()")
    driven, rows = served.place.drive(1, seconds=1.0, tests=[test], threads=[threads], db_ps_mode=db_ps_mode)
    executed = served.counted()
    assert driven.error is None and driven.unread == 0, driven.error or driven.warnings(1.0)
    ops = sums(rows)
    assert ops["read"] == executed["SELECT"]
    assert ops["write"] == executed["INSERT"] + executed["UPDATE"] + executed["DELETE"]
    if db_ps_mode == "disable":  # of a prepared BEGIN or COMMIT, the module counts the first execution only
        assert ops["other"] == executed["BEGIN"] + executed["COMMIT"]
    assert ops["transaction"] == (ops["other"] / 2 or ops["read"] or ops["write"]) > 0
    assert set(executed) <= {"SELECT", "INSERT", "UPDATE", "DELETE", "BEGIN", "COMMIT"}


@pytest.mark.parametrize("test", ["update-inlist", "oltp_update_non_index", "oltp_read_write"])
def test_updates_write_whole_strings(served: Served, test: str) -> None:
    assert served.place.drive(0)[0].error is None
    driven, _ = served.place.drive(1, seconds=1.0, tests=[test])
    assert driven.error is None, driven.error
    assert served.number("SELECT min(length(rtrim(c))) FROM sbtest1") == 119


def test_too_many_threads_are_one_line_of_sysbench(served: Served) -> None:
    driven, _ = served.place.drive(1, threads=[400])
    assert driven.error and "\n" not in driven.error and "Connection to database failed" in driven.error


def test_a_server_that_is_reached_by_tls_is_never_spoken_to_in_the_clear(
    postgres: Build, open_folder: Path, tmp_path: Path
) -> None:
    """libpq would take what the server offers, and ask for no proof of its name."""
    if ctypes.CDLL("libpq.so.5").PQlibVersion() < 150_000:
        pytest.skip("libpq before 15 finds no address in a certificate, and that of a sandbox has nothing else")
    box = boxes.sandbox(postgres, open_folder / "tls", tls=True)
    with box:
        address = box.address.arguments()
        connection = boxes.connected(box)
        connection.query("CREATE DATABASE b")
        place = Place(box, address, connection, DRIVER)
        assert place.drive(0)[0].error is None
        seen: list[int | None] = []
        driven, _ = place.drive(1, lambda: seen.append(connection.scalar(BY_TLS)), seconds=1.0)
        assert (driven.error, seen) == (None, [1])
        other = make_certificate(tmp_path, "127.0.0.1")
        driven, _ = Place(box, {**address, "ssl": {"ca": str(other)}}, connection, DRIVER).drive(0)
        assert driven.error and "SSL error: certificate ver" in driven.error
        connection.close()


def experiment(folder: Path, text: str = TEXT) -> Path:
    (folder / "own").mkdir(exist_ok=True)
    (folder / "own" / "small.postgres.conf").write_text(SMALL)
    (folder / "pg.yaml").write_text(text)
    return folder / "pg.yaml"


@pytest.mark.lake
def test_a_run_prepares_settles_counts_and_says_what_the_server_does_not_count(
    postgres: Build, open_path: Path
) -> None:
    workspace = Workspace(open_path)
    register(postgres, workspace)
    (manifest,) = run_experiment(load_experiment(experiment(open_path)), workspace, Observer()).made
    assert manifest.status == "complete", manifest.error
    assert [action.action for action in manifest.settle] == [
        "VACUUM (ANALYZE, INDEX_CLEANUP ON) sbtest1", "VACUUM (ANALYZE, INDEX_CLEANUP ON) sbtest2", "CHECKPOINT",
    ]  # fmt: skip
    assert manifest.workload["engine"] is None
    counts = {(row["step"], row["row_count"]) for row in table(workspace, "table_counts")}
    assert counts == {("prepare", 500), ("read-write-100.t2", 500), ("scan.t2", 500)}
    lake = reader.lake(workspace)
    said = ib.sysbench_counted_statements(answer(lake, "sysbench_statements", "pg"))
    assert any(text.startswith("pg.small: the server does not count statements by kind") for text in said)


def test_an_engine_ends_an_experiment_before_anything_starts(postgres: Build, open_path: Path) -> None:
    workspace = Workspace(open_path)
    register(postgres, workspace)
    text = TEXT.replace("benchmark: sysbench,", "benchmark: sysbench, engine: innodb,")
    with pytest.raises(ExperimentError, match=r": engine: innodb: PostgreSQL has no storage engines: leave it out$"):
        plan_experiment(load_experiment(experiment(open_path, text)), workspace)
