"""Tables of throughput."""

import re

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.analysis.verdicts import ratio
from ibench_lib.ask.selection import choose
from ibench_lib.errors import ParameterError
from ibench_lib.show.kit import theme
from ibench_lib.show.kit.grid import Grid
from ibench_lib.show.kit.table_cells import factor_text
from ibench_lib.store.manifest import Status
from tests.shared import asked, lake_of
from tests.show.parsed import Parsed, golden
from tests.synthetic import Run, answer, three_configurations

pytestmark = pytest.mark.lake


def test_the_published_table_has_the_marks_of_its_authors() -> None:
    """18 configurations in nine steps: the rank of each figure, and whether its ratio is above 1.05 or below 0.95."""
    published = golden("published_20m_absolute.csv")
    missed = {(row["dbms"], row["step"]) for row in golden("published_20m_inserts.csv") if row["failed"] == "yes"}
    names, steps = (list(dict.fromkeys(row[key] for row in published)) for key in ("dbms", "step"))
    frame = pl.DataFrame(
        [
            {
                "setup": "20m", "dbms": row["dbms"], "dbms_position": names.index(row["dbms"]), "repeat": 1,
                "run_status": "complete", "step_id": steps.index(row["step"]), "step": row["step"],
                "step_status": "complete", "rate_label": "queries/s" if row["step"].startswith("q") else "inserts/s",
                "throughput": float(row["value"]), "sla_failed": (row["dbms"], row["step"]) in missed,
                "duration_s": None,
            }
            for row in published
        ]
    )  # fmt: skip
    table = Parsed(ib.throughput_table(frame, names[0]))
    drawn = {name: table.of(f"{name} (base)" if name == names[0] else name) for name in names}
    assert len(drawn) == 18 and {len(cells) for cells in drawn.values()} == {9}
    of_base = {row["step"]: int(row["value"]) for row in published if row["dbms"] == names[0]}
    for row in published:
        shown, value = drawn[row["dbms"]][steps.index(row["step"])], int(row["value"])
        percent = round(100 * value / of_base[row["step"]])
        word = " above" if percent > 105 else " below" if percent < 95 else ""
        relative = "" if row["dbms"] == names[0] else f"\n{factor_text(value / of_base[row['step']])}x{word}"
        failed = " (target missed)" if (row["dbms"], row["step"]) in missed else ""
        rank = "" if row["cell"] == "middle" else f" {row['cell']}"
        assert shown == f"{value:,}{failed}{rank}{relative}", row
    assert not any("faster" in cell or "slower" in cell for row in table.rows for cell in row)
    assert any(row[0].startswith("top, bottom: ") for row in table.rows)


def test_a_cell_has_the_throughput_and_below_it_the_ratio_to_the_base() -> None:
    frame = asked("step_throughput", *three_configurations())
    table = Parsed(ib.throughput_table(frame, "system.cy10a"))
    assert table.of("system.cy10a (base)") == ["2,000", "10,000", "5,000 top", "1,000 top"]
    assert table.of("system.cy10ap1") == [
        *("2,000\n1.00x", "10,000\n1.00x", "5,000 top\n1.00x", "500 bottom\n0.50x below"),
    ]
    assert table.of("system.cy10ap1lag") == [
        *("2,000\n1.00x", "10,000\n1.00x", "2,500 bottom\n0.50x below", "1,000 top\n1.00x"),
    ]
    assert {"col", "row"} <= set(table.scopes) <= {"col", "colgroup", "row"}
    for note in ("One run, noise unknown.", "A rank is no difference", "above, below: over 1.05 or under 0.95"):
        assert any(note in row[0] for row in table.rows)
    alone = Parsed(ib.throughput_table(frame))
    assert alone.of("system.cy10ap1") == ["2,000", "10,000", "5,000 top", "500 bottom"]
    assert not any("base" in row[0] for row in alone.rows)
    plain = Parsed(ib.throughput_table(frame, "system.cy10a", ranks=False))
    assert plain.of("system.cy10ap1")[3] == "500\n0.50x"
    assert any("With one run nothing is marked." in row[0] for row in plain.rows)


@pytest.mark.slow
def test_ranks_are_shown_of_repeats_if_they_are_asked_for() -> None:
    frame = asked("step_throughput", *pairs_of_runs())
    table = Parsed(ib.throughput_table(frame, "system.cy10a", ranks=True))
    assert re.fullmatch(r"504 bottom\n0\.50x \[0\.\d\d, 0\.\d\d\] below", table.of("system.b")[3])
    assert not any("slower" in cell for row in table.rows for cell in row)


@pytest.mark.slow
def test_the_palette_decides_the_colours() -> None:
    frame = asked("step_throughput", *pairs_of_runs())
    for name in ("default", "classic"):
        (table,) = ib.each(frame, ib.throughput_table, base="system.b", palette=name).items
        assert isinstance(table, Grid)
        assert f'data-mark="{theme.PALETTES[name].token("good")}"' in table.markup()
    with pytest.raises(ParameterError, match="palette 'clasic' does not exist"):
        ib.each(frame, ib.throughput_table, palette="clasic")


def pairs_of_runs() -> list[Run]:
    """Three runs of two dbms; b answers half as many queries."""
    runs = [Run(repeat=n, minute=n, queries=5000 + 10 * n) for n in (1, 2, 3)]
    return runs + [Run("b", repeat=n, minute=10 + n, queries=2500 + 10 * n) for n in (1, 2, 3)]


@pytest.mark.slow
def test_with_repeats_a_cell_is_marked_only_when_its_interval_clears_the_threshold() -> None:
    clear = ratio([200.0, 202.0, 204.0], [100.0, 101.0, 102.0])
    assert clear and clear.low and clear.low > 1.9 and clear.verdict == "better"
    noisy = ratio([60.0, 120.0, 200.0], [100.0, 101.0, 102.0])
    assert noisy and noisy.value > 1.05 and noisy.verdict == "same"
    assert ratio([1.0], [0.0]) is None
    table = Parsed(ib.throughput_table(asked("step_throughput", *pairs_of_runs()), "system.cy10a"))
    assert re.fullmatch(r"504\n0\.50x \[0\.\d\d, 0\.\d\d\] slower", table.of("system.b")[3])
    assert table.of("system.b")[2].startswith("5,000\n1.00x") and "slower" not in table.of("system.b")[2]
    assert any("Median of 3 runs" in row[0] or "Median of up to 3 runs" in row[0] for row in table.rows)


@pytest.mark.slow
def test_each_build_is_compared_with_its_own_base_and_the_bases_with_the_first() -> None:
    runs = [
        Run(config, build=build, repeat=n, minute=10 * place + n, queries=queries + 10 * n)
        for place, (build, config, queries) in enumerate(
            [("maria", "base", 4000), ("maria", "f1", 4000), ("mysql", "base", 8000), ("mysql", "f1", 4000)]
        )
        for n in (1, 2, 3)
    ]
    lake = lake_of(*runs)
    post = choose(lake, "demo")
    table = Parsed(ib.throughput_table(post.ask("step_throughput"), post.bases))
    first, same, other, half = (
        table.of(name)[3] for name in ("maria.base (base)", "maria.f1", "mysql.base (base)", "mysql.f1")
    )
    assert first == "804" and same.startswith("804\n1.00x [")
    assert other.startswith("1,604\n2.00x [") and other.endswith("faster"), "the builds, each with its base"
    assert half.startswith("804\n0.50x [") and half.endswith("slower"), "with the base of its own build"
    said = ib.throughput_statements(post.ask("step_throughput"), post.bases)
    (sentence,) = [text for text in said if text.startswith("cached, qr100")]
    assert "queries/s: faster than maria.base: mysql.base 2.00x" in sentence
    assert "slower than mysql.base: mysql.f1 0.50x" in sentence


@pytest.mark.slow
@pytest.mark.parametrize("status", ["failed", "interrupted"])
def test_a_failed_step_is_a_word_and_its_run_is_marked(status: Status) -> None:
    failed = Run("x", minute=1, status=status, failed_step="l.i1", error="lost", steps=("l.i0", "l.x", "l.i1"))
    frame = asked("step_throughput", Run(), failed)
    relative = Parsed(ib.throughput_table(frame, "system.cy10a"))
    assert relative.of("system.x") == ["2,000 †\n1.00x", "10,000 †\n1.00x", status, "not run"]
    assert ["† of a run that did not complete."] in relative.rows
    metrics = asked("step_metrics", Run(), failed).filter(pl.col("step") == "l.i1")
    assert set(Parsed(ib.step_metrics_table(metrics)).of("system.x")) == {status}
    # A failed base leaves nothing to compare with.
    relative = Parsed(ib.throughput_table(frame, "system.x"))
    assert relative.of("system.x (base)")[:2] == ["2,000 †", "10,000 †"]
    assert relative.of("system.cy10a") == ["2,000\n1.00x", "10,000\n1.00x", "5,000\nno base", "1,000\nno base"]


def test_a_ratio_says_which_of_its_runs_did_not_complete() -> None:
    steps = ("l.i0", "l.x", "l.i1")
    failed = Run("x", repeat=2, minute=2, status="interrupted", failed_step="l.i1", steps=steps)
    frame = asked("step_throughput", Run(), Run("x", minute=1), failed)
    assert Parsed(ib.throughput_table(frame, "system.cy10a")).of("system.x") == [
        "2,000 †\n1.00x",
        "10,000 †\n1.00x",
        "5,000 (1 of 2 not complete)\n1.00x",
        "1,000 (1 of 2 not complete)\n1.00x",
    ]


def test_a_client_bound_step_says_so() -> None:
    run = Run(client_bound="a querier used 97 % of a core")
    frame = asked("step_throughput", run)
    drawn = Parsed(ib.throughput_table(frame))
    assert drawn.of("system.cy10a")[-1] == "1,000 ‡"
    assert any("a querier used 97 % of a core" in row[0] for row in drawn.rows)
    responses = asked("response_time_histogram", run)
    queries = Parsed(ib.response_time_table(responses.filter(pl.col("operation") == "range_query")))
    assert queries.of("system.cy10a ‡")[-1] == "2.000"
    assert any("‡ system.cy10a, qr100: limited by the clients" in row[0] for row in queries.rows)


@pytest.mark.slow
def test_steps_that_nobody_took_a_second_for_are_left_out_of_comparisons() -> None:
    slow = [Run("slow", repeat=n, minute=20 + n, background_rows=900) for n in (1, 2, 3)]
    frame = asked("step_throughput", *pairs_of_runs(), *slow)
    in_qr100 = pl.col("step") == "qr100"
    short = frame.with_columns(duration_s=pl.when(in_qr100).then(pl.col("duration_s") / 100).otherwise("duration_s"))
    table = Parsed(ib.throughput_table(short, "system.cy10a"))
    assert len(table.of("system.b")) == 3 and not any("qr100" in row for row in table.rows[:2])
    note = "Too short to compare (under 1 s): qr100."
    assert any(note in row[0] for row in table.rows)
    # Figures without a base are all shown.
    assert len(Parsed(ib.throughput_table(short)).of("system.b")) == 4
    # Where no step took a second, their figures stand without a mark.
    only = Parsed(ib.throughput_table(short.filter(in_qr100), "system.cy10a"))
    assert only.of("system.b")[0].startswith("504\n0.50x") and "slower" not in only.of("system.b")[0]
    assert only.of("system.slow")[0].endswith("target missed") and any(note in row[0] for row in only.rows)
    said = ib.throughput_statements(short, "system.cy10a")
    assert "Too short to compare (under 1 s): qr100 in cached (0.05 s)." in said
    # One that took longer is enough to compare with.
    one = frame.with_columns(
        duration_s=pl.when(in_qr100 & (pl.col("dbms") != "system.b")).then(0.5).otherwise("duration_s")
    )
    table = Parsed(ib.throughput_table(one, "system.cy10a"))
    assert table.of("system.b")[3].endswith("slower")
    assert not any("less than 1 s" in row[0] for row in table.rows)


@pytest.mark.slow
def test_a_step_loaded_from_a_snapshot_says_so_in_the_place_of_a_number() -> None:
    first = Run()
    others = [
        Run(minute=1, repeat=2, steps=("l.i1", "qr100"), loaded_from=first.run_id),
        Run("other", minute=2, steps=("l.i1", "qr100"), loaded_from=first.run_id),
    ]
    lake = lake_of(first, *others)
    frame = answer(lake, "step_throughput")
    table = Parsed(ib.throughput_table(frame, "system.cy10a"))
    assert table.of("system.cy10a (base)")[0] == "2,000 (1 of 2 loaded from a snapshot)"
    assert table.of("system.other")[:2] == ["loaded from a snapshot"] * 2
    assert "not complete" not in str(table.rows)
    said = ib.run_statements(answer(lake, "selected_runs"))
    assert (
        "After step l.x, 2 of 3 runs continued on a copy of a data directory, with empty caches; 2 of 2 runs started "
        "there, on rows that another run had loaded."
    ) in said
    relative = ib.throughput_statements(frame, "system.cy10a")
    assert not any("loaded" in sentence or "Not compared" in sentence for sentence in relative), relative
