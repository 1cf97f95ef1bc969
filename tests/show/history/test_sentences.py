"""Sentences about releases: they say what the data carries, and why nothing is said."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import ibench_lib as ib
from tests.show.released import builds_of, noisy, points_of, six

LASTING = "mysql, cached, l.i0: a lasting change arrived in b8.0.30: 20 % (18 to 22) fewer inserts/s."


def rates(points: pl.DataFrame, **of_build: dict[str, Any]) -> list[str]:
    return list(ib.release_rate_statements(points, builds_of(points, **of_build)))


def gaps(points: pl.DataFrame) -> list[str]:
    return list(ib.release_gap_statements(points, builds_of(points)))


def test_a_lasting_change_arrived_in_a_release_whose_neighbour_was_built_alike() -> None:
    assert rates(six()) == [LASTING]
    assert rates(six(1.25)) == [
        "mysql, cached, l.i0: a lasting change arrived in b8.0.30: 25 % (22 to 29) more inserts/s."
    ]
    assert rates(six(2.5)) == [
        "mysql, cached, l.i0: a lasting change arrived in b8.0.30: 2.50x (2.43 to 2.57) the inserts/s."
    ]


def test_a_change_is_said_with_the_costs_that_changed_at_the_same_release() -> None:
    costs = [six(1.25, metric="cpupq"), six(2.0, metric="cspq"), six(1.1, metric="rpq"), six(0.5, metric="wkbpi")]
    (said,) = rates(pl.concat([six(), *costs]))
    with_costs = LASTING.removesuffix(".") + " (with context switches/op 2.00x and CPU/op 1.25x)."
    assert said == with_costs  # the two largest; what fell with the rate explains nothing
    assert rates(pl.concat([six(), six(1.5, metric="response_p99_ms", operation="insert")])) == [LASTING]


def test_a_lasting_change_may_be_one_of_how_a_build_was_made() -> None:
    assert rates(six(), b8_0_30={"compiler": None}) == [
        "mysql, cached, l.i0: a lasting change arrived in b8.0.30, or comes from how b8.0.30 was built (the compiler "
        "of b8.0.30 is not known): 20 % (18 to 22) fewer inserts/s."
    ]


def test_where_a_release_was_not_measured_the_change_may_have_come_with_it() -> None:
    (said,) = rates(six().filter(pl.col("build") != "b8.0.30"))
    assert "a lasting change arrived after b8.0.29 and by b8.0.31: " in said


def test_with_two_releases_nobody_can_tell_whether_a_change_lasts() -> None:
    two = points_of({"b5.6.24": noisy(1000), "b9.7": noisy(920, seed=3)})
    assert rates(two) == [
        "mysql, cached, l.i0: b9.7 has 8.4 % (2.4 to 14) fewer inserts/s than b5.6.24. With one release on a side, "
        "nobody can tell whether that lasts."
    ]
    (said,) = rates(points_of({"b5.6.24": noisy(1000), "b9.7": noisy(3000, seed=3)}))
    assert "b9.7 has 2.99x (" in said and ") the inserts/s of b5.6.24." in said


def test_builds_differ_where_neighbours_scatter_as_much() -> None:
    levels = (1000, 1030, 1005, 1033, 1001, 1029)
    names = ("b8.0.1", "b8.0.2", "b8.0.3", "b8.0.4", "b8.0.5", "b8.0.6")
    values = {name: noisy(level, 5, 0.002, seed) for seed, (name, level) in enumerate(zip(names, levels, strict=True))}
    said = rates(points_of(values))
    assert said and not any("lasting" in sentence for sentence in said)
    assert said[0].startswith("mysql, cached, l.i0: b8.0.2 has 3.0 % (") and said[0].endswith("than b8.0.1.")


def test_no_change_is_said_with_what_would_be_found() -> None:
    points = pl.concat([six(1.0), six(1.0, "qr100", "qps")])
    assert rates(points) == [
        "mysql, cached: no change of 3 % or more in l.i0 and 3 % or more in qr100 (about 80 % power)."
    ]
    assert rates(six(1.0, sd=0.05)) == [
        "mysql, cached, l.i0: no change found; the smallest detectable change is 16 % (about 80 % power)."
    ]


def test_a_step_that_chance_may_have_made_in_one_of_many_series_is_told_and_not_counted() -> None:
    quiet = [six(1.0, metric=metric, sd=0.02) for metric in ("scpupq", "cpupq", "wkbpi", "rpq")]
    points = pl.concat([six(0.975, sd=0.02), *quiet])
    assert rates(points) == [
        "mysql, cached, l.i0: b8.0.30 to b9.1.0 have 2.6 % (0.8 to 4.3) fewer inserts/s than b5.7.44 to b8.0.29, but "
        "this is not counted as a change: by itself, chance makes such a step in 4.5 % of series, and if it counted, "
        "22 % of the reported changes would be due to chance."
    ]
    costs = pl.concat([six(0.975, metric="scpupq", sd=0.02), *quiet[1:]])
    (said,) = ib.release_cost_statements(costs, builds_of(costs))
    assert "(4 series); in 1 of them there is a step that may be due to chance; the smallest" in said


@pytest.mark.parametrize(
    ("points", "why"),
    [
        (six().filter(pl.col("repeat") <= 1), "there is 1 complete round of repeats; 6 releases need 3"),
        (six().filter(pl.col("build").is_in(["b8.0.29", "b8.0.30"]) & (pl.col("repeat") <= 3)),
         "there are 3 complete rounds of repeats; 2 releases need 5"),
        (six().filter(pl.col("build") == "b8.0.30"), "there is only one release"),
        (six(cell_order="grouped"),
         "its repeats were not made in rounds (order: grouped), so a drift of the host looks like a change"),
        (six().with_columns(host_class=pl.when(pl.col("repeat") == 1).then(pl.lit("x")).otherwise("host_class")),
         "its runs were made on 2 host classes"),
    ],
    ids=["one run", "two releases", "one release", "grouped", "hosts"],
)  # fmt: skip
def test_what_cannot_be_said_is_one_line(points: pl.DataFrame, why: str) -> None:
    assert rates(points) == [f"mysql, cached: the rates of l.i0 were not searched for changes: {why}."]


def test_releases_are_named_with_what_else_is_different() -> None:
    maria = points_of({"b10.11.5": noisy(1), "btrunk": noisy(1)}, flavour="mariadb")
    same = points_of({"bm10.11.5": noisy(1)}, flavour="mariadb", server_version="10.11.5-MariaDB", dbms_position=3)
    points = pl.concat([six(), maria, same])
    builds = builds_of(points, bm10_11_5={"compiler": "GCC 4"})
    assert ib.release_statements(points, builds) == [
        "mariadb: 2 builds of 1 release, b10.11.5 to bm10.11.5.",
        "b10.11.5 and bm10.11.5 are the same release, 10.11.5: what differs between them is how they were built.",
        "A change between these builds may come from how they were built: bm10.11.5 and b10.11.5 (compiler: GCC "
        "12.2.0, then GCC 4).",
        "mysql: 6 releases, b5.7.44 to b9.1.0.",
        "Releases of different flavours are not compared with each other.",
        "Left out, because they have no place in the order of releases: btrunk (version trunk).",
    ]


def test_a_build_of_another_name_is_shown_with_its_release() -> None:
    points = points_of({"system": noisy(1)}, server_version="10.11.19-MariaDB")
    assert ib.release_statements(points, builds_of(points)) == ["mysql: 1 release, system (10.11.19)."]


def test_a_label_of_several_binaries_is_named() -> None:
    points = points_of({"b8.0.1": noisy(1)})
    builds = pl.concat([builds_of(points, b8_0_1={"build_id": name}) for name in ("ab12", "cd34")])
    assert ib.release_statements(points, builds)[1:] == [
        "The runs of b8.0.1 used 2 binaries (build ids ab12 and cd34), which may have been built differently."
    ]


def test_costs_have_their_largest_changes_named() -> None:
    costs = [six(1.25, metric="scpupq"), six(3.0, metric="cspq"), six(0.9, metric="cpupq"), six(1.0, metric="wkbpi")]
    points = pl.concat([six(), *costs, six(1.5, metric="response_p99_ms", operation="insert")])
    (said,) = ib.release_cost_statements(points, builds_of(points))
    assert said.startswith(
        "mysql, cached, l.i0: cspq (context switches/op) is 3.00x (2.92 to 3.08) as high in b8.0.30 to b9.1.0 as "
        "in b5.7.44 to b8.0.29; p99 of insert is 50 % ("
    )
    assert "; scpupq (server CPU/op) is 25 % (" in said and said.endswith("; and 1 more.")
    quiet = six(1.0, metric="scpupq")
    assert ib.release_cost_statements(quiet, builds_of(quiet)) == [
        "mysql, cached: no change found in the costs of operations (1 series); the smallest detectable change is "
        "3 % (about 80 % power)."
    ]
    zeros = points_of({"b8.0.1": [0.0, 1.0], "b8.0.2": [1.0, 1.0]}, metric="rpq")
    assert ib.release_cost_statements(zeros, builds_of(zeros)) == [
        "Not judged, because some values are 0: rpq in mysql, cached, l.i0."
    ]


def test_who_is_left_out_is_named_with_the_reason() -> None:
    assert gaps(six()) == ["No release is left out of any step."]
    base = pl.col("build") == "b5.7.44"
    some = pl.col("repeat") <= 2
    missed = six().with_columns(
        value=pl.when(base & some).then(None).otherwise("value"), missed=base & some,
        problem=pl.when(base & some).then(pl.lit("the step missed its target rate")),
    )  # fmt: skip
    assert gaps(missed) == [
        "mysql, cached, l.i0: left out, because the step missed its target rate: b5.7.44 (in 2 of 5 runs).",
        "mysql, cached, l.i0: b5.7.44 has no value in this step, so there are no ratios and the chart has no line for "
        "the step.",
    ]
    bound = (pl.col("build") == "b9.1.0") & some
    limited = six().with_columns(
        value=pl.when(bound).then(None).otherwise("value"),
        problem=pl.when(bound).then(pl.lit("the clients limited the step")),
    )
    assert gaps(limited) == ["mysql, cached: left out, because the clients limited the step: b9.1.0 in l.i0 (2 runs)."]


def test_every_sentence_names_its_questions() -> None:
    for subject in (
        ib.release_statements, ib.release_rate_statements, ib.release_cost_statements, ib.release_gap_statements,
    ):  # fmt: skip
        assert subject.asks == ("release_points", "builds") and not subject.takes_base


def test_a_release_without_a_date_is_named_in_the_order_of_dates() -> None:
    points = points_of({name: noisy(1000) for name in ("b8.0.34", "b5.7.44", "b8.0.28", "b8.0.98", "b8.0.99")})
    gcc, clang = {"compiler": "GCC: (GNU) 9.1.0"}, {"compiler": "clang version 14.0.0"}
    builds = builds_of(points, b8_0_28=gcc, b8_0_34=gcc, b5_7_44=clang)
    assert ib.release_statements(points, builds, order="date") == [
        "mysql: 3 releases, b8.0.28 to b5.7.44.",
        "The release dates of b8.0.98 and b8.0.99 are not known, so this history, which is ordered by date, does not "
        "include them.",
    ]
    without_one = points.filter(pl.col("build") != "b8.0.99")
    assert ib.release_statements(without_one, builds_of(without_one), order="date")[-1] == (
        "The release date of b8.0.98 is not known, so this history, which is ordered by date, does not include it."
    )
    (said, unlike) = ib.release_statements(points, builds)
    assert said == "mysql: 5 releases, b5.7.44 to b8.0.99." and "b8.0.28 and b5.7.44 (compiler: clang" in unlike
