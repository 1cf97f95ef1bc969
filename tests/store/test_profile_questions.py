"""What perf sampled in each step, and whether it did."""

from __future__ import annotations

import pytest

from ibench_lib.base.collector_report import CollectorReport
from ibench_lib.paths import Workspace
from ibench_lib.store import catalogue, reader
from tests.shared import asked
from tests.show.profiled import STACKS, cpu, profiled, recording, with_dips
from tests.synthetic import Run, answer, begin_run, die

pytestmark = pytest.mark.lake


def test_only_recordings_in_the_step_count() -> None:
    found = asked("stacks", profiled("a"))
    assert found["step"].unique().to_list() == ["l.i0"]
    assert found.select("tick", "stack", "samples").rows() == sorted(
        (tick, stack, samples) for tick in (1, 6) for stack, samples in STACKS.items()
    )


@pytest.mark.parametrize("name", ["profiled", "profile_checks"])
def test_a_profile_waits_for_no_other_figure_of_its_steps(name: str) -> None:
    """To compute all of a step's resources, or all that explains its rate, takes half a second."""
    made_from = catalogue.building_blocks(catalogue.question_text(name))
    assert "server_cpus" in made_from
    assert not {"resources", "processor_work", "questions.step_resources", "questions.explain_steps"} & made_from.keys()


def test_rates_are_computed_once_for_what_explains_them() -> None:
    text = catalogue.question_text("explain_steps")
    texts = [text, *catalogue.building_blocks(text).values()]
    assert sum(one.count("rates_of_steps(") for one in texts) == 1


def test_a_profile_is_summed_up_with_the_cpu_of_an_operation() -> None:
    (row,) = asked("profiled", profiled("a"), steps=["l.i0"]).to_dicts()
    assert (row["recordings"], row["samples"], row["seconds"], row["lost"], row["cpu_s"]) == (2, 400, 8.0, 0, 8.0)
    assert (row["event"], row["frequency"], row["reason"], row["build"]) == ("cycles", 50.0, None, "system")
    assert row["sampled"] == 1.0 and row["scpupq"] == pytest.approx(200.0)


def test_a_step_without_a_profile_has_a_reason() -> None:
    runs = profiled("a"), Run("b", minute=1)
    said = {(row["dbms"], row["step"]): row["reason"] for row in asked("profiled", *runs).to_dicts()}
    assert said["system.a", "l.i0"] is None
    assert said["system.a", "l.i1"] == (
        "no recording lies entirely within the step: use a longer step, or smaller `every_s` and `seconds`"
    )
    assert said["system.b", "l.i0"] == "the experiment did not ask for it (capture: {profile: {}})"


def of_profile(reason: str | None = None) -> CollectorReport:
    return CollectorReport("profile", 60, samples=1, missed=0, cpu_s=0.1, busy_s=0.1, reason=reason)


HOST = CollectorReport("host", 1, samples=30, missed=0, cpu_s=0.1, busy_s=0.1)
NONE_ENDED = (
    "recordings were requested, but none ended within the step: use a longer step, or smaller `every_s` and `seconds`"
)
CUT_OFF = "the run was cut off before recordings, if it had any, were read"
NOT_ASKED = "the experiment did not ask for it (capture: {profile: {}})"


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (Run(collectors=(HOST, of_profile())), NONE_ENDED),
        (Run(collectors=(HOST, of_profile("OSError: perf record: full"))), "OSError: perf record: full"),
        (
            Run(collectors=(of_profile("there is no perf"),), null_reasons=(("profile_stacks", "perf may not"),)),
            "perf may not",
        ),
        (Run(collectors=(HOST,)), NOT_ASKED),
        (Run(collectors=(HOST,), status="failed", error="gone", failed_step="qr100"), NOT_ASKED),
        (Run(status="interrupted", error="killed", failed_step="qr100"), CUT_OFF),
    ],
)
def test_a_run_without_any_recording_says_what_became_of_it(run: Run, reason: str) -> None:
    assert {row["reason"] for row in asked("profiled", run).to_dicts()} == {reason}


def test_the_profile_of_a_run_that_goes_on_is_read_later(workspace: Workspace) -> None:
    begun = begin_run(workspace, Run(status="running"), ("l.i0", "l.x"))
    try:
        found = answer(reader.lake(workspace), "profiled")
        assert set(found["reason"]) == {"the run has not ended, and recordings are read at its end"}
    finally:
        die(begun)


def test_next_to_recordings_those_that_are_missing_are_explained() -> None:
    run = profiled("a", collectors=(of_profile("OSError: perf record: busy"),))
    (row,) = asked("profiled", run, steps=["l.i1"]).to_dicts()
    assert row["reason"].endswith("(some are missing: OSError: perf record: busy)")


def test_a_profile_by_an_older_ibench_has_what_it_knew() -> None:
    older = {"frequency": None, "lost": None, "cpu_s": None, "thread_group": None}
    run = Run("a", also=(*recording(1, {"ib_log_1;fsync": 5}, **older), *cpu()))
    (row,) = asked("profiled", run, steps=["l.i0"]).to_dicts()
    assert (row["samples"], row["sampled"], row["frequency"], row["lost"]) == (5, None, None, None)
    assert asked("stacks", run)["thread_group"].to_list() == ["ib_log"]


def test_a_recording_knows_what_was_done_in_it_and_how_much_of_it_is_in_dips() -> None:
    rows = asked("dip_recordings", with_dips("a", STACKS, STACKS)).to_dicts()
    assert [(row["tick"], row["samples"], row["cpu_s"], row["seconds"]) for row in rows] == [
        (15, 200, 2.0, 2.0),
        (18, 200, 1.0, 2.0),
    ]
    assert [(row["done"], row["dip_s"]) for row in rows] == [(12_500.0, 0.0), (3_125.0, 1.5)]


def test_a_recording_that_full_seconds_do_not_cover_does_not_know_what_was_done() -> None:
    (row,) = asked("dip_recordings", Run(also=recording(15, STACKS, t_s=16.0, seconds=2.0))).to_dicts()
    assert (row["step"], row["done"], row["dip_s"]) == ("l.i1", None, 0.0)
