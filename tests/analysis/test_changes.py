"""Series of releases and of nights, and what is found in them."""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from ibench_lib.analysis.changes import as_json, left_out, nightly_changes, regressions, release_changes
from ibench_lib.errors import ParameterError

SMALL = math.log(1.02)


def points(levels: dict[str, list[float]], **changed: Any) -> pl.DataFrame:
    """A row per value: of each build, named by its version, one value per round."""
    rows = []
    for build, values in levels.items():
        for repeat, value in enumerate(values, start=1):
            row = {
                "experiment": "history", "flavour": "mysql", "config": "c", "setup": "cached", "step_id": 1,
                "step": "l.i0", "benchmark": "insert_benchmark", "scale": 1.0, "host_class": "h",
                "client_core": "Python", "metric": "ips",
                "operation": None, "timing": None, "build": build, "server_version": build.removeprefix("b"),
                "cell_order": "shuffle 1", "origin_wall": datetime(2026, 1, 1) + timedelta(days=repeat),
                "repeat": repeat, "run_id": f"{build}-{repeat}", "problem": None, "value": value,
            }  # fmt: skip
            rows.append(row | changed)
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"problem": pl.String})


def releases(step: float = 0.8, **changed: Any) -> pl.DataFrame:
    """Six releases, of which the last three are at `step`, listed in no order."""
    random = np.random.default_rng(1)
    names = ["b8.0.9", "b10.0.1", "b8.0.10", "b5.6.24", "b9.0.0", "b5.7.1"]
    slow = {"b8.0.10", "b9.0.0", "b10.0.1"}
    level = {name: 1000 * (step if name in slow else 1) for name in names}
    return points({name: list(level[name] * np.exp(random.normal(0, 0.01, 4))) for name in names}, **changed)


def test_a_lasting_change_names_its_releases_in_the_order_of_versions() -> None:
    (found,) = release_changes(releases(), SMALL)
    assert (found.verdict, found.direction, found.current) == ("level", "worse", True)
    assert (found.before, found.after, found.points_before, found.points_after) == ("b8.0.9", "b8.0.10", 3, 3)
    assert found.ratio == pytest.approx(0.8, abs=0.02) and found.low and found.high
    assert found.low < 0.8 < found.high and found.q is not None and found.q <= 0.05
    assert found.level_before == pytest.approx(1000, rel=0.02)
    assert regressions([found]) == [found]
    (better,) = release_changes(releases(1.25), SMALL)
    assert better.direction == "better" and not regressions([better])
    (cost,) = release_changes(releases(1.25, metric="scpupq"), SMALL)
    assert cost.direction == "worse"


def test_a_run_far_from_the_others_counts_less_and_is_counted() -> None:
    disturbed = releases().with_columns(
        value=pl.when(pl.col("run_id") == "b8.0.9-2").then(pl.col("value") * 0.6).otherwise("value")
    )
    (plain,), (found,) = (release_changes(frame, SMALL) for frame in (releases(), disturbed))
    assert (found.verdict, found.after) == (plain.verdict, plain.after) == ("level", "b8.0.10")
    assert any("far from the others of its release" in note for note in found.confounds)
    assert found.ratio == pytest.approx(plain.ratio, rel=0.01)


def test_the_order_of_rows_changes_nothing() -> None:
    frame = releases()
    assert release_changes(frame.sample(fraction=1, shuffle=True, seed=2), SMALL) == release_changes(frame, SMALL)


def test_a_series_without_a_change_says_what_it_would_have_shown() -> None:
    (found,) = release_changes(releases(1.0), SMALL)
    assert found.verdict == "same" and found.mde is not None and found.mde <= 0.05
    loud = releases(1.0).with_columns(value=pl.col("value") ** 4 / 1e9)
    (found,) = release_changes(loud, SMALL)
    assert found.verdict == "unclear" and found.mde is not None and found.mde > 0.05


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (releases().filter(pl.col("repeat") <= 2), "2 complete rounds"),
        (releases().filter((pl.col("repeat") <= 2) | (pl.col("build") != "b9.0.0")), "2 complete rounds"),
        (releases().filter(pl.col("build") == "b9.0.0"), "only one release"),
        (releases(cell_order="grouped"), "not made in rounds"),
        (releases().with_columns(host_class=pl.when(pl.col("repeat") == 1).then(pl.lit("x")).otherwise("host_class")),
         "2 host classes"),
        (releases().with_columns(client_core=pl.when(pl.col("repeat") == 1).then(pl.lit("x")).otherwise("client_core")),
         "made with different clients (Python; x)"),
    ],
)  # fmt: skip
def test_where_the_data_cannot_say_the_series_abstains(frame: pl.DataFrame, why: str) -> None:
    (found,) = release_changes(frame, SMALL)
    assert found.verdict == "abstains" and why in (found.why or "")
    assert found.ratio is found.q is None and not regressions([found])


def test_an_order_that_was_always_the_same_is_named() -> None:
    (found,) = release_changes(releases(cell_order="interleaved"), SMALL)
    assert found.confounds[-1] == "the order within a round was always the same"


def test_a_version_without_a_place_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"version 'trunk', which has no place"):
        release_changes(points({"btrunk": [1.0, 2.0], "b8.0.1": [1.0, 2.0]}), SMALL)


def test_what_is_left_out_is_named_with_its_reason() -> None:
    frame = releases().with_columns(
        problem=pl.when(pl.col("run_id") == "b9.0.0-1").then(pl.lit("the clients limited the step"))
    )
    assert left_out(frame) == ["b9.0.0-1: the clients limited the step (l.i0)"]
    zero = pl.when(pl.col("run_id") == "b9.0.0-1").then(0.0).otherwise(pl.col("value"))
    metric = releases()["metric"][0]
    assert left_out(releases().with_columns(value=zero)) == [f"b9.0.0-1: {metric} is 0, which has no ratio (l.i0)"]


def nights(step: float, reference_too: bool = False) -> pl.DataFrame:
    random = np.random.default_rng(1)
    level = np.where(np.arange(60) < 30, 1000, 1000 * step)
    values = {"b9.0.0": level, "b8.0.1": level if reference_too else np.full(60, 500.0)}
    return points({name: list(of * np.exp(random.normal(0, 0.01, 60))) for name, of in values.items()})


def test_a_stream_is_judged_against_its_reference() -> None:
    (found,) = nightly_changes(nights(0.85), "b8.0.1", SMALL)
    assert (found.verdict, found.direction, found.current, found.after) == ("level", "worse", True, "2026-02-01")
    (both,) = nightly_changes(nights(0.85, reference_too=True), "b8.0.1", SMALL)
    assert both.verdict in ("same", "unclear") and not regressions([both])
    assert "ratio" in (both.design or "")


def test_a_stream_has_one_build_that_changes() -> None:
    with pytest.raises(ParameterError, match="these runs have 2"):
        nightly_changes(nights(1), None, SMALL)
    with pytest.raises(ParameterError, match="'nope' is no build"):
        nightly_changes(nights(1), "nope", SMALL)
    short = nights(1).filter(pl.col("repeat") <= 29)
    (found,) = nightly_changes(short, "b8.0.1", SMALL)
    assert found.verdict == "abstains" and found.why == "there are 29 nights with both builds; 30 are needed"


def test_gaps_and_a_bad_last_night_are_told() -> None:
    gap = nights(1).filter(~pl.col("repeat").is_between(20, 22))
    last = pl.when((pl.col("repeat") == 60) & (pl.col("build") == "b9.0.0")).then(0.7 * pl.col("value"))
    first, alarm = nightly_changes(gap.with_columns(value=last.otherwise("value")), "b8.0.1", SMALL)
    assert first.confounds == ("up to 3 nights missing in a row",) and first.verdict in ("same", "unclear")
    assert alarm.verdict == "unclear" and "four more pairs" in (alarm.why or "") and not regressions([alarm])


def test_the_answer_for_programs() -> None:
    answer = json.loads(as_json(release_changes(releases(), SMALL), ["x: y"], {"experiment": "history"}))
    assert answer["format_version"] == 1 and answer["left_out"] == ["x: y"]
    (change,) = answer["changes"]
    assert change["verdict"] == "level" and len(change["runs"]) == 24 and change["series_id"]
