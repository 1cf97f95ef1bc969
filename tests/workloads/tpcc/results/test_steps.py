"""TPC-C's steps in words."""

from ibench_lib.metrics import step_words


def test_the_measured_step_is_said_in_words() -> None:
    assert step_words("run", "run") == "all transactions"
    assert step_words("run", "requests") == step_words("ramp_up", "ramp_up") == ""
