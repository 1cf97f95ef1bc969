import polars as pl

from ibench_lib.analysis import frames

FRAME = pl.DataFrame(
    [
        # setup, dbms, position, repeat, step_id, step, status, duration_s, throughput
        ("cached", "b", 2, 1, 0, "l.i0", "complete", 0.5, 10.0),
        ("cached", "a", 1, 1, 0, "l.i0", "complete", 0.9, 20.0),
        ("cached", "a", 1, 1, 1, "qr100", "failed", 3.0, 30.0),
        ("cached", "a", 1, 2, 1, "qr100", "complete", 3.0, None),
        ("cached", "a", 1, 3, 1, "qr100", "complete", 0.1, 50.0),
    ],
    schema=[
        "setup", "dbms", "dbms_position", "repeat", "step_id", "step", "step_status", "duration_s", "throughput",
    ],
    orient="row",
)  # fmt: skip


def test_dbms_and_steps_are_in_the_order_of_the_runs() -> None:
    assert frames.by_position(FRAME) == ["a", "b"]
    assert frames.steps_of(FRAME) == ["l.i0", "qr100"]


def test_only_values_of_complete_steps_are_measured() -> None:
    assert frames.measured(FRAME, "a", "qr100") == [50.0]
    assert frames.measured(FRAME, "a", "qr100", any_status=True) == [30.0, 50.0]
    assert frames.measured(FRAME, "b", "qr100") == []


def test_a_step_is_short_when_nobody_took_a_second_for_it() -> None:
    assert frames.short_steps(FRAME).rows() == [("cached", "l.i0")]


def test_repeats_are_those_of_the_cell_that_has_most() -> None:
    assert frames.repeats(FRAME) == 3
    assert frames.repeats(FRAME.clear()) == 0


def test_hosts_differ_by_what_is_known_of_both() -> None:
    hosts = pl.DataFrame({"logical_cpus": [80, 80, 80], "cpu_model": [None, "A", None], "runs": [1, 2, 3]})
    assert not frames.hosts_differ(hosts)
    assert frames.hosts_differ(hosts.with_columns(cpu_model=pl.Series([None, "A", "B"])))
