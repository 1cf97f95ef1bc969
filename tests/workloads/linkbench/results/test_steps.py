"""LinkBench's steps in words."""

from ibench_lib.metrics import step_words


def test_a_step_is_said_by_its_requesters() -> None:
    assert [step_words(step, "requests") for step in ("t1", "t16", "control.t1")] == [
        "1 requester",
        "16 requesters",
        "",
    ]
    assert step_words("t16", "test") == "", "another workload may call a step so"
