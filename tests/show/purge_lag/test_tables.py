"""The table of purge lag."""

import pytest

import ibench_lib as ib
from tests.shared import asked, lake_of
from tests.show.parsed import Parsed
from tests.synthetic import Run, answer

pytestmark = pytest.mark.lake


def test_repeats_of_a_figure_that_scatters_show_their_range() -> None:
    runs = [
        Run(repeat=n, minute=n, get_min_s=(0, 0, 0, s), history_list=(1, 1, h, 1))
        for n, s, h in ((1, 0.5, 9), (2, 4, 99))
    ]
    lake = lake_of(*runs, Run("quick", minute=5, get_min_s=(0, 0, 0, 0.001), history_list=(1, 1, 50_000, 1)))
    seconds = Parsed(ib.get_min_table(answer(lake, "get_min")))
    assert seconds.of("system.cy10a")[3] == "2.250 (0.500 to 4.000) slow"
    assert seconds.of("system.quick")[3] == "0.001"
    lag = Parsed(ib.purge_lag_table(answer(lake, "purge_lag_at_step_end")))
    assert lag.of("system.cy10a") == ["1 (1 to 1)", "1 (1 to 1)", "54 (9 to 99)", "1 (1 to 1)"]
    assert lag.of("system.quick") == ["1", "1", "50,000 long", "1"]


def test_a_figure_that_scatters_says_which_repeats_have_none() -> None:
    broken = Run(repeat=3, minute=3, status="interrupted", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"))
    lake = lake_of(Run(repeat=1, minute=1), Run(repeat=2, minute=2), broken)
    lag = Parsed(ib.purge_lag_table(answer(lake, "purge_lag_at_step_end"))).of("system.cy10a")
    assert lag == [
        "10 (10 to 10) †",
        "20 (20 to 20) †",
        "30,000 (30,000 to 30,000) (1 of 3 interrupted)",
        "5 (5 to 5) (1 of 3 not run)",
    ]
    seconds = Parsed(ib.get_min_table(answer(lake, "get_min"))).of("system.cy10a")
    assert seconds[2:] == ["0.001 (0.001 to 0.001) †", "0.500 (0.500 to 0.500) (1 of 3 not run)"]


def test_a_history_list_of_a_step_that_did_not_complete_is_a_word() -> None:
    failed = Run(status="failed", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"))
    frame = asked("purge_lag_at_step_end", failed)
    assert Parsed(ib.purge_lag_table(frame)).of("system.cy10a") == ["10 †", "20 †", "failed", "not run"]
