"""The steps that sysbench runs, and the specification of its process."""

import json
from dataclasses import asdict

from ibench_lib.client.spec import Spec
from ibench_lib.workloads.sysbench import steps
from ibench_lib.workloads.sysbench.options import Setup
from tests.workloads.sysbench.test_options import options

SETUP = Setup(name="s", tables=2, table_size=1000, seconds=10.0, warm_up=2.0)


def test_each_test_runs_with_each_number_of_threads_after_a_warm_up() -> None:
    planned = steps.plan(options(tests=["oltp_read_write", "oltp_read_only"], threads=[1, 16]), SETUP, 0.5)
    assert [(step.name, step.kind, step.seconds) for step in planned] == [
        ("prepare", "prepare", None),
        ("oltp_read_write.t1.warm_up", "warm_up", 1.0), ("oltp_read_write.t1", "test", 5.0),
        ("oltp_read_write.t16.warm_up", "warm_up", 1.0), ("oltp_read_write.t16", "test", 5.0),
        ("oltp_read_only.t1.warm_up", "warm_up", 1.0), ("oltp_read_only.t1", "test", 5.0),
        ("oltp_read_only.t16.warm_up", "warm_up", 1.0), ("oltp_read_only.t16", "test", 5.0),
    ]  # fmt: skip
    assert {(step.tables, step.table_size) for step in planned} == {(2, 500)}
    assert [step.kind for step in planned] == [steps.kind_of(step.name) for step in planned]
    assert {step.churns for step in planned if "read_write" in step.name} == {True}
    assert not any(step.churns for step in planned if "read_only" in step.name)


def test_without_a_warm_up_there_is_no_such_step() -> None:
    planned = steps.plan(options(), SETUP.model_copy(update={"warm_up": 0.0}), 1.0)
    assert [step.name for step in planned] == ["prepare", "oltp_point_select.t1"]


def test_rows_are_counted_where_a_test_does_not_change_their_number() -> None:
    chosen = options(tests=["oltp_write_only", "oltp_insert"])
    counted = {step.name: len(steps.checks(chosen, step, {})) for step in steps.plan(chosen, SETUP, 1.0)}
    assert counted["prepare"] == counted["oltp_write_only.t1"] == 2 and counted["oltp_insert.t1"] == 0


def test_tables_are_prepared_again_after_a_test_that_changes_their_rows() -> None:
    chosen = options(tests=["oltp_insert", "oltp_read_only", "oltp_delete"], threads=[1, 2])
    planned = steps.plan(chosen, SETUP.model_copy(update={"warm_up": 0.0}), 1.0)
    assert [step.name for step in planned] == [
        "prepare", "oltp_insert.t1", "prepare.2", "oltp_insert.t2",
        "prepare.3", "oltp_read_only.t1", "oltp_read_only.t2", "oltp_delete.t1", "prepare.4", "oltp_delete.t2",
    ]  # fmt: skip
    assert [step.kind for step in planned] == [steps.kind_of(step.name) for step in planned]
    assert [name for name in steps.names(chosen) if not name.endswith(steps.WARM_UP)] == [step.name for step in planned]
    assert [len(steps.checks(chosen, step, {})) for step in planned if step.kind == "prepare"] == [2] * 4


def test_a_test_that_fills_empty_tables_gets_its_own_each_time_and_no_warm_up() -> None:
    chosen = options(tests=["oltp_read_only", "bulk_insert", "oltp_read_write"], threads=[1, 3])
    planned = steps.plan(chosen, SETUP, 1.0)
    assert [step.name for step in planned if step.kind != "warm_up"] == [
        "prepare", "oltp_read_only.t1", "oltp_read_only.t3", "prepare.2", "bulk_insert.t1", "prepare.3",
        "bulk_insert.t3", "prepare.4", "oltp_read_write.t1", "oltp_read_write.t3",
    ]  # fmt: skip
    named = {step.name: step for step in planned}
    assert "bulk_insert.t3.warm_up" not in named and steps.names(chosen) == [*named]
    kinds = [named[name].kind for name in ("prepare", "prepare.3", "prepare.4")]
    assert kinds == ["prepare", "prepare_empty", "prepare"]
    made = steps.spec(chosen, named["prepare.3"], steps.workers(chosen, named["prepare.3"])[0], 6).details
    assert (made["command"], made["script"], made["threads"]) == ("prepare", "bulk_insert", 3)
    assert steps.checks(chosen, named["prepare.3"], {}) == []
    (check,) = steps.checks(chosen, named["bulk_insert.t3"], {"bulk_insert.t1": 7, "bulk_insert.t3": 12})
    assert (check.expected, check.rule, check.table) == (12, steps.INSERTED, None)
    assert check.statement.count("COUNT(*)") == 3
    assert steps.checks(options(tests=["bulk_insert"], count_rows=False), named["bulk_insert.t3"], {}) == []


def test_names_that_are_no_step_have_no_kind() -> None:
    names = ("prepare.1", "prepare.", "prepare.t1", "oltp_read_only", "oltp_read_only.t", "t4", "load")
    assert [steps.kind_of(name) for name in names] == [None] * len(names)
    assert steps.kind_of("tpcc.t4") == "test", "a test of others that is known by its name"


def test_each_step_has_a_seed_of_its_own_and_a_specification_that_is_plain_data() -> None:
    chosen = options(seed=7)
    specs = [
        steps.spec(chosen, step, steps.workers(chosen, step)[0], number)
        for number, step in enumerate(steps.plan(chosen, SETUP, 1.0))
    ]
    assert [Spec.of(json.loads(json.dumps(asdict(spec)))).seed for spec in specs] == [7, 8, 9]
