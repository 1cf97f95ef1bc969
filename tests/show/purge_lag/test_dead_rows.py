"""Dead rows of servers that count them: a table and a chart of their own, and no word of a history list."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

import ibench_lib as ib
from tests.shared import asked
from tests.show.parsed import Parsed
from tests.show.traces import one, traces
from tests.synthetic import Run

pytestmark = pytest.mark.lake

START_S, SECONDS = 15, 10  # of l.i1 on the run's clock
TICKS = range(START_S, START_S + SECONDS)
LIVES = (
    ("tick", tuple(TICKS)),
    ("uptime_s", tuple(TICKS)),
    ("incarnation", (0,) * SECONDS),
    ("history_list_length", (None,) * SECONDS),
)


def dead(*values: int) -> tuple[tuple[str, dict[str, Any]], ...]:
    """So many dead rows from the first seconds of l.i1 on; a value that does not change has no row."""
    name = {"source": "status", "name": "tables.dead_rows", "incarnation": 0}
    return tuple(
        ("server_counters", {"tick": tick, "value": value, **name}) for tick, value in zip(TICKS, values, strict=False)
    )


def postgres(config: str, *values: int, minute: int = 0) -> Run:
    reason = ("steps.history_list_length", "it has none")
    return Run(
        config, flavour="postgres", sampled=LIVES, also=dead(*values), minute=minute, steps=("l.i0", "l.x", "l.i1"),
        null_reasons=(reason,), history_list=(None,) * 4,  # type: ignore[arg-type]
    )  # fmt: skip


PAIR = (postgres("few", 500, 900), postgres("many", 400, 90_000, minute=1))


def test_they_are_drawn_by_the_second_and_go_on_where_nothing_changes() -> None:
    frame = one(asked("dead_rows_series", *PAIR, points=2000), step="l.i1")
    figure = ib.dead_rows_chart(frame)
    (line,) = traces(figure, "system.many")
    assert list(line.y) == [400.0] + [90_000.0] * 9
    assert figure.layout.meta["title"] == "Dead rows during l.i1, cached"
    fewer = one(asked("dead_rows_series", *PAIR, points=5), step="l.i1").filter(dbms="system.many")
    assert fewer["dead_min"].to_list()[0] == 400 and fewer["dead_max"].to_list()[0] == 90_000 and len(fewer) == 5


def test_they_are_told_by_themselves() -> None:
    other = replace(Run("maria", minute=2), history_list=(10, 20, 30_000, 5))
    frame = asked("dead_rows_at_step_end", *PAIR, other)
    assert set(frame["dbms"]) == {"system.few", "system.many"}, "who counts none is not there"
    assert Parsed(ib.dead_rows_table(frame)).of("system.many")[2] == "90,000 many"
    said = ib.dead_rows_statements(frame)
    (far,) = [text for text in said if "more than 10x the smallest" in text]
    assert far.startswith("cached, l.i1: the number of dead rows at the end is over 10,000") and "90,000" in far
    assert "history" not in " ".join(said)
    lists = asked("purge_lag_at_step_end", *PAIR, other)
    assert set(lists["dbms"]) == {"system.maria"}, "who has no history list misses none"
    assert set(asked("purge_lag_series", *PAIR, other, points=9)["dbms"]) == {"system.maria"}


def test_a_vacuum_right_after_a_step_has_removed_nothing_at_its_end() -> None:
    at = {"tick": START_S + SECONDS, "incarnation": 0}
    after = (
        ("server_samples", {**at, "t_s": START_S + SECONDS + 0.1, "uptime_s": 99}),
        ("server_counters", {**at, "source": "status", "name": "tables.dead_rows", "value": 0}),
    )
    run = replace(PAIR[1], also=(*dead(400, 90_000), *after))
    (row,) = asked("dead_rows_at_step_end", run).filter(step="l.i1").to_dicts()
    assert row["dead_rows"] == 90_000


@pytest.mark.parametrize("base", ["system.many", "system.maria"])
def test_no_sentence_speaks_of_dead_rows_and_of_a_history_list(base: str) -> None:
    """One is an estimate of rows, the other counts transactions: nothing that is said of get_min mixes them either."""
    slow = (0.001, 0.001, 0.002, 3.0)
    runs = [
        *(replace(run, get_min_s=slow, steps=("l.i0", "l.x", "l.i1", "qr100")) for run in PAIR),
        Run("maria", minute=2, get_min_s=(0.001, 0.001, 0.001, 0.2), history_list=(10, 20, 30_000, 5)),
    ]
    asked_of = {name: asked(name, *runs) for name in ("get_min", "purge_lag_at_step_end", "dead_rows_at_step_end")}
    said = [
        *ib.purge_lag_statements(asked_of["purge_lag_at_step_end"]),
        *ib.dead_rows_statements(asked_of["dead_rows_at_step_end"]),
        *ib.mvcc_gc_statements(asked_of["get_min"], asked_of["purge_lag_at_step_end"], base),
        *ib.get_min_statements(asked_of["get_min"]),
        *ib.get_min_dead_rows_statements(asked("get_min_dead_rows", *runs)),
    ]
    text = " ".join(said)
    assert "dead rows" in text and "history list" in text, "there is something of both"
    assert [one for one in said if "dead rows" in one and ("history list" in one or "maria" in one)] == []
    assert [
        one for one in said if "history list" in one and re.search(r"many \([^)]*history|few \([^)]*history", one)
    ] == []
