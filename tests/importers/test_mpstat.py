"""mpstat: the CPU time of all CPUs, by names of columns and with the time that its clock says."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.importers.lines import LineBlocks
from ibench_lib.importers.mpstat import read_mpstat
from tests.importers.host_text import iostat, mpstat, vmstat
from tests.importers.test_fuzz import damaged


def blocks(text: str | bytes) -> LineBlocks:
    return LineBlocks(Path("a.txt"), [text.encode() if isinstance(text, str) else text])


@pytest.mark.parametrize("half", [True, False])
@pytest.mark.parametrize("each", [True, False])
def test_shares_are_of_all_cpus_with_guests_in_user_mode_and_interrupts_in_the_kernel(half: bool, each: bool) -> None:
    given = blocks(mpstat([20, 40, 60], cpus=8, half=half, each=each))
    found = read_mpstat(given)
    assert (found.cpus, given.lost.count) == (8, 0)
    assert [seconds for _, seconds in found.samples] == [1.0, 1.0, 1.0], "over midnight"
    assert [sample["cpu_user_s"] for sample, _ in found.samples] == pytest.approx([0.2, 0.4, 0.6])
    first, _ = found.samples[0]
    assert first == pytest.approx(
        {"cpu_user_s": 0.2, "cpu_system_s": 0.1, "cpu_iowait_s": 0.04, "cpu_steal_s": 0, "cpu_idle_s": 0.66}
    )


def test_a_sample_is_as_long_as_its_clock_says() -> None:
    found = read_mpstat(blocks(mpstat([20, 40], every=5)))
    assert [seconds for _, seconds in found.samples] == [5.0, 5.0]


def test_columns_of_older_versions_are_read_by_their_names() -> None:
    text = mpstat([20], each=False).replace("%usr", "%user").replace("%sys ", "%system ").replace("%gnice", "intr/s")
    (sample, _), *_ = read_mpstat(blocks(text)).samples
    assert sample["cpu_user_s"] == pytest.approx(0.2) and sample["cpu_idle_s"] == pytest.approx(0.66)


def test_the_sample_after_a_lost_one_has_no_known_length_and_is_lost_too() -> None:
    lines = mpstat([20, 40, 60, 70], each=False).splitlines(keepends=True)
    given = blocks("".join([*lines[:4], lines[4].replace("all", "oops"), *lines[5:]]))
    found = read_mpstat(given)
    assert [sample["cpu_user_s"] for sample, _ in found.samples] == pytest.approx([0.2, 0.7])
    assert given.lost.first == [5, 6]
    headed = mpstat([20, 40, 60], cpus=1).splitlines(keepends=True)
    given = blocks("".join([*headed[:7], headed[7].replace("all", "oops"), *headed[8:]]))
    assert len(read_mpstat(given).samples) == 2 and given.lost.first == [8], "a header has the clock"


def test_shares_that_are_not_those_of_all_are_lost() -> None:
    given = blocks(mpstat([20, 40]).replace("86", "86").replace("66.00", "99.00"))
    assert len(read_mpstat(given).samples) == 1 and given.lost.first == [4]


def _samples(content: bytes) -> set[Any]:
    return {(tuple(sorted(sample.items())), seconds) for sample, seconds in read_mpstat(blocks(content)).samples}


@pytest.mark.slow
@pytest.mark.parametrize("each", [True, False])
def test_no_damage_makes_a_sample(each: bool) -> None:
    text = mpstat([20, 40, 60, 70], each=each)
    whole = _samples(text.encode())
    assert len(whole) == 4
    for what, content in damaged(text, vmstat([5]) + iostat([7]), random.Random(each)):
        try:
            found = _samples(content)
        except UsageError:
            continue
        assert found <= whole, what
