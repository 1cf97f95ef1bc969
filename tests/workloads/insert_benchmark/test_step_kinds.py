"""Names of steps, those of published reports included, have a kind; what only looks like one has none."""

import pytest

from ibench_lib.workloads.insert_benchmark.options import PRESET_SETUPS, PRESET_STEPS, Options
from ibench_lib.workloads.insert_benchmark.step_kinds import kind_of
from ibench_lib.workloads.insert_benchmark.steps import plan


@pytest.mark.parametrize("preset", PRESET_STEPS)
def test_the_kinds_are_those_that_runs_have(preset: str) -> None:
    options = Options.model_validate({"benchmark": "insert_benchmark", "clients": 1, "steps": preset})
    steps = plan(options, PRESET_SETUPS["cached"], 1.0)
    assert {step.name: kind_of(step.name) for step in steps} == {step.name: step.kind for step in steps}


@pytest.mark.parametrize("step", ["q100", "q1000", "q100.2", "q1"])
def test_names_of_published_reports_are_known(step: str) -> None:
    assert kind_of(step) == "query"


@pytest.mark.parametrize("step", ["", "l.", "l.i", "l.i0x", "l.i3", "q", "qfoo", "q0", "q1x", "qr", "qz100", "q１"])  # noqa: RUF001
def test_other_names_are_not(step: str) -> None:
    assert kind_of(step) is None
