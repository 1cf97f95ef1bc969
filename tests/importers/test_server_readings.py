"""Tables of a server's metrics: real times, whole lines only, and no difference between one step and the next."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ibench_lib.errors import UsageError
from ibench_lib.importers import server_readings
from ibench_lib.importers.importer import Columns
from ibench_lib.importers.lines import LineBlocks
from ibench_lib.importers.server_readings import Readings, ReadingsOfStep, misfit, missing_figures, read_readings
from tests.importers.host_text import vmstat
from tests.importers.metric_tables import BEGAN, NAMES, table
from tests.importers.test_fuzz import damaged


def blocks(text: str | bytes) -> LineBlocks:
    return LineBlocks(Path("a.txt"), [text.encode() if isinstance(text, str) else text])


def read(text: str) -> Readings:
    found = read_readings(blocks(text))
    assert found is not None
    return found


def rows(piece: Columns) -> list[dict[str, Any]]:
    def listed(value: Any) -> list[Any]:
        return value.tolist() if hasattr(value, "tolist") else [value] * piece.rows

    columns = {name: listed(value) for name, value in piece.values.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_a_table_has_the_real_time_of_each_reading() -> None:
    given = blocks(table([10, 20, 15]))
    found = read_readings(given)
    assert found is not None and given.lost.count == 0
    assert found.names == NAMES and found.times.tolist() == pytest.approx([BEGAN, BEGAN + 1.05, BEGAN + 2.1], abs=1e-6)
    assert dict(zip(found.names, found.values.tolist(), strict=True)) == {
        "buffer_LRU_get_free_search": [0, 100, 200], "log_lsn_checkpoint_age": [0, 0, 5000],
        "trx_rseg_history_len": [10, 20, 15], "lock_deadlocks": [0, 0, 0], "trx_on_log_waits": [-7, -7, -7],
    }  # fmt: skip


def counters_of(step: ReadingsOfStep) -> list[dict[str, Any]]:
    return [row for make in step.counters() for row in rows(make())]


@pytest.mark.parametrize("at_once", [64, 2])
def test_counters_have_a_row_where_they_change_and_the_second_of_the_run(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(server_readings, "_AT_ONCE", at_once)
    step = ReadingsOfStep(read(table([10, 20, 20, 15])), "a.t4", 3, 100.5, 104.6)
    found = [(row["name"], row["tick"], row["value"]) for row in counters_of(step)]
    assert found == [
        ("buffer_LRU_get_free_search", 100, 0), ("buffer_LRU_get_free_search", 101, 100),
        ("buffer_LRU_get_free_search", 102, 200), ("buffer_LRU_get_free_search", 103, 300),
        ("lock_deadlocks", 100, 0), ("log_lsn_checkpoint_age", 100, 0), ("log_lsn_checkpoint_age", 102, 5000),
        ("trx_on_log_waits", 100, -7), ("trx_rseg_history_len", 100, 10), ("trx_rseg_history_len", 101, 20),
        ("trx_rseg_history_len", 103, 15),
    ]  # fmt: skip
    assert {(row["source"], row["incarnation"]) for row in counters_of(step)} == {("metric", 3)}


def test_a_sample_has_the_figures_that_are_metrics_and_when_they_were_read() -> None:
    step = ReadingsOfStep(read(table([10, 20, 20, 15])), "a.t4", 0, 100.5, 104.6)
    samples = rows(step.samples())
    assert [row["t_s"] for row in samples] == pytest.approx([100.5, 101.55, 102.6, 103.65])
    assert [row["history_list_length"] for row in samples] == [10, 20, 20, 15]
    assert [row["free_page_searches"] for row in samples] == [0, 100, 200, 300]
    assert [row["checkpoint_age_bytes"] for row in samples] == [None, None, 5000, 5000], (
        "unset until the server says it"
    )
    missing = missing_figures([step.readings])
    assert "server_samples.uptime_s" in missing and "server_samples.history_list_length" not in missing


def test_readings_of_two_steps_share_no_second() -> None:
    table_ = read(table([1] * 10, every_s=1.0))
    first = ReadingsOfStep(table_, "a.t1", 0, 0.0, 4.6)
    second = ReadingsOfStep(table_, "a.t2", 1, 4.6, 9.2)
    ticks = [row["tick"] for step in (first, second) for row in rows(step.samples())]
    assert ticks == [0, 1, 2, 3, 4, 5, 6, 7, 8] and rows(second.samples())[0]["t_s"] == 4.6


def test_two_readings_of_one_second_are_one_row() -> None:
    step = ReadingsOfStep(read(table([1, 2, 3, 4], every_s=0.9)), "a.t1", 0, 0.0, 9.0)
    assert [(row["tick"], row["history_list_length"]) for row in rows(step.samples())] == [(0, 1), (1, 3), (2, 4)]


@pytest.mark.parametrize(
    ("every_s", "readings", "said"),
    [
        (10.0, 3, "its readings are 10.0 s apart"),
        (1.0, 1, "its readings are 0.0 s apart"),
        (1.0, 30, "its readings are of 29 s, its test is of 20 s: nothing says when it began"),
    ],
)
def test_a_table_that_cannot_be_of_a_test_is_not_used(every_s: float, readings: int, said: str) -> None:
    found = misfit(read(table([1] * readings, every_s=every_s)), 20.0)
    assert found is not None and said in found
    assert misfit(read(table([1] * 20)), 20.0) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("trx_rseg_history_len", "trx_of_another_kind"), ("lock_deadlocks", "trx_on_log_waits"),
        ("timestamp", "time"), ("lock_deadlocks", "db7.example.com"),
    ],
)  # fmt: skip
def test_a_header_that_is_no_list_of_metrics_is_lost_with_its_lines(old: str, new: str) -> None:
    given = blocks(table([1, 2]).replace(old, new))
    assert read_readings(given) is None and given.lost.count == 3


def test_a_line_that_is_cut_or_not_later_is_lost() -> None:
    lines = table([1, 2, 3, 4]).splitlines(keepends=True)
    for wrong in (lines[1], lines[2].replace(",0,", ","), lines[2].replace(",0,", ",NULL,"), "1777043483.393,\n"):
        given = blocks("".join([*lines[:2], wrong, *lines[3:]]))
        found = read_readings(given)
        assert found is not None and len(found.times) == 3 and given.lost.first == [3], wrong
    given = blocks("".join(lines)[:-1])
    found = read_readings(given)
    assert found is not None and len(found.times) == 3 and given.lost.first == [5], "the last line may be cut"


def test_a_table_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_readings, "MOST_VALUES", 9)
    assert read_readings(blocks(table([1, 2]))) is None


def test_values_of_the_whole_range_are_kept() -> None:
    found = read(table([10**18 - 1, -(10**18) + 1, 10**18 - 1]))
    assert found.values[2].tolist() == [10**18 - 1, -(10**18) + 1, 10**18 - 1] and found.values.dtype == np.int64


def _readings(content: bytes) -> set[Any]:
    found = read_readings(blocks(content))
    if found is None:
        return set()
    values = zip(found.names, found.values.tolist(), strict=True)
    return {(name, time, value) for name, row in values for time, value in zip(found.times, row, strict=True)}


@pytest.mark.slow
def test_no_damage_makes_a_reading() -> None:
    text = table([10, 20, 15, 30])
    whole = _readings(text.encode())
    assert len(whole) == 20
    for what, content in damaged(text, vmstat([5]), random.Random("metrics")):
        if what.startswith("columns of line"):
            continue  # nothing shows that two numbers have changed places
        try:
            found = _readings(content)
        except UsageError:
            continue
        assert found <= whole, what
