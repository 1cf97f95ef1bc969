"""iostat and vmstat of several versions: columns by name, whole samples only, no header as zeros."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ibench_lib.errors import UsageError
from ibench_lib.importers.host_logs import read_iostat, read_vmstat, use_of_device, use_of_host
from ibench_lib.importers.lines import LineBlocks
from tests.importers.host_text import ORDERS, iostat, vmstat
from tests.importers.test_fuzz import damaged


def blocks(text: str | bytes) -> LineBlocks:
    return LineBlocks(Path("o.io"), [text.encode() if isinstance(text, str) else text])


@pytest.mark.parametrize("order", ORDERS)
def test_columns_of_iostat_are_read_by_their_names(order: str) -> None:
    given = blocks(iostat([100, 300], order))
    found = read_iostat(given)
    assert (found.cpus, given.lost.count, list(found.devices)) == (2, 0, ["vda"])
    first, second = found.devices["vda"]
    assert (first["reads"], first["writes"], second["reads"]) == (100, 200, 300)
    assert (first["read_bytes"], first["written_bytes"]) == (1024**2, 1024**2)
    assert (first["read_s"], first["write_s"], first["queue_s"], first["busy_s"]) == (0.2, 0.4, 4, 0.5)
    assert first.get("flushes") == (3 if order == "12.5" else None)


def test_a_first_sample_since_boot_is_left_out() -> None:
    text = iostat([100, 300])
    assert [one["reads"] for one in read_iostat(blocks(text), since_boot=True).devices["vda"]] == [300]


def test_a_sample_with_a_damaged_line_is_left_out_as_a_whole() -> None:
    text = iostat([100, 300, 500], devices=("vda", "vdb"))
    place = text.rindex("vdb", 0, text.rindex("Device"))
    given = blocks(text[:place] + "vdb oops\n" + text[place:])
    assert {name: [one["reads"] for one in found] for name, found in read_iostat(given).devices.items()} == {
        "vda": [100, 500], "vdb": [100, 500],
    }  # fmt: skip
    assert given.lost.count == 1
    cut = blocks(text.rstrip("\n")[:-1])
    assert [one["reads"] for one in read_iostat(cut).devices["vda"]] == [100, 300]


def test_vmstat_leaves_out_the_line_since_boot_and_takes_no_header_for_zeros() -> None:
    given = blocks(vmstat([1000, 2000, 3000], repeat=2))
    assert [one["cs"] for one in read_vmstat(given)] == [1000, 2000, 3000] and given.lost.count == 0


def test_shares_of_vmstat_are_of_all_cpus_with_those_of_guests() -> None:
    for guests in (False, True):
        rows = use_of_host(read_vmstat(blocks(vmstat([1000, 3000], guests=guests))), 8, 5.0, "l.i0", 100.0)
        grown = {row["counter"]: row["end_value"] for row in rows}
        assert grown["context_switches"] == 20_000 and grown["cpu_user_s"] == pytest.approx(0.6 * 8 * 10)
        assert sum(value for name, value in grown.items() if name.startswith("cpu")) == pytest.approx(80)
        assert {(row["start_s"], row["end_s"], row["source"]) for row in rows} == {(100.0, 110.0, "host")}
    unknown = use_of_host(read_vmstat(blocks(vmstat([1000]))), None, 5.0, "l.i0", 0.0)
    assert [row["counter"] for row in unknown] == ["context_switches"]


def test_a_device_has_the_counters_that_all_of_its_samples_have() -> None:
    rows = use_of_device(read_iostat(blocks(iostat([100, 300]))).devices["vda"], "vda", 5.0, "l.i0", 0.0)
    grown = {row["counter"]: row["end_value"] for row in rows}
    assert (grown["reads"], grown["read_bytes"], grown["busy_s"]) == (2000, 10 * 1024**2, 5)
    assert use_of_device([], "vda", 5.0, "l.i0", 0.0) == []


def _of_iostat(content: bytes) -> set[Any]:
    found = read_iostat(blocks(content)).devices.items()
    return {(name, tuple(sorted(one.items()))) for name, samples in found for one in samples}


def _of_vmstat(content: bytes) -> set[Any]:
    return {tuple(sorted(one.items())) for one in read_vmstat(blocks(content))}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("read", "text"), [(_of_iostat, iostat([100, 300, 500])), (_of_vmstat, vmstat([1000, 2000, 3000], repeat=2))]
)
def test_no_damage_makes_a_sample(read: Callable[[bytes], set[Any]], text: str) -> None:
    whole = read(text.encode())
    assert len(whole) == 3
    for what, content in damaged(text, vmstat([5]) + iostat([7]), random.Random(read.__name__)):
        try:
            found = read(content)
        except UsageError:
            continue
        if not what.startswith("another log"):  # a sample of the same tool is one
            assert found <= whole, what
