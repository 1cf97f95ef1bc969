import pytest

from ibench_lib.errors import ExperimentError
from ibench_lib.workloads.tpcc.parts import (
    STATEMENTS_OF_DISTRICT,
    STATEMENTS_OF_FIRST_DISTRICT,
    STATEMENTS_OF_ITEM_PART,
)
from ibench_lib.workloads.tpcc.steps import KINDS, disk_bytes, plan, spec, work, workers
from tests.workloads.tpcc.warehouse import options, setup


def test_a_run_has_four_steps_and_scale_shrinks_warehouses_and_seconds() -> None:
    steps = plan(options(rate=100.0), setup(warehouses=10, seconds=60.0, ramp_up=8.0), 0.5)
    assert [(step.name, step.seconds, step.target_per_s) for step in steps] == [
        ("load", None, None), ("index", None, None), ("ramp_up", 4.0, 50.0), ("run", 30.0, 50.0),
    ]  # fmt: skip
    assert {step.warehouses for step in steps} == {5}
    assert [step.churns for step in steps] == [False, False, True, True]
    assert [made.amount is None for made in work(steps)] == [False, False, True, True]
    assert disk_bytes(options(), []) == 0 < disk_bytes(options(), steps[:1]) < disk_bytes(options(), steps)


def test_terminals_are_shared_by_the_processes() -> None:
    for terminals, clients, expected in ((7, 3, [3, 2, 2]), (2, 4, [1, 1]), (64, 2, [32, 32])):
        chosen, size = options(clients=clients), setup(terminals=terminals, sets=2)
        load, index, _, run = plan(chosen, size, 1.0)
        made = workers(chosen, run)
        assert [worker.connections for worker in made] == expected
        assert [worker.client for worker in made] == list(range(1, len(expected) + 1))
        assert len(workers(chosen, load)) == clients and len(workers(chosen, index)) == 2


def test_processes_share_a_rate_and_the_statements_of_the_load() -> None:
    chosen = options(clients=2, rate=50.0)
    steps = plan(chosen, setup(terminals=4, warehouses=3), 1.0)
    ticks = [spec(chosen, steps[3], worker, 3).tick_ns for worker in workers(chosen, steps[3])]
    assert ticks == [40_000_000, 40_000_000]
    alone = options(clients=1)
    sent = [
        sum(spec(each, steps[0], worker, 0).statements or 0 for worker in workers(each, steps[0]))
        for each in (chosen, alone)
    ]
    assert sent[0] == sent[1]


def test_the_forecast_knows_that_terminals_think() -> None:
    """At 20.7 s a transaction, ten terminals make half a transaction a second, where 500 are assumed without a rate."""
    size = setup(warehouses=1, terminals=10, seconds=3600.0, ramp_up=60.0)
    fast, paced, thinking, quick = (options(**more) for more in ({}, {"rate": 10 / 20.7}, {"think_time": 1.0},
                                                                 {"think_time": 1e-6}))  # fmt: skip
    steps = plan(fast, size, 1.0)
    assert disk_bytes(thinking, steps) == pytest.approx(disk_bytes(paced, steps), rel=1e-3)
    assert disk_bytes(thinking, steps) < disk_bytes(fast, steps) == disk_bytes(quick, steps)
    long = setup(warehouses=1, terminals=10, seconds=36_000.0)
    assert plan(thinking, long, 1.0)[3].target_per_s is None
    with pytest.raises(ExperimentError, match="overflow"):
        plan(fast, long, 1.0)


def test_the_largest_load_is_planned_without_going_through_its_parts() -> None:
    """These are 328 million parts: a plan that goes through them takes minutes, and more memory than there is."""
    chosen, size = options(clients=3), setup(sets=1000, warehouses=32_767)
    steps = plan(chosen, size, 1.0)
    sent = [spec(chosen, steps[0], worker, 0).statements or 0 for worker in workers(chosen, steps[0])]
    of_warehouse = 10 * STATEMENTS_OF_DISTRICT + STATEMENTS_OF_FIRST_DISTRICT
    assert sum(sent) == 1000 * (10 * STATEMENTS_OF_ITEM_PART + 32_767 * of_warehouse)
    assert disk_bytes(chosen, steps) > 1000 * 32_767 * (100 << 20)


def test_there_are_no_more_loaders_than_districts() -> None:
    chosen, size = options(clients=16), setup(warehouses=1)
    load = plan(chosen, size, 1.0)[0]
    loaders = workers(chosen, load)
    assert [worker.client for worker in loaders] == list(range(1, 11))
    assert all((spec(chosen, load, worker, 0).statements or 0) > 0 for worker in loaders)


def test_a_rate_is_that_of_all_terminals_also_if_there_are_fewer_of_them_than_processes() -> None:
    chosen = options(clients=4, rate=100.0)
    run = plan(chosen, setup(terminals=2), 1.0)[3]
    assert run.target_per_s is not None and chosen.clients * run.target_per_s == 100.0
    ticks = [spec(chosen, run, worker, 3).tick_ns or 0 for worker in workers(chosen, run)]
    assert sum(1e9 / tick for tick in ticks) == pytest.approx(100.0) and len(ticks) == 2


def test_terminals_at_home_pay_to_their_own_warehouses_only() -> None:
    """One terminal of a hundred warehouses: 7.8 million payments are 0.08 million to each, or all to its own."""
    size = setup(warehouses=100, terminals=1, seconds=36_000.0)
    assert len(plan(options(), size, 1.0)) == 4
    with pytest.raises(ExperimentError, match=r"7\.8 million payments to each warehouse"):
        plan(options(home="fixed"), size, 1.0)


def test_the_ramp_up_is_no_result() -> None:
    assert {kind.name: kind.compared for kind in KINDS} == {"load": True, "index": True, "ramp_up": False, "run": True}
