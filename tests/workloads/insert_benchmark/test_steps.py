"""The steps of the Insert Benchmark: their order, sizes, clocks and what comes before them."""

from ibench_lib.workloads.insert_benchmark.options import PRESET_SETUPS
from ibench_lib.workloads.insert_benchmark.steps import described, plan
from ibench_lib.workloads.insert_benchmark.workers import spec as spec_of
from ibench_lib.workloads.insert_benchmark.workers import workers
from tests.workloads.insert_benchmark.options import SETUP, options


def test_plan_scales_rows_and_seconds_in_whole_statements() -> None:
    steps = plan(options(steps=["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp500"]), PRESET_SETUPS["cached"], 0.001)
    by_name = {step.name: step for step in steps}
    assert (by_name["l.i0"].amount, by_name["l.i0"].rows_per_commit, by_name["l.i0"].deletes) == (20_000, 100, False)
    assert (by_name["l.i1"].amount, by_name["l.i1"].rows_per_commit, by_name["l.i1"].deletes) == (200_000, 50, True)
    assert (by_name["l.i2"].amount, by_name["l.i2"].rows_per_commit) == (20_000, 5)
    assert (by_name["qr100"].seconds, by_name["qr100"].target_per_s, by_name["qr100"].query) == (7.0, 100.0, "range")
    assert (by_name["qp500"].target_per_s, by_name["qp500"].query) == (500.0, "point")
    assert by_name["l.x"].kind == "index"


def test_the_clock_of_the_rows_goes_on_from_step_to_step() -> None:
    names = ["l.i0", "l.x", "l.i1", "qr100", {"step": "l.i2", "rows": 4_001}, "qp500", {"step": "l.i1", "name": "last"}]
    steps = plan(options(steps=names), SETUP, 1.0)
    # Blocks of 2,000 rows: 1,000 rows; none; 1,000; 100/s for 10 s in statements of 50; 4,000; 500/s for 10 s.
    assert [step.clock_s for step in steps] == [0, 1, 1, 2, 3, 5, 8]
    for step_id, step in enumerate(steps):
        assert all(
            spec_of(options(), step, w, step_id).details["clock_s"] == step.clock_s for w in workers(options(), step)
        )


def test_a_tiny_scale_still_does_one_statement() -> None:
    steps = plan(options(), PRESET_SETUPS["cached"], 1e-9)
    assert [step.amount for step in steps] == [100, None, 50, None]
    assert steps[3].seconds == 1.0


def test_presets_are_the_lists_of_the_reports() -> None:
    names = {year: [step.name for step in plan(options(steps=year), SETUP, 1.0)] for year in ("2023", "2025", 2023)}
    assert names["2023"] == names[2023] == ["l.i0", "l.x", "l.i1", "qr100", "qr500", "qr1000"]
    assert names["2025"][:4] == ["l.i0", "l.x", "l.i1", "l.i2"]
    assert names["2025"][4:] == ["qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000"]


def test_steps_written_out_change_what_they_name() -> None:
    steps = ["l.i0", "l.x", {"step": "l.i1", "name": "slow", "rows": 3000, "rate": 200, "rows_per_commit": 20}]
    chosen = options(steps=[*steps, "l.i1", {"step": "qp700", "seconds": 4}], queriers=3, clients=1)
    slow, plain, points = plan(chosen, SETUP, 0.5)[2:]
    assert (slow.name, slow.form, slow.amount, slow.rows_per_commit, slow.target_per_s) == (
        "slow",
        "l.i1",
        1500,
        20,
        200.0,
    )
    assert (plain.name, plain.amount, plain.target_per_s) == ("l.i1", 500, None)
    assert (points.seconds, points.target_per_s) == (2.0, 700.0)
    specs = [spec_of(chosen, slow, worker, 2) for worker in workers(chosen, slow)]
    assert [(item.statements, item.tick_ns) for item in specs] == [(75, 100_000_000)] * 2
    names = [worker.name for worker in workers(chosen, points)]
    assert names == ["client 1 inserter", "client 1 deleter", *[f"client 1 querier{n}" for n in ("", " 2", " 3")]]


def test_settling_comes_once_between_writes_and_queries() -> None:
    chosen = options(steps="2025", settle="flush")
    assert [step.name for step in plan(chosen, SETUP, 1.0) if step.settle_before] == ["qr100"]
    only_writes = options(steps=["l.i0", "l.x", "l.i1"], settle="flush")
    assert not [step for step in plan(only_writes, SETUP, 1.0) if step.settle_before]


def test_the_original_settles_for_a_minute_and_a_second_a_million_rows() -> None:
    chosen = options(steps="2025", settle="original", clients=2)
    steps = plan(chosen, SETUP, 1.0)
    (settled,) = [step for step in steps if step.settle_before]
    rows = 2 * (steps[0].amount or 0)  # each step after the load deletes as many rows as it inserts
    assert (settled.name, settled.settle_s) == ("qr100", 60 + rows / 1e6)
    assert described(settled)["settle_s"] == settled.settle_s
    until_clean = [step for step in plan(options(settle="flush"), SETUP, 1.0) if step.settle_before]
    assert [step.settle_s for step in until_clean] == [None] and "settle_s" not in described(until_clean[0])
