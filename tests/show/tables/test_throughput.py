"""Tables of throughput."""

import re

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.errors import ParameterError
from ibench_lib.lake.manifest import Status
from ibench_lib.show import theme
from ibench_lib.show.verdicts import ratio
from tests.shared import asked, lake_of
from tests.show.tables.parsed import Parsed, golden
from tests.synthetic import Run, answer, three_configurations


def test_the_published_table_is_drawn_with_the_published_classes() -> None:
    """18 configurations in nine steps."""
    failed = {(row["dbms"], row["step"]) for row in golden("published_20m_inserts.csv") if row["failed"] == "yes"}
    published = golden("published_20m_absolute.csv")
    names, steps = (list(dict.fromkeys(row[key] for row in published)) for key in ("dbms", "step"))
    frame = pl.DataFrame(
        [
            {
                "setup": "20m", "dbms": row["dbms"], "dbms_position": names.index(row["dbms"]), "repeat": 1,
                "run_status": "complete", "step_id": steps.index(row["step"]), "step": row["step"],
                "step_status": "complete", "rate_label": "queries/s" if row["step"].startswith("q") else "inserts/s",
                "throughput": float(row["value"]), "sla_failed": (row["dbms"], row["step"]) in failed,
                "duration_s": None,
            }
            for row in published
        ]
    )  # fmt: skip
    table = Parsed(ib.absolute_throughput(frame))
    glyphs = {"top": " ▲", "bottom": " ▼", "middle": ""}  # the published failures are at the bottom, too
    drawn = {(name, step): cell for name in names for step, cell in zip(steps, table.of(name), strict=True)}
    assert len(drawn) == 162
    for row in published:
        expected = format(int(row["value"]), ",") + glyphs[row["cell"]]
        assert drawn[row["dbms"], row["step"]] == expected, row
    assert {row["cell"] for row in published} == set(glyphs)


def test_absolute_throughput_has_exact_numbers_marks_and_scopes() -> None:
    frame = asked("step_throughput", *three_configurations())
    table = Parsed(ib.absolute_throughput(frame))
    assert table.of("system.cy10a") == ["2,000 ▲", "10,000 ▲", "5,000 ▲", "1,000 ▲"]
    assert table.of("system.cy10ap1") == ["2,000 ▲", "10,000 ▲", "5,000 ▲", "500 ▼"]
    assert table.of("system.cy10ap1lag") == ["2,000 ▲", "10,000 ▲", "2,500 ▼", "1,000 ▲"]
    assert {"col", "row"} <= set(table.scopes) <= {"col", "colgroup", "row"}
    assert any("One run, noise unknown" in row[0] for row in table.rows)


def test_the_palette_decides_the_colours() -> None:
    frame = asked("step_throughput", *three_configurations())
    for name in ("default", "classic"):
        good, _ = theme.PALETTES[name].good
        assert good in ib.absolute_throughput(frame, palette=name).as_raw_html()
    with pytest.raises(ParameterError, match="palette 'clasic' does not exist"):
        ib.absolute_throughput(frame, palette="clasic")


def test_relative_throughput_is_marked_outside_five_per_cent() -> None:
    runs = [Run(), *(Run(f"q{q}", minute=m, queries=q) for m, q in enumerate((4748, 4760, 5240, 5260), start=1))]
    frame = asked("step_throughput", *runs)
    table = Parsed(ib.relative_throughput(frame, "system.cy10a"))
    assert table.of("system.cy10a (base)") == ["1.00"] * 4
    shown = [table.of(f"system.q{queries}")[3] for queries in (4748, 4760, 5240, 5260)]
    assert shown == ["0.95 ▼", "0.95", "1.05", "1.05 ▲"]


@pytest.mark.slow
def test_with_repeats_a_cell_is_marked_only_when_its_interval_clears_the_threshold() -> None:
    clear = ratio([200.0, 202.0, 204.0], [100.0, 101.0, 102.0])
    assert clear and clear.low and clear.low > 1.9 and clear.verdict == "better"
    noisy = ratio([60.0, 120.0, 200.0], [100.0, 101.0, 102.0])
    assert noisy and noisy.value > 1.05 and noisy.verdict == "same"
    assert ratio([1.0], [0.0]) is None
    runs = [Run(repeat=n, minute=n, queries=5000 + 10 * n) for n in (1, 2, 3)]
    runs += [Run("b", repeat=n, minute=10 + n, queries=2500 + 10 * n) for n in (1, 2, 3)]
    table = Parsed(ib.relative_throughput(asked("step_throughput", *runs), "system.cy10a"))
    assert re.fullmatch(r"0\.50 \[0\.\d\d, 0\.\d\d\] ▼", table.of("system.b")[3])
    assert any("Median of up to 3 runs" in row[0] for row in table.rows)


@pytest.mark.slow
@pytest.mark.parametrize("status", ["failed", "interrupted"])
def test_a_failed_step_is_a_word_and_its_run_is_marked(status: Status) -> None:
    failed = Run("x", minute=1, status=status, failed_step="l.i1", error="lost", steps=("l.i0", "l.x", "l.i1"))
    frame = asked("step_throughput", Run(), failed)
    assert Parsed(ib.absolute_throughput(frame)).of("system.x") == ["2,000 † ▲", "10,000 † ▲", status, "not run"]
    relative = Parsed(ib.relative_throughput(frame, "system.cy10a"))
    assert relative.of("system.x") == ["1.00 †", "1.00 †", status, "not run"]
    assert ["† of a run that did not complete."] in relative.rows
    metrics = asked("step_metrics", Run(), failed).filter(pl.col("step") == "l.i1")
    assert set(Parsed(ib.step_metrics_table(metrics)).of("system.x")) == {status}
    # A failed base leaves nothing to compare with.
    relative = Parsed(ib.relative_throughput(frame, "system.x"))
    assert relative.of("system.x (base)")[:2] == ["1.00 †", "1.00 †"]
    assert relative.of("system.cy10a") == ["1.00", "1.00", "no base", "no base"]


def test_a_ratio_says_which_of_its_runs_did_not_complete() -> None:
    steps = ("l.i0", "l.x", "l.i1")
    failed = Run("x", repeat=2, minute=2, status="interrupted", failed_step="l.i1", steps=steps)
    frame = asked("step_throughput", Run(), Run("x", minute=1), failed)
    assert Parsed(ib.relative_throughput(frame, "system.cy10a")).of("system.x") == [
        "1.00 †",
        "1.00 †",
        "1.00 (1 of 2 not complete)",
        "1.00 (1 of 2 not complete)",
    ]


def test_a_client_bound_step_says_so() -> None:
    run = Run(client_bound="a querier used 97 % of a core")
    frame = asked("step_throughput", run)
    for table, cell in (
        (ib.absolute_throughput(frame), "1,000 ‡ ▲"),
        (ib.relative_throughput(frame, "system.cy10a"), "1.00 ‡"),
    ):
        drawn = Parsed(table)
        assert [row[-1] for row in drawn.rows if row[0].startswith("system.cy10a")] == [cell]
        assert any("a querier used 97 % of a core" in row[0] for row in drawn.rows)
    responses = asked("response_time_histogram", run)
    queries = Parsed(ib.response_time_table(responses.filter(pl.col("operation") == "range_query")))
    assert queries.of("system.cy10a ‡")[-1] == "2.000"
    assert any("‡ system.cy10a, qr100: limited by the clients" in row[0] for row in queries.rows)


def test_steps_that_nobody_took_a_second_for_are_not_marked() -> None:
    frame = asked("step_throughput", *three_configurations(), Run("slow", minute=5, background_rows=900))
    in_l_i1, in_qr100 = pl.col("step") == "l.i1", pl.col("step") == "qr100"
    brief = pl.when(in_l_i1 | in_qr100).then(pl.col("duration_s") / 100).otherwise("duration_s")
    short = frame.with_columns(duration_s=brief)
    note = "No ▲ or ▼ where a step took less than 1 s: l.i1 and qr100."
    absolute = Parsed(ib.absolute_throughput(short))
    assert absolute.of("system.cy10ap1lag") == ["2,000 ▲", "10,000 ▲", "2,500", "1,000"]
    assert absolute.of("system.slow")[3] == "1,000 ✕"
    relative = Parsed(ib.relative_throughput(short, "system.cy10a"))
    assert relative.of("system.cy10ap1")[3] == relative.of("system.cy10ap1lag")[2] == "0.50"
    for table in (absolute, relative):
        assert any(note in row[0] for row in table.rows)
    said = ib.throughput_statements(short, "system.cy10a")
    assert "Not compared, because they took less than 1 s: l.i1 and qr100 in cached (0.05 s to 0.20 s)." in said
    # One that took longer is enough to compare with.
    one = frame.with_columns(
        duration_s=pl.when(in_l_i1 & (pl.col("dbms") != "system.cy10ap1lag")).then(0.5).otherwise("duration_s")
    )
    relative = Parsed(ib.relative_throughput(one, "system.cy10a"))
    assert relative.of("system.cy10ap1lag")[2] == "0.50 ▼"
    assert not any("less than 1 s" in row[0] for row in relative.rows)


@pytest.mark.slow
def test_a_step_loaded_from_a_snapshot_says_so_in_the_place_of_a_number() -> None:
    first = Run()
    others = [
        Run(minute=1, repeat=2, steps=("l.i1", "qr100"), loaded_from=first.run_id),
        Run("other", minute=2, steps=("l.i1", "qr100"), loaded_from=first.run_id),
    ]
    lake = lake_of(first, *others)
    frame = answer(lake, "step_throughput")
    table = Parsed(ib.absolute_throughput(frame))
    assert table.of("system.cy10a")[0] == "2,000 (1 of 2 loaded from a snapshot)"
    assert table.of("system.other")[:2] == ["loaded from a snapshot"] * 2
    assert "not complete" not in str(table.rows)
    assert Parsed(ib.relative_throughput(frame, "system.cy10a")).of("system.other")[0] == "loaded from a snapshot"
    said = ib.run_statements(answer(lake, "selected_runs"))
    assert (
        "After step l.x, 2 of 3 runs continued with a copy of a data directory and empty caches; 2 of 2 runs started "
        "there, with rows that another run had loaded."
    ) in said
    relative = ib.throughput_statements(frame, "system.cy10a")
    assert not any("loaded" in sentence or "Not compared" in sentence for sentence in relative), relative
