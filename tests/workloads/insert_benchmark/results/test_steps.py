"""The Insert Benchmark's steps in words."""

import pytest

from ibench_lib.metrics import step_words
from ibench_lib.workloads.insert_benchmark.options import PRESET_STEPS

KINDS = {"l.i0": "load", "l.x": "index", "l.i1": "write", "l.i2": "write"}


@pytest.mark.parametrize("step", PRESET_STEPS["2025"])
def test_each_step_of_a_report_has_words(step: str) -> None:
    words = step_words(step, KINDS.get(step, "query"))
    assert words and words != step


def test_the_words_are_those_of_the_kind() -> None:
    assert step_words("qr100", "query") == step_words("q100", "query") == "range queries"
    assert step_words("qp5", "query") == "point queries"
    assert step_words("mine", "write") == step_words("qr100", None) == step_words("qr100", "test") == ""
