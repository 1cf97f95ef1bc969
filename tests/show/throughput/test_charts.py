"""Charts of single seconds."""

import polars as pl
import pytest

import ibench_lib as ib
from ibench_lib.show.throughput.charts import _visible
from tests.shared import asked
from tests.show.traces import one, repeated, traces
from tests.synthetic import Run, three_configurations

pytestmark = pytest.mark.lake


def test_one_second_panels_share_both_axes() -> None:
    frame = asked("one_second", *three_configurations(), points=2000)
    inserts = one(frame, step="l.i1", operation="insert")
    figure = ib.rate_chart(inserts)
    for kind in ("x", "y"):
        matches = [figure.layout[f"{kind}axis{number}"].matches for number in ("", 2, 3)]
        assert len(set(matches)) == 2 and matches.count(None) == 1  # one leads, the others follow it
    assert [note.text for note in figure.layout.annotations] == ["system.cy10a", "system.cy10ap1", "system.cy10ap1lag"]
    (total,) = traces(figure, "all clients, system.cy10ap1lag")
    assert list(total.y) == [2500.0] * 20
    assert len(traces(figure, "client 1")) == len(traces(figure, "client 2")) == 3
    worst = ib.max_response_chart(inserts)
    for chart, what in ((figure, "inserts/s"), (worst, "max insert response (ms)")):
        assert chart.layout.meta["width"] == "full" and chart.layout.meta["what"] == what
        assert chart.layout.meta["time"] == "l.i1, cached", "one crosshair for the charts of a step"
    (total,) = traces(worst, "all clients, system.cy10a")
    assert list(total.y) == [2.0] * 10


def test_repeats_share_a_panel_and_the_one_with_the_median_rate_is_strong() -> None:
    frame = one(asked("one_second", *repeated(), points=2000), step="l.i1", operation="insert")
    factor = pl.col("repeat").replace_strict({1: 0.75, 2: 1.0, 3: 0.5})
    frame = frame.with_columns(rate_mean=pl.col("rate_mean") * factor)
    figure = ib.rate_chart(frame)
    assert [note.text for note in figure.layout.annotations] == [
        "system.cy10a r1 (r2, r3 (run: failed) pale)",
        "system.other",
    ]
    assert {(trace.xaxis, trace.yaxis) for trace in figure.data} == {("x", "y"), ("x2", "y2")}
    panel = [trace for trace in figure.data if trace.xaxis == "x"]
    assert [trace.name for trace in panel if trace.name.startswith("all")] == [
        "all clients, system.cy10a r2",
        "all clients, system.cy10a r3 (run: failed)",
        "all clients, system.cy10a r1",
    ]
    assert panel[-1].opacity is None and all(trace.opacity == 0.4 for trace in panel if "r2" in trace.name)
    own = frame.filter(dbms="system.cy10a", repeat=1, client=1)["rate_mean"].to_list()
    assert [list(trace.y) for trace in panel if trace.name == "client 1"] == [own]


def test_intervals_are_flat_from_their_beginning_to_their_end_and_nothing_is_drawn_between_them() -> None:
    frame = one(asked("one_second", Run(), points=2000), step="l.i1", operation="insert").filter(
        pl.col("client").is_null()
    )
    every = frame.head(3).with_columns(
        t_s=pl.Series([0.0, 10.0, 30.0]), bucket_s=10.0, interval_s=10.0, rate_mean=pl.Series([100.0, 40.0, 120.0])
    )
    every = every.with_columns(rate_min="rate_mean", rate_max="rate_mean")
    figure = ib.rate_chart(every)
    (line,) = figure.data
    assert list(line.x) == [0.05, 5, 9.95, 10.05, 15, 19.95, 20, 30.05, 35, 39.95]
    assert list(line.y) == [100] * 3 + [40] * 3 + [None] + [120] * 3
    assert figure.layout.meta["lasts_s"] == 0, "a crosshair reads points where they stand"
    assert [note.text for note in figure.layout.annotations] == ["system.cy10a, intervals of 10 s, each drawn flat"]
    together = every.with_columns(bucket_s=20.0, rate_min=pl.col("rate_mean") / 2)
    low, high, _ = ib.rate_chart(together).data
    assert (low.name, list(low.y)[:3], high.name, list(high.y)[:3]) == ("min", [50] * 3, "max", [100] * 3)


def test_hovering_shows_whole_names_and_units() -> None:
    """Repeats differ in the end of their names only."""
    frame = one(asked("one_second", *repeated(), points=2000), step="l.i1", operation="insert")
    for figure, unit in ((ib.rate_chart(frame), "inserts/s"), (ib.max_response_chart(frame), "ms")):
        assert figure.layout.hoverlabel.namelength == -1
        assert {trace.hovertemplate for trace in figure.data} == {f"%{{y}} {unit}"}


def test_the_shortest_stall_of_a_pale_repeat_can_be_seen() -> None:
    frame = one(asked("one_second", *repeated(), points=4), step="l.i1", operation="insert")
    figure = ib.rate_chart(frame)
    assert [trace.opacity for trace in traces(figure, "min") if trace.xaxis == "x"] == [0.2, 0.2, 0.5]


def test_the_strong_repeat_is_that_of_the_main_operations_if_their_rates_are_given() -> None:
    frames = {name: asked(name, *repeated(), points=2000) for name in ("one_second", "steadiness")}
    factor = pl.col("repeat").replace_strict({1: 2.0, 2: 3.0, 3: 1.0})
    steadiness = frames["steadiness"].with_columns(median_rate=pl.col("median_rate") * factor)
    for operation in ("insert", "delete"):
        frame = one(frames["one_second"], step="l.i1", operation=operation)
        for figure in (
            ib.rate_chart(frame, steadiness=steadiness),
            ib.max_response_chart(frame, steadiness=steadiness),
        ):
            assert figure.layout.annotations[0].text == "system.cy10a r1 (r2, r3 (run: failed) pale)"


def test_without_the_sum_of_all_clients_the_first_repeat_is_strong() -> None:
    frame = one(asked("one_second", *repeated(), points=2000), step="l.i1", operation="insert")
    figure = ib.rate_chart(frame.filter(pl.col("client").is_not_null()))
    assert figure.layout.annotations[0].text == "system.cy10a r1 (r2, r3 (run: failed) pale)"
    assert len(traces(figure, "client 1")) == 2  # of each dbms


def test_dips_of_pale_repeats_are_pale_and_named_where_the_strong_one_leaves_room() -> None:
    frame = one(asked("one_second", *repeated(), points=2000), step="l.i1", operation="insert")
    runs = frame.filter(dbms="system.cy10a").unique("run_id").sort("repeat").select("run_id", "step_id")
    dips = pl.concat([runs.head(2), runs.head(1)]).with_columns(
        from_s=pl.Series([1, 6, 6]), to_s=pl.Series([2, 8, 7]), lost=pl.Series([2.0, 1.0, 3.0]),
        label=pl.Series(["redo", "purge", "checkpoint"]),
    )  # fmt: skip
    figure = ib.rate_chart(frame, dips=dips)
    bands = [(shape.x0, shape.x1, shape.xref, shape.opacity) for shape in figure.layout.shapes]
    assert bands == [(6, 8, "x", 0.55), (1, 2, "x", 0.4 * 0.55), (6, 7, "x", 0.4 * 0.55)]
    assert {note.x: note.text for note in figure.layout.annotations[2:]} == {1.5: "r1: redo", 7: "purge"}


def test_a_step_that_nobody_took_a_second_for_has_no_panels() -> None:
    failed = Run("x", minute=1, status="failed", failed_step="l.i1", steps=("l.i0", "l.x", "l.i1"))
    frame = one(asked("one_second", Run(), failed, points=2000), step="l.i1", operation="insert")
    short = frame.with_columns(rate_mean=pl.lit(None, pl.Float64))
    for figure in (ib.rate_chart(short), ib.max_response_chart(short)):
        assert not figure.data
        (note,) = figure.layout.annotations
        assert note.text == "no run has a full second of this step; system.x (l.i1: failed)"


@pytest.mark.parametrize(("most", "decimals"), [(23_456.7, 0), (1_000.0, 0), (999.9, 1), (12.3, 2), (0.5, 3), (0.0, 3)])
def test_values_have_the_digits_that_can_be_seen(most: float, decimals: int) -> None:
    assert _visible(pl.Series([0.0, most, None]), 3) == decimals
