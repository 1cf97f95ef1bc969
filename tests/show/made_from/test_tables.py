"""Tables of runs, options and gaps."""

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.show.kit.grid import Cell, Grid
from tests.shared import asked, lake_of
from tests.show.parsed import Parsed
from tests.synthetic import Run, answer, three_configurations

pytestmark = pytest.mark.lake

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)>{{ 1 }}'


def test_the_runs_table_names_what_failed() -> None:
    failed = Run(status="failed", failed_step="l.i1", error="server lost", steps=("l.i0",))
    frame = asked("selected_runs", failed)
    assert Parsed(ib.runs_table(frame)).of("system.cy10a") == [
        "cached",
        "1",
        "10.11.19-MariaDB (Debian 12)",
        "failed in l.i1: server lost",
        "2026-11-21 10:00",
        "0.1.0",
    ]


def test_a_server_that_is_not_known_yet_is_starting_in_a_run_in_progress_only() -> None:
    frame = asked("selected_runs", Run()).with_columns(server_version=pl.lit(None, pl.String))
    for status, said in (("running", "starting (Debian 12)"), ("failed", "did not start (Debian 12)")):
        table = Parsed(ib.runs_table(frame.with_columns(status=pl.lit(status))))
        assert table.of("system.cy10a")[2] == said


@pytest.mark.parametrize(
    ("comment", "shown"),
    [
        ("(Debian 12)", "Debian 12"),
        ("MySQL Community Server (GPL)", "MySQL Community Server (GPL)"),
        ("(Ubuntu (24.04))", "Ubuntu (24.04)"),
        ("(a) b (c)", "(a) b (c)"),
    ],
)
def test_a_version_comment_keeps_its_own_brackets(comment: str, shown: str) -> None:
    frame = asked("selected_runs", Run()).with_columns(version_comment=pl.lit(comment))
    assert Parsed(ib.runs_table(frame)).of("system.cy10a")[2] == f"10.11.19-MariaDB ({shown})"


def test_config_table_shows_the_base_beside_the_others() -> None:
    frame = asked("config_diff", *three_configurations(), base="system.cy10a")
    table = Parsed(ib.config_table(frame))
    assert table.of("innodb_max_purge_lag") == ["not set", "as base", "100"]
    assert table.of("innodb_purge_batch_size") == ["not set", "1", "as base"]


def test_config_table_has_a_row_for_each_of_many() -> None:
    lines = [
        {"setup": "cached", "base": "my.a", "dbms": name, "dbms_position": place, "option": option, "base_value": "1",
         "value": value}
        for place, name in enumerate(("my.b", "my.c", "my.d", "my.e", "my.f"))
        for option, value in (("innodb_io_capacity", "100"), ("sync_binlog", None))
        if (name, option) != ("my.f", "sync_binlog")
    ]  # fmt: skip
    table = Parsed(ib.config_table(pl.DataFrame(lines)))
    assert table.of("my.b") == ["innodb_io_capacity: 1 → 100\nsync_binlog: 1 → not set"]
    assert table.of("my.f") == ["innodb_io_capacity: 1 → 100"]
    few = Parsed(ib.config_table(pl.DataFrame([row for row in lines if row["dbms"] < "my.f"])))
    assert few.of("sync_binlog") == ["1", *["not set"] * 4]


def test_setups_in_which_the_same_options_differ_share_a_table() -> None:
    lines = [
        {"setup": setup, "base": "my.a", "dbms": "my.b", "dbms_position": 2, "option": "sync_binlog",
         "base_value": "1", "value": value, "origin": f"a.cnf:{place}"}
        for place, (setup, value) in enumerate((("t1", "0"), ("t16", "0"), ("t32", "100")))
    ]  # fmt: skip
    declared = ib.config_table.shown  # type: ignore[attr-defined]

    def titles(count: int) -> list[str]:
        shown = ib.each(pl.DataFrame(lines[:count]), ib.config_table, **declared)
        return [item.title for item in shown.items if isinstance(item, Grid)]

    assert titles(1) == ["Options that differ from my.a in t1"]
    assert titles(2) == ["Options that differ from my.a in t1 and t16"]
    assert titles(3) == ["Options that differ from my.a in t1 and t16", "Options that differ from my.a in t32"]


def test_gaps_table_names_an_older_run_that_completed() -> None:
    whole = Run()
    failed = Run(minute=1, status="failed", failed_step="l.x", steps=("l.i0",))
    parsed = Parsed(ib.gaps_table(asked("gaps", whole, failed)))
    assert f"an older run of 2026-11-21 10:00 completed (id {whole.run_id})" in str(parsed.rows)


def test_repeats_that_are_alike_share_a_row_and_others_do_not() -> None:
    failed = Run(repeat=4, minute=9, status="failed", failed_step="l.x", error="lost", steps=("l.i0", "l.x"))
    runs = [*(Run(repeat=n, minute=n) for n in (1, 2, 3)), failed, Run("b", minute=5)]
    table = Parsed(ib.runs_table(asked("selected_runs", *runs)))
    rows = [row for row in table.rows if row and row[0].startswith("system")]
    assert [(row[0], row[2], row[4], row[5]) for row in rows] == [
        ("system.cy10a", "1, 2, 3", "complete", "2026-11-21 10:01 to 10:03"),
        ("system.cy10a", "4", "failed in l.x: lost", "2026-11-21 10:09"),
        ("system.b", "1", "complete", "2026-11-21 10:05"),
    ]
    assert table.rows[-1] == ["dbms: a build with a configuration, <build>.<config>; here and in all tables."]


@pytest.mark.slow
@pytest.mark.fault("F23")
def test_text_in_a_table_is_only_text() -> None:
    run = Run(dbms=HOSTILE, setup="cached", error=HOSTILE, client_bound=HOSTILE)
    broken = Run("x", minute=1, status="failed", failed_step="l.x", error=HOSTILE, dbms="**b** [l](http://e.com)")
    lake = lake_of(run, broken)
    every_text = Grid(HOSTILE, HOSTILE, HOSTILE, [HOSTILE], [(HOSTILE, [Cell(HOSTILE)])], [HOSTILE], [(HOSTILE, [0])])
    drawn = [
        ib.runs_table(answer(lake, "selected_runs")),
        ib.throughput_table(answer(lake, "step_throughput")),
        ib.throughput_table(answer(lake, "step_throughput"), HOSTILE),
        ib.get_min_table(answer(lake, "get_min")),
        ib.gaps_table(answer(lake, "gaps")),
        every_text,
    ]
    for table in drawn:
        parsed = Parsed(table)
        assert not parsed.tags & {"script", "img", "a", "strong", "b"}, parsed.tags
        assert HOSTILE in str(parsed.rows) or "**b** [l](http://e.com)" in str(parsed.rows)
