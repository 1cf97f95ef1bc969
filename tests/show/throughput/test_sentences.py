"""Sentences about throughput."""

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.analysis.against import against_base
from ibench_lib.paths import Workspace
from ibench_lib.show.kit.wording import change_text
from tests.show.parsed import Parsed
from tests.show.saying import COSTS, frame_of, made_of, spoken
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def test_throughput_is_compared_with_the_base_beyond_noise() -> None:
    frame = frame_of(
        "throughput", base=[100, 101, 102], fast=[200, 202, 204], noisy=[60, 120, 200], slow=[50, 50.5, 51]
    )
    chance, said = ib.throughput_statements(frame, "base")
    assert ib.throughput_caveat_statements(frame, "base") == [chance], "the first screen has the ratios"
    assert chance == (
        "Figures are medians, ratios are of geometric means. [low, high] is the 95 % interval of a ratio, from a t "
        "test with the noise of all selected configurations and steps of a setup. A ratio counts as a difference if it "
        "is below 0.95 or above 1.05 and chance does not explain it. The verdicts, not the intervals, allow for up to "
        "3 comparisons (Benjamini and Hochberg). If all configurations are equal, chance produces a difference in at "
        "most 6 % of cases, or 8 % if they are not equally noisy. This holds for repeats in shuffled rounds, "
        "not for repeats made one after the other on a host that drifts, or a configuration with two speeds."
    )
    found = against_base(frame, "base", ["throughput"])
    low, noisy, high = (found["cached", "l.i1", "throughput", name] for name in ("fast", "noisy", "slow"))
    assert low.low and low.high and high.low and high.high and noisy.detectable
    change = change_text(noisy.detectable)
    assert said == (
        f"cached, l.i1, inserts/s: faster than base: fast 2.00x [{low.low:.2f}, {low.high:.2f}]; "
        f"slower than base: slow 0.50x [{high.low:.2f}, {high.high:.2f}]. 1 other: no "
        f"difference found; the smallest detectable change is {change} (about 80 % power)."
    )
    even = frame_of("throughput", base=[100, 101, 102], other=[100, 102, 101])
    assert ib.throughput_statements(even, "base")[1:] == [
        "cached: in l.i1 no configuration differs clearly from base (1 compared; the smallest detectable "
        "change is 6 % (about 80 % power))."
    ]


def test_two_runs_have_a_range_and_no_difference() -> None:
    two = frame_of("throughput", base=[100, 101], other=[200, 204])
    chance, said = ib.throughput_statements(two, "base")
    assert chance == (
        "Two runs: there are too few repeats to estimate the noise. The brackets hold the range of the ratio (low "
        "to high), and nothing counts as a difference."
    )
    assert said == ("cached: in l.i1 no configuration can be told from base with only two runs (1 compared).")
    # The noise of others makes it an interval.
    mixed = frame_of("throughput", base=[100, 101, 102], other=[200, 204], third=[100, 101, 102])
    assert "faster than base: other 2.00x [" in ib.throughput_statements(mixed, "base")[1]
    table = Parsed(ib.throughput_table(two, "base"))
    assert table.of("other") == ["202\n2.01x (1.98 to 2.04)"], "and no mark"
    notes = " ".join(row[0] for row in table.rows)
    assert "The brackets hold the range of the ratio" in notes and "95 %" not in notes


def test_a_step_of_less_than_a_second_is_not_compared() -> None:
    frame = frame_of("throughput", base=[100], fast=[200]).with_columns(
        duration_s=pl.Series([0.4, 0.2]), **dict.fromkeys(COSTS, pl.col("throughput"))
    )
    short = "Too short to compare (under 1 s): l.i1 in cached (0.20 to 0.40 s)."
    assert ib.throughput_statements(frame, "base") == ib.cost_statements(frame, "base") == [short]
    compared = frame.with_columns(duration_s=pl.Series([1.4, 0.2]))
    for said in (ib.throughput_statements(compared, "base"), ib.cost_statements(compared, "base")):
        assert short not in said and any("2.00x" in sentence for sentence in said)


def test_single_runs_carry_their_caveat() -> None:
    said = ib.throughput_statements(frame_of("throughput", "qr", base=[100], fast=[142], near=[104]), "base")
    assert said[0].startswith("A ratio without an interval comes from one run")
    assert said[1:] == ["cached, qr, queries/s: faster than base: fast 1.42x, one run. 1 other: no difference found."]
    assert sum("one run, so" in sentence for sentence in said) == 1


def test_what_noise_hides_is_not_called_equal() -> None:
    # 1.4 times the base, but its runs scatter: nothing is said of 0.95 to 1.05, also where another has one run.
    frame = frame_of("throughput", base=[100, 101, 102], scattering=[60, 141, 220], single=[104])
    assert ib.throughput_statements(frame, "base")[2:] == [
        "cached: in l.i1 no configuration differs clearly from base, and all with one run lie within 0.95x to "
        "1.05x of base (2 compared; the smallest detectable change is 35x (about 80 % power))."
    ]
    assert ib.throughput_statements(frame_of("throughput", base=[100], single=[104]), "base")[1:] == [
        "cached: in l.i1 no configuration lies below 0.95x or above 1.05x of base (1 compared)."
    ]


def test_a_number_that_is_not_the_server_s_alone_says_so() -> None:
    frame = frame_of("throughput", "qr", base=[100], fast=[150]).with_columns(
        client_bound=pl.when(pl.col("dbms") == "fast").then(pl.lit("busy")),
        sla_failed=pl.col("dbms") == "fast",
        run_status=pl.when(pl.col("dbms") == "base").then(pl.lit("failed")).otherwise(pl.lit("complete")),
    )
    assert ib.throughput_statements(frame, "base")[1:] == [
        "cached, qr, queries/s: faster than base: fast 1.50x, one run (limited by the clients, missed a target rate). "
        "base: from a run that did not complete.",
        "Limited by the clients, not by the server: fast in cached, qr.",
    ]


@pytest.mark.parametrize("of_base", [[None], [0.0]])
def test_without_a_number_of_the_base_nothing_is_compared(of_base: list[float | None]) -> None:
    frame = frame_of("throughput", base=of_base, other=[100])
    for statements in (ib.throughput_statements, ib.throughput_caveat_statements):
        assert statements(frame, "base") == ["cached, l.i1: base has no throughput to compare with."]
    alone = frame_of("throughput", base=[100])
    assert ib.throughput_statements(alone, "base") == [
        "Nothing is compared, because no configuration other than base has completed a step."
    ]


def test_time_in_statements_that_no_rate_counts_is_named_above_two_percent() -> None:
    frame = frame_of("throughput", "qr", base=[100, 101], slow=[99, 100], other=[100, 100]).with_columns(
        unrecorded_share=pl.Series([0.01, 0.02, 0.031, 0.25, None, None]),
        unrecorded_role=pl.Series(["querier"] * 4 + [None] * 2),
    )
    said = [sentence for sentence in ib.throughput_statements(frame, "base") if "count in no rate" in sentence]
    assert said == [
        "A client process spent over 2 % of the step in statements that count in no rate and in no response time: "
        "slow in cached, qr (querier, 25 %)."
    ]
    quiet = frame.with_columns(unrecorded_share=pl.lit(0.02))
    assert not [sentence for sentence in ib.throughput_statements(quiet, "base") if "count in no rate" in sentence]


def test_unrecorded_time_comes_from_the_client_processes_of_a_run(workspace: Workspace) -> None:
    worker = {
        "step_id": 3, "step": "qr100", "client": 3, "worker": 9, "role": "asker", "status": "complete", "start_s": 0.0,
        "end_s": 5.0, "ops": 0, "rows": 0, "errors": 0, "retries": 0, "unknown": 0, "unrecorded_s": 1.0,
    }  # fmt: skip
    made_of(workspace, Run("cy10a"), Run("other", minute=1, also=(("workers", worker),)))
    said = spoken(workspace, ib.throughput_statements)
    assert [sentence for sentence in said if "no response time: system.other" in sentence] == [
        "A client process spent over 2 % of the step in statements that count in no rate and in no response time: "
        "system.other in cached, qr100 (asker, 20 %)."
    ]
