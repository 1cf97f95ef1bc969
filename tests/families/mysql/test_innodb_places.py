"""Where servers with InnoDB have the figures."""

from ibench_lib.families.mysql.innodb_places import PLACES
from ibench_lib.server_figures import FIGURES


def test_every_figure_has_a_place_and_no_place_is_that_of_two() -> None:
    assert set(PLACES.places) == {figure.column for figure in FIGURES}
    every = [place for places in PLACES.places.values() for place in places]
    assert len(set(every)) == len(every)


def test_what_a_metric_needs_is_among_the_places() -> None:
    metrics = {name for places in PLACES.places.values() for kind, name in places if kind == "metric"}
    assert set(PLACES.owners) <= metrics and PLACES.set_later <= metrics
