from typing import Any

import pytest

from ibench_lib.workloads.linkbench import steps
from ibench_lib.workloads.linkbench.options import Options, Setup

SETUP = Setup(name="one", nodes=1000, seconds=10.0, warm_up=4.0)


def options(**more: Any) -> Options:
    return Options(benchmark="linkbench", **{"degree_tail": "scaled", **more})


def test_a_sweep_has_a_step_for_each_number_of_requesters_and_repeats_the_first() -> None:
    given = options(requesters=[2, 8], secondary_index="after")
    found = steps.plan(given, SETUP, 0.5)
    assert [(step.name, step.kind, step.requesters, step.seconds) for step in found] == [
        ("load", "load", 0, None), ("index", "index", 0, None), ("warm_up", "warm_up", 8, 2.0),
        ("t2", "requests", 2, 5.0), ("t8", "requests", 8, 5.0), ("control", "control", 2, 5.0),
    ]  # fmt: skip
    assert {step.nodes for step in found} == {500}
    assert [steps.kind_of(step.name) for step in found] == [step.kind for step in found]
    assert steps.kind_of("ramp_up") is steps.kind_of("t") is None


def test_each_repeat_but_the_first_has_an_order_of_its_own_and_control_repeats_its_first_step() -> None:
    given = options(requesters=[1, 2, 4, 8, 16])
    names, orders = steps.names(given)[2:-1], []
    for repeat in (1, 2, 3, 2):
        found = steps.plan(given.in_repeat(repeat), SETUP, 1.0)
        assert [step.name for step in found[:2]] == ["load", "warm_up"] and found[1].requesters == 16
        assert sorted(step.name for step in found[2:-1]) == sorted(names)
        assert found[-1].name == "control" and found[-1].requesters == found[2].requesters
        orders.append([step.name for step in found[2:-1]])
    assert orders[0] == names and orders[1] == orders[3]
    assert len({tuple(order) for order in orders}) == 3
    assert all(options(requesters=[1, 2]).in_repeat(repeat).requesters == [2, 1] for repeat in range(2, 9))
    assert options(requesters=[1]).in_repeat(2).requesters == [1]
    assert options(requesters=[1, 2, 4, 8, 16], seed=2).in_repeat(2).requesters != given.in_repeat(2).requesters


@pytest.mark.parametrize(("requesters", "connections"), [(1, [1]), (2, [1, 1]), (5, [3, 2]), (128, [64, 64])])
def test_processes_share_the_requesters(requesters: int, connections: list[int]) -> None:
    given = options(requesters=[requesters], rate=100.0)
    step = steps.plan(given, SETUP, 1.0)[2]
    found = steps.workers(given, step)
    assert [worker.connections for worker in found] == connections
    specs = [steps.spec(given, step, worker, 2) for worker in found]
    assert {spec.tick_ns for spec in specs} == {len(found) * 10_000_000}


def test_loaders_send_each_statement_once() -> None:
    totals = []
    for clients in (1, 3):
        given = options(clients=clients)
        step = steps.plan(given, SETUP, 1.0)[0]
        found = [steps.spec(given, step, worker, 0).statements or 0 for worker in steps.workers(given, step)]
        totals.append(sum(found))
    assert totals[0] == totals[1] > 0


def test_the_forecast_is_about_a_kilobyte_for_each_node_of_a_large_graph() -> None:
    setup = Setup(name="one", nodes=100_000, seconds=1.0, warm_up=1.0)
    given = options()
    found = steps.disk_bytes(given, steps.plan(given, setup, 1.0))
    assert 100e6 < found < 140e6 and steps.disk_bytes(given, []) == 0
