"""Tables of builds and configurations."""

from __future__ import annotations

import pytest

from ibench_lib.ask.selection import Selection, choose
from ibench_lib.show.kit.grid import Grid
from ibench_lib.show.throughput.by_build import by_build
from tests.shared import lake_of
from tests.show.parsed import Parsed
from tests.synthetic import Run

pytestmark = pytest.mark.lake


def chosen(compared_with: str = "", **queries: int) -> Selection:
    """Three runs of each build and configuration; queries by configuration, of which mysql answers twice as many."""
    runs = [
        Run(config, build=build, repeat=n, minute=10 * place + n, queries=number * factor + 10 * n)
        for place, (build, config, number, factor) in enumerate(
            (build, config, number, factor)
            for factor, build in ((1, "maria"), (2, "mysql"))
            for config, number in queries.items()
        )
        for n in (1, 2, 3)
    ]
    return choose(lake_of(*runs), "demo", base=compared_with)


@pytest.mark.slow
def test_a_cell_is_relative_to_the_base_of_its_own_build() -> None:
    shown = by_build(chosen(base=4000, f1=2000))
    (table,) = shown.items
    assert isinstance(table, Grid) and shown.answers == ("step_metrics",)
    found = Parsed(table).rows
    assert found[0] == ["Throughput by build and configuration, cached"]
    rows = {head: cells for head, *cells in filter(None, found) if head.startswith("qr100")}
    assert list(rows) == ["qr100, queries/s: maria", "qr100, queries/s: mysql"]
    assert rows["qr100, queries/s: maria"][0] == "804" and rows["qr100, queries/s: maria"][1].startswith("0.50x [0.")
    assert rows["qr100, queries/s: mysql"][0].startswith("1,604\n2.00x [1.")
    assert rows["qr100, queries/s: mysql"][1].startswith("0.50x [0.") and rows["qr100, queries/s: mysql"][1].endswith(
        " worse"
    )


@pytest.mark.slow
def test_ratios_of_single_runs_are_ranked_by_the_thresholds() -> None:
    runs = [
        Run(config, build=build, minute=place, queries=queries)
        for place, (build, config, queries) in enumerate(
            [("maria", "base", 4000), ("maria", "f1", 2000), ("mysql", "base", 8000), ("mysql", "f1", 8000)]
        )
    ]
    post = choose(lake_of(*runs), "demo")
    (table,) = by_build(post).items
    assert isinstance(table, Grid)
    found = Parsed(table)
    assert found.of("qr100, queries/s: maria") == ["800", "0.50x below"]
    assert found.of("qr100, queries/s: mysql") == ["1,600\n2.00x above", "1.00x"]
    assert any(row[0].startswith("above, below: ") for row in found.rows)
    (plain,) = by_build(post, ranks=False).items
    assert isinstance(plain, Grid) and Parsed(plain).of("qr100, queries/s: maria") == ["800", "0.50x"]


@pytest.mark.slow
def test_one_build_or_one_base_for_all_has_no_such_table() -> None:
    assert by_build(chosen(only=4000)).items == ()
    assert by_build(chosen("maria.base", base=4000, f1=2000)).items == ()
    one_build = choose(lake_of(Run("a"), Run("b", minute=1)), "demo")
    assert by_build(one_build).items == ()


@pytest.mark.slow
def test_a_cost_that_was_not_captured_has_no_table() -> None:
    assert by_build(chosen(base=4000, f1=2000), "cpupq").items == ()
