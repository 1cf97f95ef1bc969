"""dstat, as text and as CSV: columns by their groups and names, units of both kinds, no row since boot."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.importers.dstat import read_dstat
from ibench_lib.importers.lines import LineBlocks
from tests.importers.host_text import dstat, dstat_csv, iostat, vmstat
from tests.importers.test_fuzz import damaged


def blocks(text: str | bytes) -> LineBlocks:
    return LineBlocks(Path("a.txt"), [text.encode() if isinstance(text, str) else text])


@pytest.mark.parametrize("old", [False, True])
def test_text_has_units_of_1024_for_bytes_and_of_1000_for_counts(old: bool) -> None:
    given = blocks(dstat([20, 40], old=old).replace("2000 ", "  2k "))
    found = read_dstat(given)
    assert (found.device, found.cpus, given.lost.count) == ("total", None, 0)
    assert [seconds for _, seconds in found.samples] == [1.0, 1.0]
    (first, _), (second, _) = found.samples
    assert (first["read_bytes"], first["written_bytes"]) == (1024**2, 78 * 1024**2)
    assert first["context_switches"] == 2000
    total = 100 if old else 98
    assert (first["cpu_user_s"], second["cpu_user_s"]) == pytest.approx((20 / total, 40 / total))
    assert first["cpu_system_s"] == pytest.approx(10 / total), "interrupts of their own are in the kernel"
    assert sum(value for name, value in first.items() if name.startswith("cpu")) == pytest.approx(1)


def test_csv_has_its_digits_and_no_row_since_boot() -> None:
    given = blocks(dstat_csv([20, 40]))
    found = read_dstat(given)
    assert (found.device, given.lost.count) == ("sda", 0)
    assert [seconds for _, seconds in found.samples] == pytest.approx([2.001, 2.001])
    first, _ = found.samples[0]
    assert (first["read_bytes"], first["context_switches"]) == (1024.5, 2000.5)
    assert (first["cpu_user_s"], first["cpu_idle_s"]) == pytest.approx((0.2, 0.66))


def test_without_a_column_of_the_time_nobody_knows_how_long_a_sample_is() -> None:
    found = read_dstat(blocks(dstat_csv([20, 40], epoch=False)))
    assert [seconds for _, seconds in found.samples] == [None, None]


def test_groups_stand_in_any_order_and_the_first_row_may_have_blanks() -> None:
    text = (
        "---procs--- ------memory-usage----- -dsk/total- ---system-- ----total-usage----\n"
        "run blk new| used  free  buf   cach| read  writ| int   csw |usr sys idl wai stl\n"
        "1.0   0    |  20G   91G 1259M   72G|           |           |                   \n"
        "3.0  57   0|  20G   91G 1259M   72G| 240M  121M| 125k  285k|  4   2  57  36   0\n"
    )
    given = blocks(text)
    ((sample, seconds),) = read_dstat(given).samples
    assert given.lost.count == 0 and seconds is None, "it has no time"
    assert (sample["context_switches"], sample["read_bytes"]) == (285_000, 240 * 1024**2)
    assert sample["cpu_idle_s"] == pytest.approx(57 / 99)


def test_a_row_with_other_columns_or_shares_is_lost_with_the_next_whose_length_is_unknown() -> None:
    rows = dstat([20, 30, 40, 50]).splitlines(keepends=True)
    for wrong in (
        rows[5].replace("| 577B", "| 577B 1B"),
        rows[5].replace(" 30 ", " 70 "),
        rows[5].replace("78M", "78X"),
    ):
        given = blocks("".join([*rows[:5], wrong, *rows[6:]]))
        assert len(read_dstat(given).samples) == 2 and given.lost.first == [6, 7]


def _samples(content: bytes) -> set[Any]:
    return {(tuple(sorted(sample.items())), seconds) for sample, seconds in read_dstat(blocks(content)).samples}


@pytest.mark.slow
@pytest.mark.parametrize("text", [dstat([20, 40, 60, 70]), dstat_csv([20, 40, 60, 70])])
def test_no_damage_makes_a_sample(text: str) -> None:
    whole = _samples(text.encode())
    assert len(whole) == 4
    for what, content in damaged(text, vmstat([5]) + iostat([7]), random.Random(text)):
        if what.startswith("columns of line") and text.startswith('"'):
            continue  # nothing in CSV shows that two numbers have changed places
        try:
            found = _samples(content)
        except UsageError:
            continue
        assert found <= whole, what
