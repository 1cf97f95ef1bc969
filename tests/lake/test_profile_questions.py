"""What perf sampled in each step, and whether it did."""

from __future__ import annotations

import pytest

from tests.shared import asked
from tests.show.profiled import STACKS, cpu, profiled, recording
from tests.synthetic import Run


def test_only_recordings_in_the_step_count() -> None:
    found = asked("stacks", profiled("a"))
    assert found["step"].unique().to_list() == ["l.i0"]
    assert found.select("tick", "stack", "samples").rows() == sorted(
        (tick, stack, samples) for tick in (1, 6) for stack, samples in STACKS.items()
    )


def test_a_profile_is_summed_up_with_the_cpu_of_an_operation() -> None:
    (row,) = asked("profiled", profiled("a"), steps=["l.i0"]).to_dicts()
    assert (row["recordings"], row["samples"], row["seconds"], row["lost"], row["cpu_s"]) == (2, 400, 8.0, 0, 8.0)
    assert (row["event"], row["frequency"], row["reason"], row["build"]) == ("cycles", 50.0, None, "system")
    assert row["sampled"] == 1.0 and row["scpupq"] == pytest.approx(200.0)


def test_a_step_without_a_profile_has_a_reason() -> None:
    runs = profiled("a"), Run("b", minute=1)
    said = {(row["dbms"], row["step"]): row["reason"] for row in asked("profiled", *runs).to_dicts()}
    assert said["system.a", "l.i0"] is None
    assert said["system.a", "l.i1"] == "no recording lies in the step: a longer step has one"
    assert said["system.b", "l.i0"] == "the experiment did not ask for it (capture: {profile: {}})"


def test_a_profile_by_an_older_ibench_has_what_it_knew() -> None:
    older = {"frequency": None, "lost": None, "cpu_s": None, "thread_group": None}
    run = Run("a", also=(*recording(1, {"ib_log_1;fsync": 5}, **older), *cpu()))
    (row,) = asked("profiled", run, steps=["l.i0"]).to_dicts()
    assert (row["samples"], row["sampled"], row["frequency"], row["lost"]) == (5, None, None, None)
    assert asked("stacks", run)["thread_group"].to_list() == ["ib_log"]
