"""What is said of the difference of two dbms, and what is not."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace
from typing import Any

import pytest

import ibench_lib as ib
from ibench_lib.analysis.explain import _response, _terms, explain, explained_steps
from ibench_lib.analysis.explanation import Explanation, Function, as_json
from ibench_lib.errors import ParameterError
from ibench_lib.paths import Workspace
from ibench_lib.show.explain.wording import around_text, us
from ibench_lib.store import reader
from tests.analysis.explaining import ENGINE, MAIN, pair_runs, profile, slowed
from tests.ask.pairs import pair_of
from tests.places import ROOT
from tests.shared import lake_of
from tests.synthetic import Run, write_other_run

pytestmark = [pytest.mark.lake, pytest.mark.slow]


def explained(*runs: Run, step: str = "l.i0") -> Explanation:
    return explain(pair_of(*runs), step)


def function(found: tuple[Function, ...], name: str) -> Function:
    return next(one for one in found if one.cost.name == name)


def test_the_rate_is_cpu_in_use_over_cpu_per_operation_exactly() -> None:
    rng = random.Random(7)
    wanted = (("throughput", "rate", "/s"), ("cpus_used", "CPU in use", "CPUs"), ("cpu_us", "CPU per operation", "us"))
    for _ in range(200):
        sides = []
        for _side in range(2):
            rows = []
            for repeat in range(rng.randint(1, 5)):
                used, rate = rng.lognormvariate(0, 1), rng.lognormvariate(8, 3)
                rows.append({"repeat": repeat, "throughput": rate, "cpus_used": used, "cpu_us": 1e6 * used / rate})
            sides.append(rows)
        rate, use, cost = _terms(wanted, sides, lambda _: None)
        assert abs(rate.log - (use.log - cost.log)) < 1e-9
        assert rate.a == pytest.approx(1e6 * use.a / cost.a) and rate.b == pytest.approx(1e6 * use.b / cost.b)


@pytest.mark.long
def test_it_holds_in_every_step_of_the_sample(workspace: Workspace) -> None:
    workspace.data.mkdir(parents=True, exist_ok=True)
    workspace.sample.symlink_to(ROOT / "data" / "sample")
    chosen = ib.choose(reader.lake(workspace), "innodb_purge_lag_sample")
    names = chosen.runs["dbms"].unique().sort().to_list()
    compared = ib.pair(chosen, names[0], names[1])
    steps = explained_steps(compared)
    taken_apart = 0
    for setup, step in steps:
        found = explain(compared, step, setup)
        if not found.rate:  # a short step that older samples do not cover
            assert any("the host's CPU was not captured" in line for line in found.cannot)
            continue
        taken_apart += 1
        rate, use, cost = found.rate
        assert abs(rate.log - (use.log - cost.log)) < 1e-9
        assert sum(part.a or 0 for part in found.cpu) == pytest.approx(sum(cost.by_run[0]) / len(cost.by_run[0]))
        assert found.response or any("what a statement waits for" in line for line in found.cannot)
    assert taken_apart >= 1


def test_steps_are_asked_about_once() -> None:
    runs = pair_runs(None, None)
    compared = ib.pair(ib.choose(lake_of(*runs), "demo", steps=["l.i0"]))
    found = explain(compared, "l.i0")
    assert [asked.parameters["steps"] for asked in compared.asked if asked.question == "explain_steps"] == [[]]
    assert as_json(found) == as_json(explain(ib.pair(ib.choose(lake_of(*runs), "demo")), "l.i0"))


def test_parts_sum_to_the_whole() -> None:
    found = explained(*pair_runs(ENGINE, slowed(ENGINE, "rec_get_offsets", 2), user=(8.0, 9.0)))
    rate, use, cost = found.rate
    assert rate.a == pytest.approx(2000) and found.rate_label == "inserts/s"
    assert abs(rate.log - (use.log - cost.log)) < 1e-9
    assert sum(part.a or 0 for part in found.cpu) == pytest.approx(sum(cost.by_run[0]) / 3)
    server = sum(part.b or 0 for part in found.cpu[:2])
    assert server == pytest.approx(1e6 * (9.0 + 2.0) / 20_000)
    assert sum(one.b for one in found.subsystems) == pytest.approx(server), "parts of the server are all of its CPU"
    assert sum(one.cost.b for one in found.self_costs) == pytest.approx(server)


def test_the_function_that_was_slowed_is_named_first() -> None:
    # 200 of 1,400 samples are 0.5 ms/1000 ops... of 500 us; 200 more of the same size are 71 us more.
    user = (8.0, 8.0 + 10.0 * 200 / 1400)
    found = explained(*pair_runs(ENGINE, slowed(ENGINE, "rec_get_offsets", 2), user=user))
    first = found.self_costs[0]
    assert first.cost.name == "rec_get_offsets_func" and first.cost.is_clear and not first.moved
    assert first.subsystem == "record layer" and first.caller == "btr_cur_optimistic_insert"
    low, high = first.cost.interval or (0.0, 0.0)
    assert low < 500 * 200 / 1400 < high
    assert not function(found.self_costs, "MYSQLparse").cost.is_clear
    assert function(found.self_costs, "MYSQLparse").cost.share_b < 600 / 1400, "its share falls, its cost does not"
    outer = function(found.inclusive_costs, "btr_cur_optimistic_insert")
    assert outer.cost.change == pytest.approx(first.cost.change, rel=0.1) and outer.cost.is_clear
    assert found.subsystems[0].name == "record layer"


def test_what_is_no_longer_inlined_has_moved() -> None:
    outer, inner, *_ = ENGINE
    split = {**ENGINE, outer: 100, inner: 400}  # half of the caller has a name of its own now
    found = explained(*pair_runs(ENGINE, split))
    grown = function(found.self_costs, "rec_get_offsets_func")
    assert grown.cost.is_clear and grown.cost.change > 0
    around = function(found.inclusive_costs, "btr_cur_optimistic_insert").cost
    half = grown.cost.change / 2
    low, high = around.interval or (-math.inf, math.inf)
    assert -half < low < 0 < high < half, "its caller is known to cost the same, within half of the change"
    assert grown.moved and grown.around and grown.around.cost == around and grown.around.within == half
    assert around_text(grown.around) == f"its caller, btr_cur_optimistic_insert, changed by less than ±{us(half)}"
    assert found.self_costs[-1].cost.name != grown.cost.name or not found.self_costs[-1].moved
    clear = [one for one in found.self_costs if one.cost.is_clear]
    assert clear[-1].moved, "what has moved comes after what costs more"


def test_that_work_only_moved_is_not_said_where_the_noise_may_hide_a_change() -> None:
    """A small function that is clear, in a caller and a part of the server whose cost varies by far more than that."""
    small = f"{MAIN};btr_cur_optimistic_insert(unsigned long);rec_copy(unsigned char*)"
    sides = {"cy10a": {**ENGINE, small: 2}, "b": {**ENGINE, small: 60}}
    runs = []
    for run in pair_runs(None, None, rounds=4):
        ours = dict(sides[run.config])
        ours[next(iter(ENGINE))] += (run.repeat % 2) * 300  # the caller by itself: 300 or 600 of 1,400 samples
        runs.append(replace(run, also=(*run.also, *profile(ours))))
    found = explained(*runs)
    grown = function(found.self_costs, "rec_copy")
    assert grown.cost.is_clear and not grown.moved and grown.around
    said = around_text(grown.around)
    assert re.fullmatch(r"its caller, btr_cur_optimistic_insert, changed by \S+ \[-[\d.]+, [\d.]+\]", said)


def test_without_names_only_what_is_around_the_engine_is_told() -> None:
    hidden = {
        stack if "MYSQL" in stack else f"{stack.split(';row_')[0]};[unknown] (mysqld)": n for stack, n in ENGINE.items()
    }
    found = explained(*pair_runs(ENGINE, hidden))
    assert found.self_costs == found.inclusive_costs == ()
    assert {one.name for one in found.subsystems} >= {"parser", "storage engine, and functions without a name"}
    assert "record layer" not in {one.name for one in found.subsystems}
    (said,) = [line for line in found.cannot if "function name" in line]
    assert said.startswith("which functions differ: ") and "% of the CPU samples of system.b have no" in said
    assert found.unknown[0] == 0 and found.unknown[1] > 0.2


def test_one_run_of_each_gives_figures_and_no_intervals() -> None:
    found = explained(*pair_runs(ENGINE, ENGINE, rounds=1))
    assert found.rate and all(term.interval is None and not term.is_clear for term in found.rate)
    assert all(one.cost.interval is None for one in found.self_costs)
    assert any(
        "there are only 1 run of system.cy10a and 1 run of system.b; intervals need 3 runs of each" in line
        for line in found.cannot
    )


def test_a_difference_of_the_clients_is_not_told_from_one_of_the_servers() -> None:
    compiled = (("client core", "compiled 0123456789ab"),)
    runs = pair_runs(None, None)
    assert not [line for line in explained(*runs).cannot if "clients" in line]
    mixed = [replace(run, versions=compiled) if run.config == "b" else run for run in runs]
    found = explained(*mixed)
    assert (
        "which part of the difference is due to the server and which to the clients: the runs had different ones "
        "(Python; compiled 0123456789ab)"
    ) in found.cannot
    assert explained(*(replace(run, versions=compiled) for run in runs)).cannot == explained(*runs).cannot


def test_runs_that_did_not_complete_the_step_are_counted() -> None:
    runs = pair_runs(None, None)
    for broken, said in (
        (1, "1 run of system.b did not complete the step and is left out"),
        (2, "2 runs of system.b did not complete the step and are left out"),
    ):
        failed = [
            Run("b", repeat=9 + n, minute=50 + n, status="failed", failed_step="l.i0", steps=("l.i0",))
            for n in range(broken)
        ]
        assert said in explained(*runs, *failed).notes


def test_without_a_profile_the_reason_is_told() -> None:
    found = explained(*pair_runs(ENGINE, None))
    assert found.self_costs == found.subsystems == () and found.rate
    (said,) = [line for line in found.cannot if line.startswith("which functions take the time")]
    assert "of system.b: the experiment did not ask for it" in said


def test_without_counters_of_the_processor_the_reason_is_told() -> None:
    found = explained(*pair_runs(None, None))
    assert found.processor == ()
    assert "more instructions or slower ones: the processor did" in " ".join(found.cannot)


def test_instructions_cycles_and_clock_give_the_cpu_per_operation() -> None:
    runs = pair_runs(None, None)
    counted = []
    for run in runs:
        more = 1.19 if run.config == "b" else 1.0
        rows = tuple(
            ("perf_counters", {"tick": tick, "t_s": tick + 1.0, "seconds": 1.0, "instructions": round(3e9 * more),
                               "cycles": round(2e9 * more), "cpu_s": 0.8 * more, "running": 0.5})
            for tick in range(1, 10)
        )  # fmt: skip
        counted.append(Run(run.config, repeat=run.repeat, minute=run.minute, also=(*run.also, *rows)))
    work, speed, clock = explained(*counted).processor
    assert work.a == pytest.approx(1_500_000) and work.b / work.a == pytest.approx(1.19) and work.is_clear
    assert speed.a == pytest.approx(2 / 3) and not speed.is_clear
    assert clock.a == pytest.approx(2.5)
    assert work.a * speed.a / (1e3 * clock.a) == pytest.approx(0.8 / 2000 * 1e6), "microseconds of CPU per operation"


def test_queries_next_to_paced_writers_have_no_target_rate() -> None:
    found = explained(*pair_runs(None, None), step="qr100")
    assert not [line for line in found.cannot if line.startswith("why the rate differs")]
    (said,) = [line for line in found.notes if "target rate" in line]
    assert said == "the CPU per operation includes that of the other operations, which have a target rate of their own"
    assert found.rate == () and any("the host's CPU was not captured" in line for line in found.cannot)
    assert not any("target rate" in line for line in explained(*pair_runs(None, None), step="l.i0").notes)


def test_the_rate_of_a_step_whose_main_operation_is_paced_is_not_explained(workspace: Workspace) -> None:
    for minute, config in enumerate(("cy10a", "b")):
        write_other_run(workspace, Run(config, minute=minute))
    compared = ib.pair(ib.choose(reader.lake(workspace), "demo"))
    for step, is_paced in (("load", False), ("run", True)):
        said = [line for line in explain(compared, step).cannot if line.startswith("why the rate differs: the clients")]
        assert bool(said) == is_paced, step


def row(**changes: Any) -> dict[str, Any]:
    figures = {
        "repeat": 1, "statements_per_s": 1000.0, "response_us": 1800.0, "in_flight": 1.8, "connections": 2,
        "server_us": 600.0, "queued_us": 100.0, "read_us": 50.0, "flush_us": 50.0, "wait_us": None, "think_us": 200.0,
    }  # fmt: skip
    return {**figures, **changes}


def test_the_response_time_has_bounded_parts_where_littles_law_holds() -> None:
    parts, why = _response([[row()], [row(in_flight=1.83, server_us=2000.0)]], True)
    assert why == ""
    figures = {part.name: (part.a, part.b) for part in parts}
    assert figures["response_us"] == (1800.0, 1800.0) and figures["rest_us"] == (1000.0, 0.0)
    assert figures["think_us"] == (200.0, 200.0) and "wait_us" not in figures
    qualities = {part.name: part.quality for part in parts}
    assert qualities["server_us"] == "upper bound" and qualities["rest_us"] == "lower bound"


@pytest.mark.parametrize("wrong", [{"in_flight": 1.7}, {"in_flight": 1.9}, {"connections": 1}])
def test_there_is_no_such_table_where_it_does_not(wrong: dict[str, Any]) -> None:
    parts, why = _response([[row()], [row(**wrong)]], True)
    assert parts == () and "Little's law" in why
    parts, why = _response([[row()], [row(in_flight=None)]], True)
    assert parts == () and "were not counted" in why


def test_the_order_of_the_runs_changes_nothing() -> None:
    runs = pair_runs(ENGINE, slowed(ENGINE, "rec_get_offsets", 2))
    assert as_json(explained(*runs)) == as_json(explain(ib.pair(ib.choose(lake_of(*runs[::-1]), "demo")), "l.i0"))


def test_what_cannot_be_explained_is_refused() -> None:
    runs = pair_runs(None, None)
    with pytest.raises(ParameterError, match=r"no setup has a complete l\.i9 of both system\.cy10a and system\.b"):
        explain(pair_of(*runs), "l.i9")
    with pytest.raises(ParameterError, match="only one dbms"):
        explain(pair_of(runs[0]), "l.i0")
    assert explained_steps(pair_of(runs[0])) == []
    assert ("cached", "l.i0") in explained_steps(pair_of(*runs))


def test_what_the_names_of_the_two_do_not_say_is_noted() -> None:
    """A variable that is written differently, that is noise, or that one server does not have is left out."""
    same = {"innodb_io_capacity": "200", "innodb_checksum_algorithm": "innodb", "innodb_only_here": "1"}
    of_a = (*same.items(), ("innodb_buffer_pool_instances", "16"), ("sort_buffer_size", "1"), ("innodb_version", "5.6"))
    of_b = (
        ("innodb_io_capacity", "200.000"),
        ("innodb_checksum_algorithm", "INNODB"),
        ("innodb_buffer_pool_instances", "1"),
        ("sort_buffer_size", "2"),
        ("innodb_version", "10.1"),
    )

    def said(*variables: tuple[tuple[str, str], ...]) -> list[str]:
        runs = [replace(run, variables=variables[run.config == "b"]) for run in pair_runs(None, None)]
        return [note for note in explained(*runs).notes if "variables of InnoDB" in note]

    assert said(of_a, of_b) == [
        "variables of InnoDB that both have and that differ (A; B): buffer_pool_instances (16; 1)"
    ]
    assert said(of_a, of_a) == []
    many = [tuple((f"innodb_{letter}", value) for letter in "abcdefghij") for value in "12"]
    (note,) = said(*many)
    assert note.endswith("h (1; 2) and 2 more, which `ibench compare` lists")


def test_recordings_that_do_not_stand_for_the_step_are_noted_with_the_range_of_all_runs() -> None:
    """In the sample 127 % is one run of 5.6.24; those of 9.7 have 108 to 115 %."""
    chosen = ib.choose(reader.lake(str(ROOT / "data" / "sample")), "regression")
    found = explain(ib.pair(chosen, "mysql-5.6.24.cy10a", "mysql-9.7.cy10a"), "l.i0", "small")
    (note,) = [text for text in found.notes if "while perf recorded, the server's CPU per statement" in text]
    shares = [row["recorded_us"] / row["step_us"] for row in chosen.ask("profile_checks").to_dicts()]
    assert f"was {100 * min(shares):.0f} to {100 * max(shares):.0f} % of that of the step, depending on the run" in note
