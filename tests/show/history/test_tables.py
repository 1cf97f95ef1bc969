"""Tables of releases."""

from __future__ import annotations

from typing import Any

import polars as pl

import ibench_lib as ib
from ibench_lib.analysis.history import history_of
from tests.show.parsed import Parsed
from tests.show.released import builds_of, noisy, points_of, six


def table(function: Any, points: pl.DataFrame, step: str | None = None, **of_build: dict[str, Any]) -> Parsed:
    history = history_of(points, builds_of(points, **of_build))
    frame = history.points if step is None else history.costs.filter(pl.col("step") == step)
    return Parsed(function(frame, history))


def notes(of: Parsed) -> str:
    return " ".join(row[0] for row in of.rows if len(row) == 1)


def test_builds_are_listed_oldest_first_with_their_facts() -> None:
    told = {"compiler": None, "stripped": True, "malloc_library": None, "ssl_library": None, "tls_library": None}
    not_told = {"told": False, "compiler": None, "build_id": None, "stripped": None, "malloc_library": None}
    found = table(ib.release_builds, six(), b8_0_30=told, b9_1_0=not_told)
    assert [row[0] for row in found.rows[2:-1]] == ["b5.7.44", "b8.0.28", "b8.0.29", "b8.0.30", "b8.0.31", "b9.1.0"]
    assert found.of("b5.7.44") == [
        "5.7.44 (Source)", "2023-10-25", "GCC 12.2.0", "abababababab, with symbols", "system", "OpenSSL 3.0.1",
        "Linux x86_64",
    ]  # fmt: skip
    assert found.of("b8.0.30")[2:6] == [
        "not found in the binary", "abababababab, stripped", "none linked", "none linked",
    ]  # fmt: skip
    assert found.of("b9.1.0")[2:5] == ["not recorded"] * 3


def test_a_release_without_a_date_says_so_and_a_tag_is_explained() -> None:
    points = points_of({"b5.7.40": noisy(1), "b5.7.99": noisy(1)})
    found = table(ib.release_builds, points)
    assert (found.of("b5.7.40")[1], found.of("b5.7.99")[1]) == ("2022-08-29 (tagged)", "not known")
    assert "Tagged: the day of the tag of its source, some weeks before the release." in notes(found)
    assert "Tagged" not in notes(table(ib.release_builds, six()))


def test_rates_are_absolute_and_relative_to_the_oldest_and_to_the_release_before() -> None:
    points = pl.concat([six(), six(1.0, "qr100", "qps")])
    rates = table(ib.release_rates, points)
    assert rates.of("b8.0.30") == ["797", "996"] and rates.of("b5.7.44") == ["1,003", "1,003"]
    to_base = table(ib.release_rates_to_base, points)
    assert to_base.of("b5.7.44 (base)") == ["1.00", "1.00"]
    assert to_base.of("b9.1.0") == ["0.80 [0.78, 0.81] worse", "1.00 [0.98, 1.02]"]
    before = table(ib.release_rates_to_before, points)
    assert before.of("b8.0.30") == ["0.80 [0.78, 0.82] worse", "1.00 [0.98, 1.02]"]
    assert before.of("b9.1.0") == ["1.00 [0.98, 1.02]", "1.00 [0.98, 1.02]"]
    assert not any(row[0].startswith("b5.7.44") for row in before.rows)


def test_next_to_a_rate_that_differs_are_the_costs_that_do() -> None:
    points = pl.concat([six(), six(1.0, "qr100", "qps"), six(1.25, metric="cpupq"), six(1.0, metric="cspq")])
    history = history_of(points, builds_of(points))
    found = Parsed(ib.release_reasons(history.differing, history))
    assert [row[0] for row in found.rows if row[0].startswith("l.i0")] == [
        "l.i0: b8.0.30",
        "l.i0: b8.0.31",
        "l.i0: b9.1.0",
    ]
    assert found.of("l.i0: b9.1.0") == ["0.80 [0.78, 0.81] worse", "1.25 [1.22, 1.27] worse"]
    assert "cpupq: CPU microseconds" in notes(found) and "cspq" not in notes(found)
    even = six(1.0)
    assert history_of(even, builds_of(even)).differing.is_empty()


def test_single_runs_and_mixed_hosts_have_no_mark() -> None:
    single = six().filter(pl.col("repeat") == 1)
    mixed = six().with_columns(host_class=pl.when(pl.col("repeat") == 1).then(pl.lit("x")).otherwise("host_class"))
    assert table(ib.release_rates_to_base, single).of("b9.1.0") == ["0.79"]
    assert table(ib.release_rates_to_base, mixed).of("b9.1.0") == ["0.80 [0.78, 0.81]"]
    assert "Nothing is marked in this history: its runs were made on 2 host classes." in notes(
        table(ib.release_rates_to_base, mixed)
    )
    for points in (single, mixed):
        assert " worse" not in str(table(ib.release_rates_to_before, points).rows[:-2])


def test_a_release_that_missed_its_target_has_no_figure() -> None:
    one = (pl.col("build") == "b8.0.30") & (pl.col("repeat") == 2)
    points = six().with_columns(
        missed=one, value=pl.when(one).then(None).otherwise("value"),
        problem=pl.when(one).then(pl.lit("the step missed its target rate")),
    )  # fmt: skip
    for function in (ib.release_rates, ib.release_rates_to_base, ib.release_rates_to_before):
        assert table(function, points).of("b8.0.30") == ["target missed"]
    assert table(ib.release_rates_to_before, points).of("b8.0.31") == ["-"], "the previous release has no figure"


def test_missing_steps_say_why() -> None:
    points = pl.concat([
        points_of({"b8.0.1": noisy(10), "b8.0.2": [None, None]}),
        points_of({"b8.0.1": noisy(10)}, "qr100", "qps"),
    ])  # fmt: skip
    assert table(ib.release_rates, points).of("b8.0.2") == ["not complete", "no value"]
    some = points_of({"b8.0.1": [10.0, 11.0, None], "b8.0.2": noisy(10, 3)})
    assert table(ib.release_rates, some).of("b8.0.1") == ["10 (1 of 3 left out)"]


def test_costs_are_absolute_and_relative_and_more_is_worse() -> None:
    costs = [six(1.25, metric="scpupq"), six(0.5, metric="response_p99_ms", operation="insert")]
    points = pl.concat([six(), *costs, points_of({"b5.7.44": [0.0], "b8.0.28": [1.0]}, metric="rpq")])
    absolute = table(ib.release_costs, points, "l.i0")
    assert absolute.rows[1] == ["build", "scpupq", "rpq", "p99 insert (ms)"]
    assert absolute.of("b5.7.44") == ["1003.5", "0.000", "1,003.462"]
    relative = table(ib.release_costs_to_base, points, "l.i0")
    assert relative.of("b9.1.0")[::2] == ["1.25 [1.22, 1.27] worse", "0.50 [0.49, 0.51] better"]
    assert relative.of("b5.7.44 (base)") == ["1.00", "-", "1.00"]
    assert relative.of("b8.0.28")[1] == "-" and "some values are 0" in notes(relative)
