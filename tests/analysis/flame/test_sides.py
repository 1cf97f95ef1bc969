"""What the stacks of a build stand for, and what they cannot tell."""

from __future__ import annotations

import pytest

from ibench_lib.analysis.flame.sides import CUT_OFF, Side, is_cut, path_of, side_of
from tests.shared import asked
from tests.show.profiled import COPY, INSERT, NO_NAMES, PURGE, SEND, STACKS, profiled
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def side(*runs: Run) -> Side:
    found = side_of(asked("stacks", *runs, steps=["l.i0"]), asked("profiled", *runs, steps=["l.i0"]))
    assert found is not None
    return found


def test_samples_are_worth_their_part_of_the_cpu_of_an_operation() -> None:
    one = side(profiled("a"))
    assert (one.samples, one.runs, len(one.recordings), one.frequency, one.seconds) == (400, 1, 2, 50.0, 8.0)
    assert one.raw == {stack: 2 * samples for stack, samples in STACKS.items()}
    assert one.us == pytest.approx(200.0)
    assert one.paths[path_of(INSERT)] == pytest.approx((120, 60.0))
    assert one.name == "system.a, 2026-11-21" and one.short == "system.a"


def test_runs_count_alike_however_many_samples_they_have() -> None:
    few = {stack: samples // 10 for stack, samples in STACKS.items()}
    one = side(profiled("a"), profiled("a", few, cpus=0.8, repeat=2, minute=1))
    assert one.runs == 2 and one.us == pytest.approx(300.0)
    assert one.paths[path_of(PURGE)] == pytest.approx((22, 0.05 * 300))


def test_a_run_without_its_cpu_is_left_out_where_others_have_it() -> None:
    both = side(profiled("a"), profiled("a", cpus=None, repeat=2, minute=1))
    assert both.runs == 1 and both.us == pytest.approx(200.0)
    alone = side(profiled("a", cpus=None))
    assert (alone.samples, alone.us) == (400, None)


def test_a_run_that_did_not_complete_the_step_is_left_out_where_others_did() -> None:
    failed = profiled("a", repeat=2, minute=1, status="failed", failed_step="l.i0", error="lost", steps=("l.i0",))
    assert side(profiled("a"), failed).runs == 1
    assert side(failed).samples == 400


def test_shares_without_a_name_and_of_cut_stacks() -> None:
    one = side(profiled("a"))
    assert (one.unnamed, one.cut, one.stands) == (0.0, 0.05, True)
    other = side(profiled("a", NO_NAMES))
    assert (other.unnamed, other.cut, other.stands) == (0.4, 0.1, False)


def test_nothing_sampled_is_no_side() -> None:
    run = Run("b")
    assert side_of(asked("stacks", run), asked("profiled", run)) is None


@pytest.mark.parametrize(
    ("stack", "cut"),
    [
        ("t", True),
        ("t;start_thread;f", False),
        ("t;clone3@@GLIBC_2.34;f", False),
        ("t;[unknown] (libc.so.6);f", False),
        ("t;[unknown] (libstdc++.so.6.0.30);f", False),
        ("t;[unknown] (mariadbd);f", True),
        ("t;[unknown];f", True),
        ("t;__send;do_syscall_64", True),
    ],
)
def test_a_stack_is_cut_that_does_not_reach_the_start_of_its_thread(stack: str, cut: bool) -> None:
    assert is_cut(stack.split(";")) == cut


def test_threads_are_told_apart_by_what_they_do() -> None:
    # The arguments of functions are cut, and the kernel's part stays.
    assert path_of(COPY) == (
        "connections", "start_thread", "handle_one_connection", "do_command", "row_ins", "btr_cur_insert", "memcpy"
    )  # fmt: skip
    assert path_of(PURGE)[:2] == ("purge", "start_thread")
    assert path_of(SEND)[:3] == ("mariadbd", CUT_OFF, "__send")
    assert path_of("ib_pg_flush-2;start_thread;f")[0] == "ib_pg_flush"
