"""Releases in their order: which lines there are, and which builds have no place in one."""

from __future__ import annotations

import polars as pl
import pytest

from ibench_lib.analysis.history import RATE, Build, arrival, built_unlike, compiler_of, history_of
from ibench_lib.ask.provenance import answer_of, names_of
from ibench_lib.errors import ParameterError
from tests.show.released import FACTS, builds_of, noisy, points_of, six


def of(name: str, release: tuple[int, int, int], **facts: object) -> Build:
    return Build(name, release, {**FACTS, **facts})


def test_a_line_has_the_releases_of_one_flavour_in_the_order_of_versions() -> None:
    maria = points_of({"b10.11.5": noisy(5), "b10.2.11": noisy(4)}, flavour="mariadb")
    points = pl.concat([six(), maria])
    history = history_of(points, builds_of(points))
    assert [line.label for line in history.lines] == ["mariadb, cached", "mysql, cached"]
    assert [build.name for build in history.lines[0].builds] == ["b10.2.11", "b10.11.5"]
    assert [build.name for build in history.lines[1].builds] == [
        "b5.7.44", "b8.0.28", "b8.0.29", "b8.0.30", "b8.0.31", "b9.1.0",
    ]  # fmt: skip
    places = {(line, name) for line, _, _, name in history.to_base}
    assert ("mariadb, cached", "b10.11.5") in places and ("mysql, cached", "b5.7.44") not in places


def test_configurations_setups_experiments_and_scales_make_lines_of_their_own() -> None:
    frames = [
        six(), six(config="d"), six(setup="io"), six(experiment="other"), six(scale=0.5),
    ]  # fmt: skip
    points = pl.concat(frames)
    assert [line.label for line in history_of(points, builds_of(six())).lines] == [
        "history, mysql, c, cached, scale 0.5", "history, mysql, c, cached, scale 1.0",
        "history, mysql, d, cached, scale 1.0", "other, mysql, c, cached, scale 1.0",
        "history, mysql, c, io, scale 1.0",
    ]  # fmt: skip


def test_a_build_has_no_place_without_a_version_that_has_numbers() -> None:
    points = points_of({"btrunk": noisy(1), "b8.0.1": noisy(1), "b8.0.2": noisy(1), "b8.0.3": noisy(1)})
    builds = builds_of(points)
    two = builds.filter(pl.col("build") == "b8.0.2").with_columns(server_version=pl.lit("8.0.4"))
    lost = pl.when(pl.col("build") == "b8.0.3").then(None).otherwise("server_version")
    history = history_of(points, pl.concat([builds.with_columns(server_version=lost), two]))
    assert history.unplaced == (
        "btrunk (version trunk)",
        "b8.0.2 (its runs were of several versions: 8.0.2, 8.0.4)",
        "b8.0.3 (its version is not known)",
    )
    assert [build.name for build in history.lines[0].builds] == ["b8.0.1"]
    assert set(history.points["build"]) == {"b8.0.1"}


def test_a_release_that_missed_a_target_in_any_run_is_in_no_series_of_that_step() -> None:
    points = pl.concat([six(of="qr100", metric="qps"), six()])
    one = (pl.col("build") == "b8.0.30") & (pl.col("step") == "qr100") & (pl.col("repeat") == 2)
    missing = {"value": None, "problem": "the step missed its target rate", "missed": True}
    changes = [pl.when(one).then(pl.lit(new)).otherwise(name).alias(name) for name, new in missing.items()]
    points = points.with_columns(changes)
    history = history_of(points, builds_of(points))
    assert ("mysql, cached", "qr100", RATE, "b8.0.30") not in history.to_base
    assert ("mysql, cached", "l.i0", RATE, "b8.0.30") in history.to_base
    (found,) = history.found("mysql, cached", "qr100", RATE)
    assert (found.before, found.after, found.points_after) == ("b8.0.29", "b8.0.31", 2)


def test_what_has_zeros_or_is_as_small_as_its_rounding_is_not_judged() -> None:
    zeros = points_of({"b8.0.1": [0.0, 1.0, 2.0], "b8.0.2": [1.0, 1.0, 2.0]}, metric="rpq")
    tiny = points_of({"b8.0.1": [0.001, 0.002, 0.001], "b8.0.2": [0.004, 0.005, 0.004]}, metric="cspq")
    points = pl.concat([zeros, tiny])
    history = history_of(points, builds_of(points))
    assert history.untested == (("mysql, cached", "l.i0", "rpq"),)
    assert history.changes == () and not history.to_base
    assert len(history.costs) == 12


def by_date() -> pl.DataFrame:
    """Two release lines of MySQL at the same time, and a build whose date nobody knows."""
    levels = {"b8.0.30": 1000, "b5.7.44": 900, "b5.7.40": 1200, "b8.0.34": 1010, "b8.0.28": 990, "b8.0.99": 500}
    return points_of({name: noisy(level, seed=seed) for seed, (name, level) in enumerate(levels.items())})


def test_in_the_order_of_dates_a_release_line_goes_on_with_its_own_releases() -> None:
    points = by_date()
    history = history_of(points, builds_of(points), "date")
    assert [(line.label, [build.name for build in line.builds]) for line in history.lines] == [
        ("mysql 5.7, cached", ["b5.7.40", "b5.7.44"]),
        ("mysql 8.0, cached", ["b8.0.28", "b8.0.30", "b8.0.34"]),
    ]
    (chart,) = history.charts
    assert [build.name for build in chart.builds] == ["b8.0.28", "b8.0.30", "b5.7.40", "b8.0.34", "b5.7.44"]
    assert history.undated == ("b8.0.99",) and history.unplaced == ()
    assert set(history.points["chart"]) == {"mysql, cached"}
    (found,) = history.found("mysql 5.7, cached", "l.i0", RATE)
    assert (found.before, found.after) == ("b5.7.40", "b5.7.44")
    assert history.found("mysql 8.0, cached", "l.i0", RATE) == []
    # Each line has its own base, and the chart the oldest of all.
    assert history.to_base["mysql 5.7, cached", "l.i0", RATE, "b5.7.44"].value == pytest.approx(0.75, abs=0.02)
    first = {place[3]: one.value for place, one in history.to_first.items()}
    assert first == pytest.approx({"b8.0.30": 1.01, "b5.7.40": 1.21, "b8.0.34": 1.02, "b5.7.44": 0.91}, abs=0.03)


def test_in_the_order_of_versions_a_chart_is_a_line() -> None:
    points = by_date()
    history = history_of(points, builds_of(points))
    ((line,), (chart,)) = history.lines, history.charts
    assert chart.builds == line.builds and chart.label == line.label and line.release_line == ""
    assert history.undated == () and len(line.builds) == 6
    assert {place: one for place, one in history.to_base.items() if place[2] == RATE} == history.to_first


def test_an_order_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ParameterError, match="order 'age' is not known"):
        history_of(six(), builds_of(six()), "age")


def test_the_answers_stay_known_for_links() -> None:
    points = answer_of(six(), "release_points")
    builds = answer_of(builds_of(points), "builds")
    history = history_of(points, builds)
    assert names_of(history.points) == names_of(history.costs) == ("release_points",)
    assert names_of(history.builds) == ("builds",)
    assert history_of(points, builds) is history


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (of("a", (8, 0, 29)), of("b", (8, 0, 30)), "in b"),
        (of("a", (8, 0, 28)), of("b", (8, 0, 30)), "after a and by b"),
        (of("a", (5, 6, 24)), of("b", (9, 7, 0), compiler="GCC 15"),
         "after a and by b, or comes from how b was built (compiler: GCC 12.2.0, then GCC 15)"),
        (of("a", (10, 11, 5)), of("b", (10, 11, 5), compiler=None),
         "in how b was built: it is the same release as a (the compiler of b is not known)"),
    ],
)  # fmt: skip
def test_where_a_change_arrived_is_no_closer_than_the_data_tells(before: Build, after: Build, said: str) -> None:
    assert arrival(before, after) == said


@pytest.mark.parametrize(
    ("comment", "compiler"),
    [
        ("GCC: (GNU) 4.8.5 20150623 (Red Hat 4.8.5-16); GCC: (GNU) 4.8.5 20150623 (Red Hat 4.8.5-44)", "GCC 4.8.5"),
        ("GCC: (Debian 12.2.0-14+deb12u1) 12.2.0; Ubuntu clang version 14.0.0-1ubuntu1", "GCC 12.2.0; clang 14.0.0"),
        ("clang version 3.9", "clang 3.9"),
        ("Intel(R) C++ Compiler", "Intel(R) C++ Compiler"),
        (None, None),
    ],
)
def test_a_compiler_is_named_without_the_words_of_its_packager(comment: str | None, compiler: str | None) -> None:
    assert compiler_of(of("a", (1, 2, 3), compiler=comment)) == compiler


def test_builds_are_alike_only_if_all_is_known() -> None:
    assert built_unlike(of("a", (1, 2, 3)), of("b", (1, 2, 4), build_id="cd", stripped=True)) == []
    unlike = of("b", (1, 2, 4), compiler=None, malloc_library="jemalloc 5", ssl_library="WolfSSL 5", compile_os=None)
    assert built_unlike(of("a", (1, 2, 3)), unlike) == [
        "the compiler of b is not known", "allocator: system, then jemalloc 5", "TLS library: OpenSSL, then WolfSSL",
    ]  # fmt: skip
    linked = {"malloc_library": None, "ssl_library": None}
    one = of("a", (1, 2, 3), **linked, allocator="libjemalloc.so.2", tls_library=None)
    assert built_unlike(one, of("b", (1, 2, 4), **linked, tls_library="libssl.so.1.1")) == [
        "allocator: libjemalloc.so.2, then none linked", "TLS library: none linked, then libssl.so.1.1",
    ]  # fmt: skip
