"""Sentences about the workload and its steps."""

from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.analysis.against import against_base
from ibench_lib.paths import Workspace
from ibench_lib.show.kit.table_cells import factor_text
from tests.show.saying import frame_of, made_of, spoken, step
from tests.synthetic import Run, write_runs

pytestmark = pytest.mark.lake

FULL: dict[str, Any] = {
    "clients": 2, "engine": "innodb", "data_length": [10, 20], "protocol": "prepared", "transport": "socket",
    "settle": "flush", "count_rows": True, "queriers": 1, "query_rows": 10, "secondary_indexes": 3,
    "rocksdb_bulk_load": False, "tables_used": ["pi1", "pi2"],
}  # fmt: skip


@pytest.mark.slow
def test_the_benchmark_is_told_as_it_was_run(workspace: Workspace) -> None:
    def cached(manifest: dict[str, Any]) -> None:
        io_bound = manifest["cell"]["setup"] == "io_bound"
        manifest["workload"] = FULL | {
            "resolved_steps": [
                step("l.i0", "load", rows=500 if io_bound else 20, rows_per_commit=100),
                step("l.i1", "write", rows=50, rate=40.0),
                step("qr100", "query", seconds=7200.0, rate=100.0, settle_before=True),
                step("qr500", "query", seconds=7200.0, rate=500.0, long_transaction=True),
            ]
        }

    made_of(workspace, Run(), Run("b", minute=1), Run(setup="io_bound", minute=2), change=cached)
    assert spoken(workspace, ib.insert_benchmark_statements, ib.step_statements) == [
        "2 clients, each with its own table (InnoDB, 10 to 20 bytes in column data, prepared "
        "statements over a Unix socket); each client has its own processes and connections. After each step, the "
        "server&#x27;s COUNT(*) is compared with the rows that the clients&#x27; statements leave.",
        "l.i0: inserts rows in primary key order, without secondary indexes, 100 per statement; 20 rows per client in "
        "cached, 500 rows per client in io_bound.",
        "l.i1: inserts rows at the head of each table and deletes the same number at its tail, with all "
        "indexes, 50 per "
        "statement, at most 40 rows/s per client; 50 rows per client.",
        "qr100, qr500: 1 process per client runs range queries of up to 10 rows as fast as possible, while each client "
        "also inserts and deletes 100, 500 rows/s, 50 per statement; 7,200 s.",
        "Before qr100 the database is settled: statistics are updated and dirty pages are flushed.",
        "During qr500, a transaction with a read view stays open.",
    ]
    assert [line[:5] for line in spoken(workspace, ib.step_statements, steps=["l.i1"])] == ["l.i1:"]


def test_a_workload_of_which_little_is_known_is_told_in_few_words(workspace: Workspace) -> None:
    write_runs(workspace, Run())
    assert spoken(workspace, ib.insert_benchmark_statements) == [
        "2 clients; each client has its own processes and connections."
    ]
    assert len(spoken(workspace, ib.step_statements)) == 4


@pytest.mark.slow
def test_runs_of_two_editions_are_not_mixed_silently(workspace: Workspace) -> None:
    def second(manifest: dict[str, Any]) -> None:
        manifest["workload"] = FULL | ({"edition": 2} if manifest["cell"]["config"] == "b" else {})

    made_of(workspace, Run(), Run(repeat=2, minute=1), Run("b", minute=2), change=second)
    one, attention = spoken(workspace, ib.insert_benchmark_statements)
    assert one.startswith("2 clients")
    assert attention.startswith(
        "Attention: The client of this benchmark changed between these runs: 2 runs of edition 1 and 1 run of "
        "edition 2. "
    )
    assert len(spoken(workspace, ib.insert_benchmark_statements, dbms=["*.b"])) == 1


@pytest.mark.slow
def test_sentences_of_one_setup_say_which_server_each_is_of(workspace: Workspace) -> None:
    """A server without storage engines has none of that name."""

    def of_family(manifest: dict[str, Any]) -> None:
        manifest["workload"] = FULL | ({"engine": None} if manifest["cell"]["build"] == "pg" else {})

    runs = (Run(), Run("cold", minute=1), Run(build="pg", minute=2), Run(build="pg", setup="io_bound", minute=3))
    made_of(workspace, *runs, change=of_family)
    ours, theirs = spoken(workspace, ib.insert_benchmark_statements)
    assert ours.startswith("cached with system.cold, system.cy10a: 2 clients, each with its own table (InnoDB, 10 ")
    assert theirs.startswith("cached with pg.cy10a and io_bound: 2 clients, each with its own table (10 to 20 bytes ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flavours", "settle_s", "said"),
    [
        (("mysql", "mariadb"), 61.0, "statistics are updated and dirty pages are flushed for 61 s."),
        (("postgres",), None, "tables are vacuumed and a checkpoint writes all pages."),
        (
            ("mysql", "postgres"), 61.0,
            "statistics are updated and dirty pages are flushed for 61 s; on PostgreSQL, tables are vacuumed and a "
            "checkpoint writes all pages, then nothing is sent for 61 s.",
        ),
    ],
)  # fmt: skip
def test_each_family_is_settled_in_its_own_way(
    workspace: Workspace, flavours: tuple[str, ...], settle_s: float | None, said: str
) -> None:
    def settled(manifest: dict[str, Any]) -> None:
        query = step("qr100", "query", seconds=5.0, rate=100.0, settle_before=True, settle_s=settle_s)
        manifest["workload"] = FULL | {"resolved_steps": [query]}

    runs = [Run(build=flavour, flavour=flavour, minute=minute) for minute, flavour in enumerate(flavours)]
    made_of(workspace, *runs, change=settled)
    assert spoken(workspace, ib.step_statements)[-1] == f"Before qr100 the database is settled: {said}"


@pytest.mark.slow
def test_the_time_to_settle_is_told_with_what_took_it(workspace: Workspace) -> None:
    def settled(manifest: dict[str, Any]) -> None:
        if manifest["cell"]["config"] == "none":
            return
        seconds = {1: 2.0, 2: 4.0, 3: 3.0}[manifest["cell"]["repeat"]]
        actions = {"VACUUM (ANALYZE) pi1": seconds, "VACUUM (ANALYZE) pi2": 1.0, "CHECKPOINT": 0.5}
        manifest["settle"] = [
            {"before_step": "qr100", "action": action, "seconds": took, "result": "done"}
            for action, took in actions.items()
        ]

    runs = [Run("a", repeat=repeat, minute=repeat) for repeat in (1, 2, 3)]
    made_of(workspace, *runs, Run("none", minute=9), change=settled)
    assert spoken(workspace, ib.settling_statements) == [
        "cached: to settle the database before qr100 took 4.5 s with system.a (VACUUM 4.0 s, CHECKPOINT 0.5 s)."
    ]
    assert spoken(workspace, ib.settling_statements, dbms=["*.none"]) == []
    assert spoken(workspace, ib.settling_statements, steps=["l.i1"]) == []


def test_get_min_far_from_the_base_is_told_with_what_purge_had_left() -> None:
    seconds = frame_of("get_min_s", "qr", base=[0.4, 0.5, 0.3], quick=[0.003, 0.004, 0.003], alike=[0.1, 0.2, 0.3])
    before = frame_of("history_list_length", base=[9000, 11000, 10000], quick=[6, 4, 38], alike=[5, None, 5])
    found = against_base(seconds, "base", ["get_min_s"])["cached", "qr", "get_min_s", "quick"].inverse
    assert found.low and found.high
    told_of_it = (
        "cached, qr: get_min took 400.0 ms with base (median of 3 runs, history list 10,000 at the end of l.i1). "
        f"That is 119x [{factor_text(found.low)}, {factor_text(found.high)}] slower than with quick (3.0 ms, history "
        "list 6)."
    )
    after = before.with_columns(step_id=pl.col("step_id") - 1)  # not that of the step right before
    seconds = seconds.with_columns(step_id=pl.lit(3))
    assert ib.mvcc_gc_statements(seconds, before.with_columns(step_id=pl.lit(2)), "base")[:1] == [told_of_it]
    assert "history" not in ib.mvcc_gc_statements(seconds, after, "base")[0]
    other, chance = ib.mvcc_gc_statements(seconds, before.with_columns(step_id=pl.lit(2)), "quick")
    assert "a t test with the noise of all selected configurations and steps of a setup" in chance
    assert other.startswith("cached, qr: get_min took 3.0 ms with quick (median of 3 runs, history list 6")
    assert " It was 119x [" in other and "slower with base (400.0 ms, history list 10,000" in other
    assert "alike" not in told_of_it
    # Noise that reaches below ten times, and little time whatever the ratio, are nothing to tell.
    noisy = frame_of("get_min_s", "qr", base=[0.4, 0.02, 0.5], quick=[0.003, 0.004, 0.003])
    little = frame_of("get_min_s", "qr", base=[0.09], quick=[0.0001])
    for frame in (noisy, little):
        assert ib.mvcc_gc_statements(frame, before.clear(), "base") == []
