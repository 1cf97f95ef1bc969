"""Sentences about sysbench: what was run, and what the server counted."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.ask.selection import choose
from ibench_lib.paths import Workspace
from ibench_lib.show.kit.statements import Statement
from ibench_lib.show.kit.what_was_run import clients_said
from ibench_lib.store import reader
from tests.synthetic import Run, answer
from tests.workloads.sysbench.results.runs import PROGRAM, RATES, write

pytestmark = pytest.mark.lake


def test_each_number_of_connections_is_said(lake: Any) -> None:
    post = choose(lake, "demo")
    rates = post.ask("step_throughput").with_columns(connections=pl.col("step").str.extract(r"t(\d+)$").cast(pl.Int64))
    assert clients_said(post.runs, rates) == ["1 client with 1 and 4 connections"]
    two = post.runs.with_columns(clients=pl.lit(2))
    assert clients_said(two, rates) == ["up to 2 clients with 1 and 4 connections in all"]


def test_what_the_server_counted_beyond_is_an_attention_unless_something_was_sent_again(workspace: Workspace) -> None:
    write(workspace, Run("a"), {"oltp_write_only.t1": 20}, wrong=3)
    (said,) = ib.sysbench_counted_statements(answer(reader.lake(workspace), "sysbench_statements"))
    assert (
        isinstance(said, Statement) and said.loud and "the server counted 123 of kind write, but sysbench 120." in said
    )
    write(workspace, Run("b", minute=1), {"oltp_write_only.t1": 20}, wrong=3, retries=1)
    frame = answer(reader.lake(workspace), "sysbench_statements").filter(dbms="system.b")
    assert frame["retries"].to_list() == [2, 2, 2] and ib.sysbench_counted_statements(frame) == []


@pytest.mark.parametrize(("moved", "is_loud"), [(3, False), (-3, True)])
def test_a_write_that_changes_no_row_is_another_statement_to_sysbench(
    workspace: Workspace, moved: int, is_loud: bool
) -> None:
    write(workspace, Run("a"), {"oltp_delete.t1": 20}, moved=moved)
    said = ib.sysbench_counted_statements(answer(reader.lake(workspace), "sysbench_statements"))
    if is_loud:
        assert len(said) == 2 and all(isinstance(one, Statement) and one.loud for one in said)
    else:
        assert said[0].endswith("that sysbench did. It counts a write that changes no row among the other statements.")
        assert len(said) == 1


def test_a_server_that_does_not_count_statements_by_kind_proves_none_and_is_not_called_unread(
    workspace: Workspace,
) -> None:
    write(workspace, Run("a"), {"oltp_write_only.t1": 20})
    frame = answer(reader.lake(workspace), "sysbench_statements")
    assert frame["counts_kinds"].to_list() == [True] * 3
    none = pl.lit(None, pl.Int64)
    (said,) = ib.sysbench_counted_statements(
        frame.with_columns(counted=none, unexplained=none, counts_kinds=pl.lit(False))
    )
    assert said.startswith("system.a: the server does not count statements by kind, so it proves neither")


def test_what_was_run_and_by_which_sysbench(workspace: Workspace) -> None:
    write(workspace, Run("a"), RATES)
    lake = reader.lake(workspace)
    said = ib.sysbench_statements(answer(lake, "sysbench_workload"), answer(lake, "checks"))
    assert said[0] == (
        "cached: 2 tables of 500 rows, rand_type uniform, db_ps_mode auto; 3 tests with 1 and 4 threads, without a "
        "warm-up; sysbench 1.0.20."
    )
    workload = answer(lake, "sysbench_workload").with_columns(warming=["select_random_points"])
    assert (
        "2 tests with 1 and 4 threads, without a warm-up, and 1 that only warm up;"
        in ib.sysbench_statements(workload, answer(lake, "checks"))[0]
    )
    assert any("passed the checks: the tables have as many rows as were prepared" in text for text in said)
    write(workspace, Run("b", minute=1), RATES, program=PROGRAM | {"version": "sysbench 1.1.0", "sha256": "b" * 64})
    lake = reader.lake(workspace)
    said = ib.sysbench_statements(answer(lake, "sysbench_workload"), answer(lake, "checks"))
    (warned,) = (text for text in said if "by one sysbench" in text)
    assert isinstance(warned, Statement) and warned.loud and "by 2: sysbench 1.0.20 and sysbench 1.1.0." in warned


def test_tables_of_a_script_of_its_own_are_not_said_to_be_unrecorded(workspace: Workspace) -> None:
    write(workspace, Run("a"), RATES)
    lake = reader.lake(workspace)
    asked, none = answer(lake, "sysbench_workload"), answer(lake, "checks").clear()
    assert "it is not recorded which checks" in ib.sysbench_statements(asked, none)[-1]
    said = ib.sysbench_statements(asked.with_columns(prepared_by=pl.lit("tpcc")), none)
    assert said[0].startswith("cached: tables that tpcc has made,")
    assert said[-1].endswith("completed; no rows were counted, because a script of its own made the tables.")


def test_what_a_script_of_ones_own_sends_is_not_held_against_the_server(workspace: Workspace) -> None:
    write(workspace, Run("a"), {"oltp_write_only.t1": 20}, wrong=3)
    frame = answer(reader.lake(workspace), "sysbench_statements")
    assert ib.sysbench_counted_statements(frame) != []
    assert ib.sysbench_counted_statements(frame.with_columns(pl.lit("your own").alias("test_group"))) == []
